#pragma once

#include <Eigen/Core>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace tendril {

/// Triangles with shared vertices.
struct TriangleMesh {
  std::vector<Eigen::Vector3d> vertices;
  std::vector<std::array<int, 3>> triangles;  ///< indices of vertices
};

/// Reads a mesh: `.obj` (vertices and faces; polygons are triangulated as fans) or `.stl` (binary
/// or text; equal corners are merged). Throws ModelError naming the file, and the line for a text
/// file.
[[nodiscard]] TriangleMesh load_mesh(const std::filesystem::path& file);

/// The same of the file's bytes; `name` is that of the file and tells its kind.
[[nodiscard]] TriangleMesh parse_mesh(const std::string& bytes, const std::filesystem::path& name);

/// The same mesh with vertices at equal positions merged, in the order of the triangles.
[[nodiscard]] TriangleMesh merged(const TriangleMesh& mesh);

}  // namespace tendril
