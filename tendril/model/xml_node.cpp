#include "tendril/model/xml_node.hpp"

#include <algorithm>

namespace tendril {
namespace {

constexpr int kIndent = 2;        // per level
constexpr int kDeepestLevel = 4;  // a chain of 400 links would be wider than the screen

std::string_view reference_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&apos;";
    case '\n':
      return "&#10;";
    case '\r':
      return "&#13;";
    case '\t':
      return "&#9;";
    default:
      return {};
  }
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (const std::string_view reference = reference_of(c); !reference.empty())
      out += reference;
    else
      out += c;
  }
  return out;
}

std::string number_text(double value) {
  return fmt::format("{:.12g}", value == 0.0 ? 0.0 : value);  // no "-0"
}

std::string exact(std::initializer_list<double> values) {
  std::string text;
  for (const double value : values)
    text += fmt::format("{}{}", text.empty() ? "" : " ", value == 0.0 ? 0.0 : value);
  return text;
}

XmlText::XmlText(std::span<const double> values) {
  for (const double value : values) {
    if (!text.empty()) text += ' ';
    text += number_text(value);
  }
}

XmlNode& XmlNode::add(std::string_view tag, std::initializer_list<XmlAttribute> attributes) {
  XmlNode& child = *children_.emplace_back(std::make_unique<XmlNode>(tag));
  return child.set(std::span(attributes));
}

XmlNode& XmlNode::child(std::string_view tag) {
  for (const auto& child : children_)
    if (child->tag_ == tag) return *child;
  return add(tag);
}

XmlNode& XmlNode::set(std::string_view key, XmlText value) {
  const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                  [&](const auto& attribute) { return attribute.first == key; });
  if (found != attributes_.end())
    found->second = std::move(value.text);
  else
    attributes_.emplace_back(key, std::move(value.text));
  return *this;
}

XmlNode& XmlNode::set(std::span<const XmlAttribute> attributes) {
  for (const XmlAttribute& attribute : attributes) set(attribute.key, attribute.value);
  return *this;
}

void XmlNode::erase_empty_children() {
  std::erase_if(children_, [](const auto& child) {
    return child->attributes_.empty() && child->children_.empty();
  });
}

const std::string* XmlNode::find(std::string_view key) const noexcept {
  for (const auto& [name, value] : attributes_)
    if (name == key) return &value;
  return nullptr;
}

void XmlNode::write(std::string& out, int depth) const {
  const auto margin = static_cast<std::size_t>(kIndent * std::min(depth, kDeepestLevel));
  out.append(margin, ' ').append("<").append(tag_);
  for (const auto& [key, value] : attributes_) {
    out.append(" ").append(key).append("=\"").append(xml_escaped(value)).append("\"");
  }
  if (children_.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const auto& child : children_) child->write(out, depth + 1);
  out.append(margin, ' ').append("</").append(tag_).append(">\n");
}

}  // namespace tendril
