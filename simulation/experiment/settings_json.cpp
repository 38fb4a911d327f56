#include "simulation/experiment/settings_json.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

namespace tendril::simulation {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Value& value) {
  return std::visit(
      []<class T>(const T& data) {
        if constexpr (std::is_same_v<T, Value::List>) {
          Json list = Json::array();
          for (const Value& element : data) list.push_back(json_of(element));
          return list;
        } else if constexpr (std::is_same_v<T, Value::Table>) {
          Json table = Json::object();
          for (const auto& [key, element] : data) table[key] = json_of(element);
          return table;
        } else {
          return Json(data);
        }
      },
      value.data);
}

}  // namespace

nlohmann::ordered_json settings_json(std::span<const Setting> settings) {
  Json all = Json::array();
  for (const Setting& s : settings) {
    all.push_back({{"key", s.key}, {"value", json_of(s.value)}, {"origin", s.origin}});
  }
  return all;
}

}  // namespace tendril::simulation
