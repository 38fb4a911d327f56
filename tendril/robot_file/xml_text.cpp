#include "tendril/robot_file/xml_text.hpp"

#include <fmt/format.h>

namespace tendril::robot_file_detail {

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\r':
        escaped += "&#13;";
        break;
      case '\t':
        escaped += "&#9;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string number_text(double value) {
  return fmt::format("{:.12g}", value == 0.0 ? 0.0 : value);  // no "-0"
}

}  // namespace tendril::robot_file_detail
