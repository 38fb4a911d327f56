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

/// The wall behind one triangle, in the order of the mesh: the convex hull of the triangle and of
/// two points behind each of its corners [m].
struct ShellPiece {
  std::array<Eigen::Vector3d, 3> front;
  std::array<Eigen::Vector3d, 6> back;  ///< two of each edge
};

/// Pieces of a wall that have their front on the surface and are wider behind it, so that they
/// overlap: a body that is pressed into the wall is pushed out of it, not along it by the sides of
/// the next piece. A point of the back is `wall_thickness` behind its corner, along the mean of the
/// triangles' normals there weighted by their angles, and up to twice as far past its edge; less
/// far where it would come in front of another triangle at the corner. Where the surface comes back
/// behind itself, as around a fork or in a thin sheet, a point goes half the distance to it, so the
/// wall stays out of the free space on the other side.
[[nodiscard]] std::vector<ShellPiece> shell_pieces(const ShellDescription& shell);

}  // namespace tendril
