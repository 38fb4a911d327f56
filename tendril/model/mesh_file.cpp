#include "tendril/model/mesh_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kMaxTriangles = 2'000'000;
constexpr std::size_t kStlHeader = 84, kStlTriangle = 50;  // bytes

/// The words of one line.
struct Line {
  std::vector<std::string> words;
  std::string origin;  // "file:7"

  [[noreturn]] void refuse(std::string_view what) const {
    throw ModelError(fmt::format("{}: {}", origin, what));
  }
  [[nodiscard]] Vector3d point(std::size_t first) const {
    if (words.size() < first + 3) refuse("a vertex must have three coordinates");
    Vector3d p;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string& word = words[first + i];
      const std::optional<double> value = read_number(word);
      if (!value) refuse(fmt::format("{}: must be a finite number", word));
      p[static_cast<Eigen::Index>(i)] = *value;
    }
    return p;
  }
};

template <class Use>
void for_each_line(const std::string& text, const std::string& file, const Use& use) {
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line);
    Line found{{}, fmt::format("{}:{}", file, number)};
    for (std::string word; words >> word;) found.words.push_back(word);
    if (!found.words.empty()) use(found);
  }
}

TriangleMesh read_obj(const std::string& text, const std::string& file) {
  TriangleMesh mesh;
  for_each_line(text, file, [&](const Line& line) {
    if (line.words[0] == "v") mesh.vertices.push_back(line.point(1));
    if (line.words[0] != "f") return;
    std::vector<int> corners;
    for (std::size_t i = 1; i < line.words.size(); ++i) {
      const std::string word = line.words[i].substr(0, line.words[i].find('/'));
      int index = read_integer<int>(word).value_or(0);
      const int count = static_cast<int>(mesh.vertices.size());
      if (index < 0) index += count + 1;  // counted from the last one
      if (index < 1 || index > count)
        line.refuse(fmt::format("{}: must be the number of a vertex above", line.words[i]));
      corners.push_back(index - 1);
    }
    if (corners.size() < 3) line.refuse("a face must have at least three corners");
    for (std::size_t i = 2; i < corners.size(); ++i)
      mesh.triangles.push_back({corners[0], corners[i - 1], corners[i]});
  });
  return mesh;
}

/// Merges equal corners.
class Merger {
 public:
  void add(const std::array<Vector3d, 3>& corners) {
    std::array<int, 3> triangle{};
    for (std::size_t i = 0; i < 3; ++i) {
      const Vector3d p = corners[i] + Vector3d::Zero();  // -0 becomes 0
      const auto [entry, is_new] =
          known_.try_emplace({p.x(), p.y(), p.z()}, static_cast<int>(mesh_.vertices.size()));
      if (is_new) mesh_.vertices.push_back(p);
      triangle[i] = entry->second;
    }
    mesh_.triangles.push_back(triangle);
  }
  [[nodiscard]] TriangleMesh take() { return std::move(mesh_); }

 private:
  TriangleMesh mesh_;
  std::map<std::array<double, 3>, int> known_;
};

TriangleMesh read_binary_stl(const std::string& bytes, std::size_t count, const std::string& file) {
  Merger merger;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<float, 9> numbers{};
    std::memcpy(numbers.data(), bytes.data() + kStlHeader + kStlTriangle * i + 12, 36);
    std::array<Vector3d, 3> corners;
    for (std::size_t k = 0; k < 9; ++k) {
      if (!std::isfinite(numbers[k]))
        throw ModelError(fmt::format("{}: triangle {}: must have finite coordinates", file, i));
      corners[k / 3][static_cast<Eigen::Index>(k % 3)] = static_cast<double>(numbers[k]);
    }
    merger.add(corners);
  }
  return merger.take();
}

TriangleMesh read_text_stl(const std::string& text, const std::string& file) {
  Merger merger;
  std::vector<Vector3d> corners;
  for_each_line(text, file, [&](const Line& line) {
    if (line.words[0] == "vertex") corners.push_back(line.point(1));
    if (line.words[0] != "endloop") return;
    if (corners.size() != 3) line.refuse("a facet must have three vertices");
    merger.add({corners[0], corners[1], corners[2]});
    corners.clear();
  });
  return merger.take();
}

TriangleMesh read_stl(const std::string& bytes, const std::string& file) {
  if (bytes.size() >= kStlHeader) {
    std::uint32_t count = 0;
    std::memcpy(&count, bytes.data() + kStlHeader - 4, 4);
    if (bytes.size() == kStlHeader + kStlTriangle * static_cast<std::size_t>(count))
      return read_binary_stl(bytes, count, file);
  }
  if (bytes.starts_with("solid")) return read_text_stl(bytes, file);
  throw ModelError(fmt::format("{}: is not an STL file, or is truncated", file));
}

void require_mesh_name(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (extension != ".obj" && extension != ".stl")
    throw ModelError(fmt::format("{}: must be an .obj or .stl file", file.string()));
}

}  // namespace

TriangleMesh load_mesh(const std::filesystem::path& file) {
  require_mesh_name(file);
  return parse_mesh(read_text_file(file), file);
}

TriangleMesh parse_mesh(const std::string& bytes, const std::filesystem::path& file) {
  require_mesh_name(file);
  const std::string name = file.string();
  TriangleMesh mesh = file.extension() == ".obj" ? read_obj(bytes, name) : read_stl(bytes, name);
  if (mesh.triangles.empty()) throw ModelError(fmt::format("{}: has no triangles", name));
  if (mesh.triangles.size() > kMaxTriangles)
    throw ModelError(fmt::format("{}: {} triangles, must be at most {}", name,
                                 mesh.triangles.size(), kMaxTriangles));
  return mesh;
}

TriangleMesh merged(const TriangleMesh& mesh) {
  const auto at = [&](int vertex) { return mesh.vertices[static_cast<std::size_t>(vertex)]; };
  Merger merger;
  for (const auto& [a, b, c] : mesh.triangles) merger.add({at(a), at(b), at(c)});
  return merger.take();
}

}  // namespace tendril
