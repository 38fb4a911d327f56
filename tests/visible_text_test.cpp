#include "tendril/visible_text.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace tendril {
namespace {

TEST_CASE("visible text: what a terminal shows is unchanged", "[text]") {
  for (const std::string text :
       {"", "plain", "two\nlines\tand a tab", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x99", "\\u001b"})
    CHECK(visible(text) == text);
}

TEST_CASE("visible text: characters that a terminal obeys are escaped", "[text]") {
  struct Case {
    const char* name;
    std::string text, shown;
  };
  const Case c = GENERATE(values<Case>({
      {"escape and bell",
       "a\x1b]0;b\x07"
       "c",
       "a\\u001b]0;b\\u0007c"},
      {"carriage return", "a\rb", "a\\u000db"},
      {"zero", std::string("a\0b", 3), "a\\u0000b"},
      {"delete", "\x7f", "\\u007f"},
      {"C1: control sequence introducer",
       "\xc2\x9b"
       "31m",
       "\\u009b31m"},
      {"override of direction", "\xe2\x80\xae", "\\u202e"},
      {"isolate", "\xe2\x81\xa6", "\\u2066"},
      {"line separator", "\xe2\x80\xa8", "\\u2028"},
      {"without width", "\xe2\x80\x8b\xef\xbb\xbf", "\\u200b\\ufeff"},
      {"tag", "\xf3\xa0\x81\x81", "\\U000e0041"},
      {"C1 as a byte",
       "\x9b"
       "31m",
       "\\x9b31m"},
      {"overlong", "\xc0\x9b", "\\xc0\\x9b"},
      {"overlong, three bytes", "\xe0\x82\x9b", "\\xe0\\x82\\x9b"},
      {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"outside Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"cut", "a\xe2\x82", "a\\xe2\\x82"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK(visible(c.text) == c.shown);
    CHECK(visible(c.shown) == c.shown);
  }
}

}  // namespace
}  // namespace tendril
