#pragma once

#include <Eigen/Core>
#include <array>
#include <filesystem>
#include <vector>

namespace tendril::host {

/// Triangles with shared vertices.
struct TriangleMesh {
  std::vector<Eigen::Vector3d> vertices;
  std::vector<std::array<int, 3>> triangles;  ///< indices of vertices
};

/// Reads a mesh: `.obj` (vertices and faces; faces of more corners are cut into fans) or `.stl`
/// (binary or text; equal corners become one vertex). Throws ModelError naming the file, and the
/// line of a text.
[[nodiscard]] TriangleMesh load_mesh(const std::filesystem::path& file);

}  // namespace tendril::host
