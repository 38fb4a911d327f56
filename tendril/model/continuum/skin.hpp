#pragma once

#include <vector>

#include "tendril/model/continuum/part.hpp"
#include "tendril/model/mesh_file.hpp"

namespace tendril {

namespace names {
inline constexpr const char* kSkin = "skin";
}  // namespace names

/// A surface that is drawn on the body and bends with it, from a mesh of the straight arm; the
/// names are the keys of the table [skin]. It touches nothing and weighs nothing.
///
/// It is a skin of MuJoCo. A vertex at the height z follows the two bodies of the chain whose
/// middles are below and above it, with weights that are linear in z.
struct Skin final : ArmPart {
  /// In the frame of the straight arm's base [m]; edges are at most as long as a mean link along z.
  TriangleMesh mesh;
  std::vector<double> color{0.78, 0.72, 0.66, 1.0};

  /// Adds the skin, and hides the links inside an opaque one.
  void write(ArmDocument& arm) const override;
  [[nodiscard]] PartLoad load(double tip_radius) const override;
};

/// Divides the triangles of a mesh until no edge is longer than `length` along z. A closed mesh
/// remains closed: each edge is divided in its middle, for all of its triangles.
[[nodiscard]] TriangleMesh divided(TriangleMesh mesh, double length);

}  // namespace tendril
