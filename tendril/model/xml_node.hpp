#pragma once

// Elements of an XML document, for the sources of tendril/model and simulation.

#include <fmt/format.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tendril {

/// A number as documents print it: twelve digits, without rounding noise such as
/// 0.0050000000000000001.
[[nodiscard]] std::string number_text(double value);

/// Numbers with all their digits, separated by spaces: to be the library's to the last bit.
[[nodiscard]] std::string exact(std::initializer_list<double> values);

/// Text as it stands in an attribute between double quotes.
[[nodiscard]] std::string xml_escaped(std::string_view text);

/// Text of an attribute: a text, a number, or numbers separated by spaces.
struct XmlText {
  std::string text;

  XmlText(std::string value) : text(std::move(value)) {}
  XmlText(std::string_view value) : text(value) {}
  XmlText(const char* value) : text(value) {}
  XmlText(int value) : text(fmt::format("{}", value)) {}
  XmlText(double value) : text(number_text(value)) {}
  XmlText(std::span<const double> values);
  XmlText(std::initializer_list<double> values) : XmlText(std::span(values)) {}
};

struct XmlAttribute {
  std::string_view key;  ///< a literal
  XmlText value;
};
using XmlAttributes = std::vector<XmlAttribute>;

/// An element with its attributes and children, in their order.
class XmlNode {
 public:
  /// @param tag  a literal
  explicit XmlNode(std::string_view tag) : tag_(tag) {}

  /// Appends a child. The reference remains valid as long as this node, or one that it moves to.
  XmlNode& add(std::string_view tag, std::initializer_list<XmlAttribute> attributes = {});

  /// The first child of this tag; it is appended if there is none.
  XmlNode& child(std::string_view tag);

  /// Adds attributes; one that is there already gets the new value.
  XmlNode& set(std::string_view key, XmlText value);
  XmlNode& set(std::span<const XmlAttribute> attributes);

  /// Removes the children that have neither attributes nor children.
  void erase_empty_children();

  [[nodiscard]] std::string_view tag() const noexcept { return tag_; }
  [[nodiscard]] const std::vector<std::unique_ptr<XmlNode>>& children() const noexcept {
    return children_;
  }
  /// Value of an attribute; null: it is not there.
  [[nodiscard]] const std::string* find(std::string_view key) const noexcept;

  /// Appends the element as text, `depth` levels inside the document. Line breaks and tabs of
  /// values survive as character references, which a parser would turn into spaces.
  void write(std::string& out, int depth = 0) const;

 private:
  std::string_view tag_;
  std::vector<std::pair<std::string_view, std::string>> attributes_;
  std::vector<std::unique_ptr<XmlNode>> children_;
};

}  // namespace tendril
