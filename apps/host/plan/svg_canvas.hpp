#pragma once

#include <Eigen/Core>
#include <span>
#include <string>

namespace tendril::host {

/// Elements of an SVG picture in pixels, y downwards. They are kept to rect, circle, line, polygon,
/// polyline and text, which apps/report/plan_picture.py can draw.
class SvgCanvas {
 public:
  void text(const Eigen::Vector2d& at, const std::string& words, double size, const char* fill,
            const char* anchor = "start");
  void line(const Eigen::Vector2d& a, const Eigen::Vector2d& b, const char* stroke, double width);
  void circle(const Eigen::Vector2d& at, double radius, const std::string& style);
  void rect(const Eigen::Vector2d& corner, const Eigen::Vector2d& size, const std::string& style);
  /// `element`: polyline or polygon.
  void curve(const char* element, std::span<const Eigen::Vector2d> points,
             const std::string& style);

  /// The document, on white.
  [[nodiscard]] std::string document(double width, double height) const;

 private:
  std::string elements_;
};

/// 1, 2 or 5 times a power of ten, about `rough`: the step of a scale.
[[nodiscard]] double nice_step(double rough);

}  // namespace tendril::host
