// docs/reference/statuses.md: the tables of statuses are those of the code.

#include "tendril/statuses.hpp"

#include <span>
#include <string>

#include "controllers/interface/controller_status.hpp"
#include "tests/support/generated_document.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr const char* kPage = "docs/reference/statuses.md";

std::string table(std::span<const StatusInfo> rows) {
  MarkdownTable all{"number", "name", "meaning", "what to do"};
  for (std::size_t i = 0; i < rows.size(); ++i)
    all.add({std::to_string(i), rows[i].name, rows[i].meaning, rows[i].what_to_do});
  return all.text();
}

}  // namespace

TEST_CASE("reference: the statuses are those of the code", "[reference]") {
  check_generated(kPage, "ControllerStatus", table(controller_statuses()));
  check_generated(kPage, "MobileStatus", table(mobile_statuses()));
  check_generated(kPage, "IkStatus", table(ik_statuses()));
}
