// docs/reference/plugin.md: its minimal scene works as written.

#include <catch2/catch.hpp>
#include <string>

#include "tests/plugin/test_scenes.hpp"
#include "tests/support/generated_document.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

std::string code_block(const std::string& text, const std::string& language) {
  const std::string fence = "```" + language + "\n";
  const auto begin = text.find(fence);
  REQUIRE(begin != std::string::npos);
  const auto code = begin + fence.size();
  return text.substr(code, text.find("```", code) - code);
}

}  // namespace

TEST_CASE("plugin.md: the minimal scene loads as written and reaches its target", "[plugin]") {
  load_tendril();
  const std::string text = text_of("docs/reference/plugin.md");
  const ModelPtr model =
      load_scene_text(code_block(text, "xml"), {{"arm.toml", code_block(text, "toml")}});
  const DataPtr data = make_data(model);
  step(model, data, 1500);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
}
