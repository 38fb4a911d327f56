// Experiments, faults, plans and tables.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "simulation/experiment/experiment.hpp"
#include "simulation/files/csv_table.hpp"
#include "tendril/avoidance/pose_path.hpp"
#include "tendril/contact/contact_plan.hpp"
#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model_error.hpp"
#include "tendril/plan_file/mesh_file.hpp"
#include "tendril/plan_file/path_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"
#include "tests/fuzz/input_file.hpp"
#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {
namespace {

void read_experiment(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    const simulation::Experiment read = simulation::parse_experiment(input, "input.toml");
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      for (const simulation::Setting& setting : read.settings_for(seed)) {
        static_cast<void>(setting.value.text());
        static_cast<void>(setting.value.numbers());
      }
    }
    for (const simulation::Motion& motion : read.motions) {
      for (const double time : {0.0, 0.3, simulation::kLongestRun}) {
        static_cast<void>(motion.position(time, Eigen::Vector3d::Zero()));
        static_cast<void>(motion.orientation(time, Eigen::Quaterniond::Identity()));
      }
    }
  });
}

// As the text `faults` of a recording.
void read_faults(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    const std::string text = faults_text(parse_faults(input, "faults"));
    require(faults_text(parse_faults(text, "text")) == text,
            "a text of faults reads back to the faults");
  });
}

void read_plan(std::string_view input) {
  read_or_refuse<ModelError>([&] { static_cast<void>(parse_plan(input, "input.toml")); });
}

// The files that it names are those of this folder.
void read_path_plan(std::string_view input) {
  read_or_refuse<ModelError>([&] {
    if (is_path_plan(input))
      static_cast<void>(parse_path_plan(input, TENDRIL_FUZZ_PLANS "/input.toml"));
  });
}

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

const Target targets[] = {
    {"experiment", ".toml", read_experiment},
    {"faults", ".toml", read_faults},
    {"plan", ".toml", read_plan},
    {"path_plan", ".toml", read_path_plan},
    {"contact_plan", ".plan", read_contact_plan},
    {"csv", ".csv", read_csv},
    {"pose_path", ".csv", read_pose_path},
    {"mesh", ".obj .stl", read_mesh},
};

}  // namespace
}  // namespace tendril::fuzz
