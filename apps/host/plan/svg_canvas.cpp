#include "apps/host/plan/svg_canvas.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tendril::host {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

void SvgCanvas::text(const Eigen::Vector2d& at, const std::string& words, double size,
                     const char* fill, const char* anchor) {
  elements_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.0f}\" fill=\"{}\" "
      "text-anchor=\"{}\">{}</text>\n",
      at.x(), at.y(), size, fill, anchor, escaped(words));
}

void SvgCanvas::line(const Eigen::Vector2d& a, const Eigen::Vector2d& b, const char* stroke,
                     double width) {
  elements_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{:.2f}\"/>\n",
      a.x(), a.y(), b.x(), b.y(), stroke, width);
}

void SvgCanvas::circle(const Eigen::Vector2d& at, double radius, const std::string& style) {
  elements_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.2f}\" {}/>\n", at.x(),
                           at.y(), radius, style);
}

void SvgCanvas::rect(const Eigen::Vector2d& corner, const Eigen::Vector2d& size,
                     const std::string& style) {
  elements_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n",
                  corner.x(), corner.y(), size.x(), size.y(), style);
}

void SvgCanvas::curve(const char* element, std::span<const Eigen::Vector2d> points,
                      const std::string& style) {
  elements_ += fmt::format("<{} points=\"", element);
  for (const Eigen::Vector2d& p : points) elements_ += fmt::format("{:.2f},{:.2f} ", p.x(), p.y());
  elements_ += fmt::format("\" {}/>\n", style);
}

std::string SvgCanvas::document(double width, double height) const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"DejaVu Sans, sans-serif\">\n"
             "<rect x=\"0\" y=\"0\" width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#ffffff\"/>\n",
             width, height) +
         elements_ + "</svg>\n";
}

double nice_step(double rough) {
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10.0 * power;
}

}  // namespace tendril::host
