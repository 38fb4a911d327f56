#include "apps/host/plan/plan_fields.hpp"

#include <fmt/format.h>

namespace tendril::host {

using robot_file_detail::Fields;
using robot_file_detail::Lines;

Fields plan_sub_table(const Fields& fields, std::string_view key, const std::string& file,
                      const std::string& object, PlanKeys keys) {
  const toml::node* node = fields.table().get(key);
  if (node == nullptr || !node->is_table())
    fields.refuse(key, fmt::format("must be a table of {}", robot_file_detail::joined(keys)));
  Fields inner(*node->as_table(), file,
               object.empty() ? std::string(key) : fmt::format("{}: {}", object, key),
               Lines::Named);
  inner.refuse_unknown(keys);
  return inner;
}

std::string_view plan_kind_of(const Fields& fields, PlanKeys kinds) {
  std::string_view kind;
  for (const std::string_view key : kinds) {
    if (!fields.has(key)) continue;
    if (!kind.empty())
      fields.refuse_object(fmt::format("{} and {}: must be one of them", kind, key));
    kind = key;
  }
  if (kind.empty())
    fields.refuse_object(fmt::format("must have one of: {}", robot_file_detail::joined(kinds)));
  return kind;
}

void for_each_plan_table(const Fields& fields, std::string_view key, const std::string& file,
                         int first,
                         const std::function<void(const Fields&, const std::string& object)>& add) {
  const toml::node* node = fields.table().get(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  const std::string allowed = fmt::format("must be written as [[{}]]", key);
  if (list == nullptr) fields.refuse(key, allowed);
  int index = first;
  for (const toml::node& element : *list) {
    if (!element.is_table()) fields.refuse(key, allowed);
    const std::string object = fmt::format("{} {}", key, index++);
    add(Fields(*element.as_table(), file, object, Lines::Named), object);
  }
}

}  // namespace tendril::host
