#include "tendril/model/mjcf_document.hpp"

#include <catch2/catch.hpp>

using namespace tendril;
using Catch::Contains;

namespace {

/// A base with two joints, and a body on it with one; elements in one order or the reverse.
std::string document(bool reversed, Keyframe keyframe = Keyframe::PositionsAndCommands) {
  MjcfDocument mjcf("robot", "a");
  mjcf.keyframe = keyframe;
  XmlNode& base = mjcf.worldbody.add("body", {{"name", "base"}});
  const auto add_first = [&] { mjcf.add_joint(base, {{"name", "first"}}, 1.0); };
  const auto add_child = [&] {
    mjcf.add_joint(base.add("body", {{"name", "child"}}), {{"name", "last"}}, 3.0);
  };
  if (reversed) add_child();
  add_first();
  mjcf.add_joint(base, {{"name", "second"}}, 2.0);
  if (!reversed) add_child();
  mjcf.add_actuator("general", {{"name", "slow"}, {"dyntype", "filterexact"}}, 5.0);
  mjcf.add_actuator("motor", {{"name", "tool"}}, 6.0, CommandedBy::User);
  CHECK(mjcf.driven_actuators() == std::vector<std::string>{"slow"});
  return mjcf.text();
}

}  // namespace

TEST_CASE("mjcf document: the keyframe follows the engine's order, not that of the calls",
          "[mjcf]") {
  for (const bool reversed : {false, true})
    CHECK_THAT(document(reversed),
               Contains("<key name=\"start\" qpos=\"1 2 3\" ctrl=\"5 6\" act=\"5\"/>"));
  CHECK_THAT(document(false, Keyframe::Positions),
             Contains("<key name=\"start\" qpos=\"1 2 3\"/>"));
  CHECK_THAT(document(false, Keyframe::None), !Contains("keyframe"));
}

TEST_CASE("mjcf document: sections without elements are left out", "[mjcf]") {
  MjcfDocument mjcf("tube", "a");
  const std::string text = mjcf.text();
  CHECK_THAT(text, Contains("<compiler"));
  CHECK_THAT(text, !Contains("<tendon") && !Contains("<sensor") && !Contains("<option"));
}

TEST_CASE("xml node: texts survive a parser, numbers have twelve digits", "[mjcf]") {
  XmlNode node("a");
  node.add("b", {{"text", "\"x\" < 'y' &\n\t"}, {"numbers", {0.1 + 0.2, -0.0, 1e-9}}});
  node.child("b").set("text2", 3).set("numbers", {1, 2.5});
  std::string out;
  node.write(out);
  CHECK(out ==
        "<a>\n  <b text=\"&quot;x&quot; &lt; &apos;y&apos; &amp;&#10;&#9;\" numbers=\"1 2.5\" "
        "text2=\"3\"/>\n</a>\n");
  CHECK(number_text(0.1 + 0.2) == "0.3");
  CHECK(number_text(-0.0) == "0");
  CHECK(exact({0.1, 1.0 / 3.0}) == "0.1 0.3333333333333333");
}
