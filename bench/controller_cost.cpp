// Cost of a controller: the step of an arm or a fed snake with the controller plugin, compared with
// the step of the same robot without it, driven through the same motion by the recorded commands.
// Blocks of both alternate in one process, so that the load of the machine affects both equally.
// The files of the snake are read from scenes/snake_path: run it in the source folder.
//
//   build/bench/bin/controller_cost [--rounds N] [--json]

#include <mujoco/mujoco.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation/scene/scene.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/robot_mjcf.hpp"

namespace {

using tendril::simulation::DataPtr;
using tendril::simulation::ModelPtr;
using Clock = std::chrono::steady_clock;

constexpr int kSteps = 2000;  // slightly more than one period of the target's circle
constexpr int kWarmUp = 300;

std::string robot_text(int links, const std::string& compliance, bool with_controller) {
  std::string text = "kind = \"continuum\"\nname = \"arm\"\ncompliance = \"" + compliance + "\"\n";
  for (int i = 0; i < 3; ++i) {
    text +=
        "[[section]]\nconstant_length = 0.1\nbend_limit = 1.745\nlinks = " + std::to_string(links) +
        "\n";
  }
  if (with_controller) text += "[controller]\nplugin = \"tendril.reach\"\n";
  return text;
}

std::string file_text(const std::string& name) {
  std::ifstream file(name);
  if (!file) throw std::runtime_error(name + ": not found: run it in the source folder");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The snake of scenes/snake_path, fed faster to reach the end of the path.
std::string snake_text(bool with_controller) {
  const std::string text = file_text("scenes/snake_path/snake.toml");
  if (!with_controller) return text.substr(0, text.find("[controller]"));
  const std::string speed = "speed = 0.05";
  return std::string(text).replace(text.find(speed), speed.size(), "speed = 0.3");
}

/// The five rings of that scene.
std::string rings() {
  std::string text = file_text("scenes/snake_path/rings.xml");
  const std::size_t begin = text.find("<geom");
  text = text.substr(begin, text.find("</worldbody>") - begin);
  const std::string mark = "class=\"ring\"";
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;)
    text.replace(at, mark.size(), "type=\"capsule\" size=\"0.004\"");
  return text;
}

ModelPtr model_of(const std::string& robot, bool is_snake) {
  std::string xml =
      is_snake
          ? tendril::snake_mjcf(tendril::parse_as<tendril::SnakeDescription>(robot, "snake.toml"))
          : tendril::continuum_mjcf(
                tendril::parse_as<tendril::ContinuumDescription>(robot, "arm.toml"));
  const std::string target = "<body name=\"target\" mocap=\"true\" pos=\"0.08 0 0.23\"/>";
  xml.insert(xml.find("</worldbody>"), is_snake ? target + rings() : target);
  char error[1000] = "";
  mjSpec* spec = mj_parseXMLString(xml.c_str(), nullptr, error, sizeof error);
  if (!spec) throw std::runtime_error(error);
  ModelPtr model(mj_compile(spec, nullptr));
  mj_deleteSpec(spec);
  if (!model) throw std::runtime_error("the robot does not compile");
  return model;
}

void move_target(mjData* d) {
  const double angle = 0.1 / 0.06 * d->time;  // 0.1 m/s on a circle of 60 mm
  d->mocap_pos[0] = 0.08 + 0.02 * std::cos(angle);
  d->mocap_pos[1] = 0.06 * std::sin(angle);
  d->mocap_pos[2] = 0.22;
}

struct Times {
  std::vector<double> us;
  [[nodiscard]] double mean() const {
    double sum = 0.0;
    for (const double t : us) sum += t;
    return sum / static_cast<double>(us.size());
  }
  [[nodiscard]] double quantile(double q) const {
    std::vector<double> sorted = us;
    const auto k = static_cast<std::ptrdiff_t>(q * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), sorted.begin() + k, sorted.end());
    return sorted[static_cast<std::size_t>(k)];
  }
};

double timed_step(const mjModel* m, mjData* d) {
  const auto start = Clock::now();
  mj_step(m, d);
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Step time with and without the controller, same motion");
  int rounds = 5;
  bool as_json = false;
  app.add_option("--rounds", rounds, "repetitions of the motion")->check(CLI::Range(1, 1000));
  app.add_flag("--json", as_json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  tendril::simulation::load_engine();

  nlohmann::json rows = nlohmann::json::array();
  struct Case {
    std::string model, drive;
    int links;  // 0: the snake
  };
  for (const Case& c :
       {Case{"3x10", "section", 10}, Case{"3x20", "section", 20}, Case{"3x10", "link", 10},
        Case{"3x20", "link", 20}, Case{"rings", "snake", 0}}) {
    const bool is_snake = c.links == 0;
    const auto model = [&](bool with_controller) {
      return model_of(
          is_snake ? snake_text(with_controller) : robot_text(c.links, c.drive, with_controller),
          is_snake);
    };
    const ModelPtr with = model(true), bare = model(false);
    const auto nu = static_cast<std::size_t>(with->nu);
    std::vector<double> commands(nu * kSteps);
    Times with_times, bare_times;
    double worst_difference = 0.0;
    for (int round = 0; round < rounds; ++round) {
      const DataPtr a(mj_makeData(with.get())), b(mj_makeData(bare.get()));
      for (int block = 0; block < kSteps; block += 100) {
        for (int k = block; k < block + 100; ++k) {
          move_target(a.get());
          const double t = timed_step(with.get(), a.get());
          if (k >= kWarmUp) with_times.us.push_back(t);
          std::copy_n(
              a->ctrl, nu,
              commands.begin() + static_cast<std::ptrdiff_t>(nu * static_cast<std::size_t>(k)));
        }
        for (int k = block; k < block + 100; ++k) {
          std::copy_n(
              commands.begin() + static_cast<std::ptrdiff_t>(nu * static_cast<std::size_t>(k)), nu,
              b->ctrl);
          const double t = timed_step(bare.get(), b.get());
          if (k >= kWarmUp) bare_times.us.push_back(t);
        }
      }
      for (int i = 0; i < with->nq; ++i)
        worst_difference = std::max(worst_difference, std::abs(a->qpos[i] - b->qpos[i]));
    }
    // The motion must be the same, otherwise the comparison is meaningless.
    if (worst_difference > 1e-9) {
      std::fprintf(stderr, "controller_cost: the two motions differ by %g\n", worst_difference);
      return 1;
    }
    rows.push_back({{"model", c.model},
                    {"compliance", c.drive},
                    {"bare_mean_us", bare_times.mean()},
                    {"with_mean_us", with_times.mean()},
                    {"cost_percent", 100.0 * (with_times.mean() / bare_times.mean() - 1.0)},
                    {"cost_median_percent",
                     100.0 * (with_times.quantile(0.5) / bare_times.quantile(0.5) - 1.0)},
                    {"bare_p999_us", bare_times.quantile(0.999)},
                    {"with_p999_us", with_times.quantile(0.999)}});
  }
  double load = 0.0;
  std::ifstream("/proc/loadavg") >> load;
  if (as_json) {
    std::printf("%s\n", nlohmann::json{{"rows", rows}, {"load", load}}.dump(2).c_str());
    return 0;
  }
  std::printf(
      "model  drive     bare us  with us   cost (median)   p99.9 bare, with us   (load %.2f)\n",
      load);
  for (const auto& row : rows) {
    std::printf("%-6s %-8s %8.1f %8.1f %5.1f %% (%.1f %%)  %10.1f %8.1f\n",
                row["model"].get<std::string>().c_str(),
                row["compliance"].get<std::string>().c_str(), row["bare_mean_us"].get<double>(),
                row["with_mean_us"].get<double>(), row["cost_percent"].get<double>(),
                row["cost_median_percent"].get<double>(), row["bare_p999_us"].get<double>(),
                row["with_p999_us"].get<double>());
  }
  return 0;
}
