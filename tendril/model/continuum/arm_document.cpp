#include "tendril/model/continuum/arm_document.hpp"

namespace tendril {

ArmDocument::ArmDocument(const ContinuumDescription& description, MjcfDocument& document)
    : robot(description),
      mjcf(document),
      base(document.worldbody.add("body", {{"name", names::kBase}})),
      links(chain_links(description)) {}

std::vector<double> ArmDocument::body_starts() const {
  std::vector<double> starts{0.0};
  double end = 0.0;
  for (const Link& link : links) {
    starts.push_back(end + link.length / 2.0);
    end += link.length;
  }
  return starts;
}

void ArmDocument::touches(XmlNode& geom) const {
  geom.set("contype", robot.self_collision ? 3 : 1)
      .set("conaffinity", robot.self_collision ? 3 : 2)
      .set(stiff_contact());
}

std::array<double, 2> ArmDocument::start_bend(std::size_t section) const {
  std::array<double, 2> bend{};
  if (robot.start && !robot.start->bends.empty())
    bend[static_cast<std::size_t>(first_direction(robot.sections[section]))] =
        robot.start->bends[section];
  return bend;
}

double ArmDocument::start_extension(std::size_t section) const {
  if (!robot.start || robot.start->variable_lengths.empty()) return 0.0;
  return robot.start->variable_lengths[section] - robot.sections[section].variable_length / 2.0;
}

}  // namespace tendril
