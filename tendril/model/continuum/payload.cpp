#include "tendril/model/continuum/payload.hpp"

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr KeyInfo kKeys[]{
    {"payload", "kg",
     "mass of a sphere around the tip that touches nothing; gravity compensation includes it",
     "none"},
    {"payload_radius", "m", "of the sphere"}};

std::shared_ptr<const ArmPart> read(const Fields& tip, const ContinuumDescription& /*robot*/,
                                    const FileContents& /*file*/) {
  if (!tip.has("payload")) {
    if (tip.has("payload_radius")) tip.refuse("payload_radius", "needs payload");
    return nullptr;
  }
  auto payload = std::make_shared<Payload>();
  payload->mass = tip.required_number("payload", kMass);
  payload->payload_radius = tip.number("payload_radius", payload->payload_radius, kPositiveNumber);
  return payload;
}

}  // namespace

constinit const ArmPartKind kPayloadKind{
    .table = "tip", .keys = kKeys, .actuator = {}, .read = read};

void Payload::write(ArmDocument& arm) const {
  add_payload(arm.last_body(), {0, 0, arm.tip_height()}, mass, payload_radius);
}

PartLoad Payload::load(double /*tip_radius*/) const { return {.mass = mass, .height = 0.0}; }

}  // namespace tendril
