#include "tendril/model/continuum/suction.hpp"

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr double kCupMass = 0.001;   // [kg]
constexpr double kThickness = 0.25;  // half of it, of the radius

constexpr KeyInfo kKeys[]{{"suction", "N",
                           "largest force of a suction cup at the tip; the actuator `suction` "
                           "commands the fraction, from 0 to 1",
                           "none"}};

std::shared_ptr<const ArmPart> read(const Fields& tip, const ContinuumDescription& /*robot*/,
                                    const FileContents& /*file*/) {
  if (!tip.has("suction")) return nullptr;
  auto suction = std::make_shared<Suction>();
  suction->force = tip.required_number("suction", kPositiveNumber);
  return suction;
}

}  // namespace

constinit const ArmPartKind kSuctionKind{
    .table = "tip", .keys = kKeys, .actuator = names::kSuction, .read = read};

void Suction::write(ArmDocument& arm) const {
  // Half of the cup is past the body's round end, so that it alone touches.
  const double radius = arm.tip_radius();
  arm.last_body()
      .add("body", {{"name", names::kSuction}, {"pos", {0, 0, arm.tip_height() + radius}}})
      .add("geom", {{"name", names::kSuction},
                    {"type", "cylinder"},
                    {"size", {radius, kThickness * radius}},
                    {"mass", kCupMass},
                    {"contype", 1},
                    {"conaffinity", 2},
                    {"condim", 4},
                    {"friction", {1, 0.01, 0.0001}},
                    {"rgba", "0.15 0.15 0.17 1"}})
      .set(stiff_contact());
  arm.mjcf.add_actuator("adhesion",
                        {{"name", names::kSuction},
                         {"body", names::kSuction},
                         {"ctrlrange", {0, 1}},
                         {"gain", force}},
                        0.0, CommandedBy::User);
}

PartLoad Suction::load(double /*tip_radius*/) const { return {}; }  // a gram

}  // namespace tendril
