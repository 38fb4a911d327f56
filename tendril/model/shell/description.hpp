#pragma once

#include <Eigen/Core>
#include <array>
#include <string>
#include <vector>

#include "tendril/model/mesh_file.hpp"

namespace tendril {

struct FileContents;  // readers.hpp

/// A shell file (kind = "shell"), parsed and validated: a surface from a mesh file, concave or
/// open, as a wall that robots touch where the surface is. Hollows and holes stay open.
/// ```toml
/// kind = "shell"
/// name = "vessel"
/// file = "vessel.stl"     # .stl or .obj, triangles counterclockwise from outside
/// scale = 0.001           # m for a unit of the file
/// encloses = "lumen"      # the free space; "wall": its material
/// wall_thickness = 0.001  # m, at most; on the side away from the free space
/// friction = 0.3          # sliding friction against everything
/// ```
/// Required: kind, file, encloses. All keys: docs/reference/robot_file.md.
struct ShellDescription {
  enum class Encloses { Lumen, Wall };

  std::string name = "shell";
  /// In the frame of the body `shell` [m]. Counterclockwise from the side that is not enclosed;
  /// without the triangles that have no area.
  TriangleMesh mesh;
  Encloses encloses = Encloses::Lumen;
  double wall_thickness = 0.001;  ///< [m], > 0
  double friction = 0.3;          ///< >= 0

  static constexpr const char* kKind = "shell";
  static constexpr const char* kWhat = "a shell";
  [[nodiscard]] static ShellDescription read(const FileContents& file);
};

/// The wall behind one triangle, in the order of the mesh: the convex hull of the triangle and of a
/// point behind each of its corners [m].
struct ShellPiece {
  std::array<Eigen::Vector3d, 3> front, back;
};

/// Pieces of a wall that have their front on the surface. Triangles with a common corner have the
/// point behind it in common, so the wall has no gap. That point is `wall_thickness` behind the
/// corner, along the mean of the triangles' normals weighted by their angles there. Where the
/// surface comes back behind itself, as around a fork or in a thin sheet, it is half as far as the
/// surface is, so the wall stays out of the free space on the other side.
[[nodiscard]] std::vector<ShellPiece> shell_pieces(const ShellDescription& shell);

}  // namespace tendril
