#pragma once

// Private to tendril/mjcf: text inside XML attributes.

#include <string>
#include <string_view>
#include <type_traits>

namespace tendril::robot_file_detail {

/// The text as it stands between double quotes of an XML attribute; line breaks and tabs survive as
/// character references (a parser would turn them into spaces).
[[nodiscard]] std::string xml_escaped(std::string_view text);

/// A number as the documents print it: twelve digits, without rounding noise such as
/// 0.0050000000000000001.
[[nodiscard]] std::string number_text(double value);

/// What stands for a format argument: numbers go through number_text, all else is itself.
template <class T>
[[nodiscard]] decltype(auto) printed(const T& argument) {
  if constexpr (std::is_floating_point_v<T>) {
    return number_text(argument);
  } else {
    return (argument);
  }
}

}  // namespace tendril::robot_file_detail
