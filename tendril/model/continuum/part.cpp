#include "tendril/model/continuum/part.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tendril/model/continuum/description.hpp"
#include "tendril/model/readers.hpp"

namespace tendril {

void read_parts(const FileContents& file, ContinuumDescription& robot) {
  const Fields& top = file.top;
  for (const ArmPartKind* const kind : kArmPartKinds) {
    if (!top.has(kind->table)) continue;
    const Fields table = top.table(kind->table);
    std::vector<KeyInfo> keys;  // of all parts in the table
    for (const ArmPartKind* const other : kArmPartKinds)
      if (other->table == kind->table)
        keys.insert(keys.end(), other->keys.begin(), other->keys.end());
    table.refuse_unknown(keys);
    if (auto part = kind->read(table, robot, file)) robot.parts.push_back(std::move(part));
  }
}

bool is_part_actuator(std::string_view name) {
  return std::any_of(kArmPartKinds.begin(), kArmPartKinds.end(), [name](const ArmPartKind* kind) {
    return !kind->actuator.empty() &&
           (name == kind->actuator || name.ends_with("_" + std::string(kind->actuator)));
  });
}

}  // namespace tendril
