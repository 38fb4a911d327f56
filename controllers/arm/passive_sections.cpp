#include "controllers/arm/passive_sections.hpp"

#include <fmt/core.h>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

bool is_driven(const ArmContext& context, int section) {
  const auto k = static_cast<std::size_t>(context.robot.coordinate_index(section));
  return k >= context.springs.size() || context.springs[k].driven;
}

}  // namespace

int first_steered(const ArmContext& context) {
  int first = context.robot.section_count();
  while (first > 0 && is_driven(context, first - 1)) --first;
  return first;
}

void require_driven(const ArmContext& context) {
  for (int i = 0; i < context.robot.section_count(); ++i) {
    if (is_driven(context, i)) continue;
    throw ModelError(
        fmt::format("robot: section {} is passive (bend_servo = false): this controller commands "
                    "every section; tendril.steer and controllers of one's own take passive ones",
                    i + 1));
  }
}

}  // namespace tendril
