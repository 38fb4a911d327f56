#include "tendril/contact/contact_plan.hpp"

#include <sstream>
#include <variant>

#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"

namespace tendril {
namespace {

template <class... Numbers>
void write_line(std::string& out, const char* word, Numbers... numbers) {
  out += word;
  (append_number(out += ' ', numbers), ...);
  out += '\n';
}

/// One line: its word and its numbers.
class Line {
 public:
  Line(const std::string& text, const std::string& name, int number) {
    where_ = name + ": line " + std::to_string(number) + ": ";
    std::istringstream in(text.substr(0, text.find('#')));
    in >> word_;
    for (std::string token; in >> token;) {
      const std::optional<double> value = read_number(token);
      if (!value) refuse(token + ": must be a finite number");
      numbers_.push_back(*value);
    }
  }

  [[nodiscard]] const std::string& word() const noexcept { return word_; }
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }
  [[nodiscard]] double at(std::size_t i) const noexcept { return numbers_[i]; }

  void expect(std::size_t count, const char* what) const {
    if (numbers_.size() == count) return;
    refuse(std::to_string(numbers_.size()) + " numbers: must be " + what);
  }
  [[noreturn]] void refuse(const std::string& text) const {
    throw ModelError(where_ + (word_.empty() ? "" : word_ + ": ") + text);
  }

 private:
  std::string where_, word_;
  std::vector<double> numbers_;
};

void read_obstacle(const Line& line, PlanarScene& scene) {
  try {
    if (line.word() == "disc") {
      line.expect(3, "X Z RADIUS");
      scene.add(Disc{{line.at(0), line.at(1)}, line.at(2)});
      return;
    }
    if (line.size() % 2 != 0) line.refuse("an odd count of numbers: must be pairs X Z");
    Polygon polygon;
    for (std::size_t i = 0; i < line.size(); i += 2) {
      polygon.corners.emplace_back(line.at(i), line.at(i + 1));
    }
    scene.add(std::move(polygon));
  } catch (const ModelError& error) {
    const std::string text = error.what();
    if (text.find(": line ") != std::string::npos) throw;
    line.refuse(text);
  }
}

}  // namespace

std::string contact_plan_text(const ContactPlan& plan) {
  std::string out;
  write_line(out, "base", plan.base.position.x(), plan.base.position.y(), plan.base.heading);
  write_line(out, "body_radius", plan.body_radius);
  for (int i = 0; i < plan.scene.size(); ++i) {
    const PlanarObstacle& obstacle = plan.scene.obstacle(i);
    if (const auto* disc = std::get_if<Disc>(&obstacle)) {
      write_line(out, "disc", disc->center.x(), disc->center.y(), disc->radius);
    } else {
      out += "polygon";
      for (const Eigen::Vector2d& corner : std::get<Polygon>(obstacle).corners) {
        out += ' ' + shortest_text(corner.x()) + ' ' + shortest_text(corner.y());
      }
      out += '\n';
    }
  }
  for (const PlanarArc& arc : plan.arcs) write_line(out, "arc", arc.curvature, arc.length);
  for (const PlannedContact& contact : plan.contacts) {
    write_line(out, "contact", contact.center.x(), contact.center.y(), contact.radius,
               sign_of(contact.side));
  }
  return out;
}

ContactPlan parse_contact_plan(std::string_view text, const std::string& name) {
  ContactPlan plan;
  std::vector<std::pair<double, double>> arcs;
  std::istringstream in{std::string(text)};
  std::string raw;
  for (int number = 1; std::getline(in, raw); ++number) {
    const Line line(raw, name, number);
    if (line.word().empty()) continue;
    if (line.word() == "base") {
      line.expect(3, "X Z HEADING");
      plan.base = {{line.at(0), line.at(1)}, line.at(2)};
    } else if (line.word() == "body_radius") {
      line.expect(1, "R");
      if (line.at(0) < 0.0) line.refuse(shortest_text(line.at(0)) + ": must be at least 0");
      plan.body_radius = line.at(0);
    } else if (line.word() == "disc" || line.word() == "polygon") {
      read_obstacle(line, plan.scene);
    } else if (line.word() == "arc") {
      line.expect(2, "CURVATURE LENGTH");
      if (line.at(1) <= 0.0) {
        line.refuse("length = " + shortest_text(line.at(1)) + ": must be positive");
      }
      arcs.emplace_back(line.at(0), line.at(1));
    } else if (line.word() == "contact") {
      line.expect(4, "X Z RADIUS SIDE");
      if (line.at(2) < 0.0) {
        line.refuse("radius = " + shortest_text(line.at(2)) + ": must be at least 0");
      }
      if (line.at(3) != 1.0 && line.at(3) != -1.0) {
        line.refuse("side = " + shortest_text(line.at(3)) + ": must be 1 or -1");
      }
      plan.contacts.push_back({{line.at(0), line.at(1)},
                               line.at(2),
                               line.at(3) > 0.0 ? BodySide::Positive : BodySide::Negative});
    } else {
      line.refuse("unknown word: must be base, body_radius, disc, polygon, arc or contact");
    }
  }
  if (arcs.empty())
    throw ModelError(name + ": no line begins with arc: there must be one at least");
  if (plan.contacts.size() >= arcs.size()) {
    throw ModelError(name + ": " + std::to_string(plan.contacts.size()) + " contacts and " +
                     std::to_string(arcs.size()) +
                     " arcs: there must be an arc to each contact and one more");
  }
  PlanarPose pose = plan.base;
  for (const auto& [curvature, length] : arcs) {
    plan.arcs.push_back({pose, curvature, length});
    pose = plan.arcs.back().end();
  }
  return plan;
}

}  // namespace tendril
