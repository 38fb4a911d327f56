#pragma once

#include <array>
#include <string>
#include <vector>

#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/planar_scene.hpp"

namespace tendril::test {

struct WrapCaseStep {
  int contact, side;  ///< -1, 0: the target
  double curvature, length;
};

/// A planar problem and its solutions, found by an independent program. Base at the origin heading
/// +z, all other options at their defaults.
struct WrapCase {
  std::string name;
  Eigen::Vector2d target;
  std::vector<std::array<double, 4>> boxes;  ///< x_low, x_high, z_low, z_high
  std::vector<Disc> discs;                   ///< obstacles behind the boxes
  std::vector<Disc> contacts;
  std::vector<std::vector<WrapCaseStep>> persistent, local;  ///< solutions by rule
  std::vector<double> persistent_lengths, local_lengths;

  [[nodiscard]] PlanarScene scene() const {
    PlanarScene result;
    for (const auto& b : boxes) result.add(box_polygon(b[0], b[1], b[2], b[3]));
    for (const Disc& disc : discs) result.add(disc);
    return result;
  }
  [[nodiscard]] std::vector<ContactPoint> contact_points() const {
    std::vector<ContactPoint> points;
    for (const Disc& disc : contacts) points.push_back({.disc = disc});
    return points;
  }
};

inline std::vector<WrapCase> wrap_cases() {
  std::vector<WrapCase> cases;
  cases.push_back(
      {.name = "case 1",
       .target = {0.14, 0.69},
       .boxes = {{-.44, -.30, .42, .64},
                 {-.17, .03, .35, .49},
                 {.26, .44, .07, .21},
                 {-.09, .07, .11, .29}},
       .discs = {},
       .contacts = {{{-.44, .64}},
                    {{-.30, .42}},
                    {{.03, .35}},
                    {{-.17, .49}},
                    {{.44, .21}},
                    {{.44, .07}},
                    {{-.09, .11}},
                    {{.07, .11}}},
       .persistent = {{{7, -1, 9.4675, 0.1328}, {-1, 0, -3.0694, 0.7458}},
                      {{6, 1, -9.9502, 0.1483}, {1, -1, 4.2288, 0.4318}, {-1, 0, 2.3882, 0.5485}}},
       .local = {},
       .persistent_lengths = {0.8786, 1.1285},
       .local_lengths = {}});
  cases.push_back(
      {.name = "case 2",
       .target = {0.35, 0.64},
       .boxes = {{.15, .21, .31, .51}, {-.03, .19, .58, .78}, {.36, .42, .08, .24}},
       .discs = {},
       .contacts =
           {{{.15, .51}}, {{.21, .31}}, {{.19, .58}}, {{.19, .78}}, {{.36, .24}}, {{.42, .24}}},
       .persistent = {{{1, -1, 3.1406, 0.3930}, {-1, 0, -4.1117, 0.4142}},
                      {{0, 1, 0.9912, 0.5406}, {2, -1, 5.7641, 0.0789}, {-1, 0, 1.9277, 0.1697}}},
       .local = {},
       .persistent_lengths = {0.8072, 0.7892},
       .local_lengths = {}});
  cases.push_back(
      {.name = "case 3",
       .target = {0.32, 0.69},
       .boxes = {{.07, .27, .48, .66}, {-.45, -.31, .57, .81}},
       .discs = {{{.03, .29}, .06}},
       .contacts = {{{.27, .66}}, {{.27, .48}}, {{-.31, .57}}, {{-.45, .57}}, {{.03, .29}, .06}},
       .persistent = {{{4, -1, 2.4969, 0.2660}, {1, -1, 0.2687, 0.2971}, {-1, 0, -4.7295, 0.2325}}},
       .local = {},
       .persistent_lengths = {0.7955},
       .local_lengths = {}});
  for (WrapCase& c : cases) {
    c.local = c.persistent;
    c.local_lengths = c.persistent_lengths;
  }
  const std::vector<WrapCaseStep> common{{4, -1, 1.4766, 0.3505}, {-1, 0, 0.3724, 0.5077}};
  cases.push_back(
      {.name = "case 4",
       .target = {0.38, 0.75},
       .boxes =
           {{-.12, .02, .47, .55}, {.32, .44, .22, .38}, {0, .08, .34, .40}, {-.01, .07, .62, .84}},
       .discs = {},
       .contacts = {{{-.12, .47}},
                    {{.02, .55}},
                    {{.32, .38}},
                    {{.44, .38}},
                    {{.08, .34}},
                    {{0, .40}},
                    {{.07, .84}},
                    {{-.01, .62}}},
       .persistent = {common},
       .local = {common,
                 {{0, 1, -1.1054, 0.4882}, {7, -1, 10.0685, 0.2404}, {-1, 0, -2.9072, 0.4481}}},
       .persistent_lengths = {0.8582},
       .local_lengths = {0.8582, 1.1767}});
  return cases;
}

}  // namespace tendril::test
