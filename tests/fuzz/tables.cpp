// Tables, meshes and plans of contacts: small readers, a separate program is faster.

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "simulation/files/csv_table.hpp"
#include "tendril/avoidance/pose_path.hpp"
#include "tendril/contact/contact_plan.hpp"
#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/model/mesh_file.hpp"
#include "tendril/model_error.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

void read_contact_plan(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    const ContactPlan read = parse_contact_plan(input, "input.plan");
    const std::string text = contact_plan_text(read);
    require(contact_plan_text(parse_contact_plan(text, "text")) == text,
            "a plan's text reads back to the plan");
  });
}

void read_csv(std::string_view input) {
  static InputFile file;
  file.write(input);
  read_or_refuse<ModelError>([&] {
    simulation::CsvLayout layout{.columns = {}, .ignored = {"time"}, .allowed = "x,y,z[,zx,zy,zz]"};
    for (const char* const name : {"x", "y", "z", "zx", "zy", "zz"})
      layout.columns.push_back({name, name[1] == '\0'});
    simulation::CsvReader reader(file.path(), layout);
    std::array<double, 6> row{};
    while (reader.read(row)) {
      for (const double value : row) require(std::isfinite(value), "numbers of a table are finite");
    }
  });
}

void read_pose_path(std::string_view input) {
  static const ContinuumRobot robot(
      std::vector<SectionParameters>(3, {.length = 0.03, .variable_length = 0.04}));
  read_or_refuse<ModelError>(
      [&] { require(parse_pose_path(input, robot).size() >= 2, "a path has two poses"); });
}

void read_mesh(std::string_view input) {
  const std::string bytes(input);
  for (const char* const name : {"input.obj", "input.stl"}) {
    read_or_refuse<ModelError>([&] {
      const TriangleMesh read = parse_mesh(bytes, name);
      for (const std::array<int, 3>& corners : read.triangles) {
        for (const int i : corners)
          require(i >= 0 && static_cast<std::size_t>(i) < read.vertices.size(),
                  "a corner is a vertex");
      }
      static_cast<void>(mesh(read.vertices, read.triangles));
    });
  }
}

const Target contact_plan{"contact_plan", ".plan", read_contact_plan};
const Target csv{"csv", ".csv", read_csv};
const Target pose_path{"pose_path", ".csv", read_pose_path};
const Target mesh_file{"mesh", ".obj .stl", read_mesh};

}  // namespace
}  // namespace tendril::fuzz
