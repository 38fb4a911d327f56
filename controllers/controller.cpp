#include "controllers/controller.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tendril {

std::vector<Quantity> joined_quantities(std::initializer_list<std::span<const Quantity>> tables) {
  std::vector<Quantity> all;
  for (const std::span<const Quantity> table : tables) {
    std::vector<std::string_view> own;  // of the table, in its order
    for (const Quantity& row : table) {
      if (row.read == nullptr) own.emplace_back(row.name);
      const bool known = std::any_of(all.begin(), all.end(), [&](const Quantity& other) {
        return std::string_view(row.name) == other.name;
      });
      if (!known) all.push_back(row);
    }
    std::size_t next = 0;
    for (const Quantity& row : all) {
      if (row.read != nullptr || next == own.size()) continue;
      if (row.name != own[next++])
        throw std::logic_error("quantity " + std::string(row.name) +
                               ": must have the same index in all tables");
    }
  }
  return all;
}

}  // namespace tendril
