#include "tendril/ik/workspace.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numbers>

#include "tendril/kinematics/section_workspace.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using std::numbers::pi;

namespace {

constexpr double kOracleTolerance = 1e-12;  // of positions [m]
constexpr double kSolverTolerance = 1e-5;   // of positions [m]: SolverOptions
constexpr double kCellTolerance = 0.02;     // relative, of the measures of a body by some 600 cells

WorkspaceOptions quick(int cells = 20) {
  return {.cells = cells, .samples = 4000, .directions = 0};
}

std::map<GridCell, const WorkspaceCell*> by_cell(const Workspace& set) {
  std::map<GridCell, const WorkspaceCell*> cells;
  for (const WorkspaceCell& cell : set.cells) cells[cell.cell] = &cell;
  return cells;
}

/// Checks every cell near the set against a test of its center: `is_inside` by how much [m].
template <class Depth>
void compare_centers(const Workspace& set, const Depth& depth) {
  const auto cells = by_cell(set);
  int inside = 0, outside = 0;
  for (int row = set.first_row - 2; row < set.first_row + set.rows + 2; ++row) {
    for (int column = 0; column < set.columns + 2; ++column) {
      const double rho = set.grid.rho(column), z = set.grid.z(row);
      const double by = depth(rho, z);
      CAPTURE(rho, z, by);
      const auto found = cells.find({row, column});
      const bool center = found != cells.end() && found->second->center;
      if (by > kSolverTolerance) {
        ++inside;
        CHECK(center);
      } else if (by < -kSolverTolerance) {
        ++outside;
        CHECK_FALSE(center);
      }
    }
  }
  CHECK(inside > 100);
  CHECK(outside > 100);
}

}  // namespace

TEST_CASE("workspace: every cell has a pose with the tip in it, inside all limits", "[ik]") {
  const BaseParameters fed{.feed_limit = 0.07, .spin = true};
  const ContinuumRobot robot = GENERATE_COPY(
      plain_robot(), mixed_robot(), table_robot(),
      ContinuumRobot({{.length = 0.05, .variable_length = 0.05, .bend_angle_limit = 2.0},
                      {.variable_length = 0.06, .bend_angle_limit = 1.0}},
                     fed),
      ContinuumRobot({{.length = 0.1, .bend_angle_limit = 0.02}}));
  const Workspace set = workspace_of(robot, quick());
  REQUIRE(set.cells.size() >= 20);
  int window = 0;
  for (const WorkspaceCell& cell : set.cells) {
    const Eigen::Vector3d tip = oracle_tip_pose(robot, cell.states, cell.base).translation();
    CHECK((tip - cell.tip).norm() < kOracleTolerance);
    CHECK(set.grid.cell_of(cell.tip) == cell.cell);
    CHECK(robot.within_limits(cell.states));
    CHECK(cell.base.feed >= 0.0);
    CHECK(cell.base.feed <= robot.base().feed_limit);
    CHECK((cell.sampled || cell.solved));
    CHECK((cell.solved || !cell.converged));
    CHECK((cell.converged || !cell.center));
    CHECK(cell.cell.row >= set.first_row);
    CHECK(cell.cell.row < set.first_row + set.rows);
    CHECK(cell.cell.column < set.columns);
    window = std::max({window, set.rows, set.columns});
  }
  CHECK(window >= 20);
  CHECK(window <= 23);
}

TEST_CASE("workspace: of a telescopic arc it is the closed form", "[ik]") {
  // (1.4)-(1.11): the chord has half the bend, theta = 2 alpha; its length gives s
  const double limit = 2.8, reach = 0.1;
  const ContinuumRobot robot({{.variable_length = reach, .bend_angle_limit = limit}});
  const Workspace set = workspace_of(robot, quick(32));
  compare_centers(set, [&](double rho, double z) {
    const double alpha = std::atan2(rho, z), s = std::hypot(rho, z) * alpha / std::sin(alpha);
    // smallest change of s or of the bend's limit to the boundary, as a length
    return std::min(reach - s, (limit * s / reach - 2.0 * alpha) * reach / limit) / pi;
  });
  const SectionWorkspace alone = section_workspace(robot.section(0));
  CHECK(set.area == Approx(alone.area).epsilon(kCellTolerance));
  CHECK(set.volume == Approx(alone.volume).epsilon(kCellTolerance));
}

TEST_CASE("workspace: a fed arc sweeps its curve along the axis", "[ik]") {
  const double limit = 2.5, length = 0.1, feed = 0.08;
  const ContinuumRobot robot({{.length = length, .bend_angle_limit = limit}}, {.feed_limit = feed});
  const Workspace set = workspace_of(robot, quick(30));
  // x of the arc grows up to theta = 2.33, then shrinks: each distance has one or two bends
  const auto x = [&](double t) { return length * (1 - std::cos(t)) / t; };
  compare_centers(set, [&](double rho, double z) {
    double best = -1.0;
    double before = 1e-9;
    for (int k = 1; k <= 1000; ++k) {
      const double t = limit * k / 1000;
      if ((x(before) - rho) * (x(t) - rho) <= 0.0) {
        const double shift = z - length * std::sin(t) / t;
        best = std::max(best, std::min(shift, feed - shift));
      }
      before = t;
    }
    if (best == -1.0) return -(rho - x(2.3311));
    return std::abs(best) < 4e-4 ? 0.0 : best;  // width of a step
  });
}

TEST_CASE("workspace: beside the set the solver meets no target", "[ik]") {
  const ContinuumRobot robot = mixed_robot();
  const Workspace set = workspace_of(robot, quick(16));
  const auto cells = by_cell(set);
  AnySolver solver = make_solver("levenberg", robot, {.max_iterations = 6000});  // another one
  int tried = 0;
  for (const auto& [at, cell] : cells) {
    const GridCell next{.row = at.row, .column = at.column + 1};
    if (cells.contains(next)) continue;
    TipTarget target;
    target.X_BG.translation() = set.grid.places(next)[0];
    CHECK_FALSE(solver.solve(target, robot.straight()).converged());
    ++tried;
  }
  CHECK(tried > 10);
}

TEST_CASE("workspace: the same bits for any number of threads", "[ik]") {
  WorkspaceOptions options = quick(8);
  options.directions = 8;
  options.threads = 1;
  const ContinuumRobot robot = mixed_robot();
  const Workspace one = workspace_of(robot, options);
  options.threads = 3;
  const Workspace three = workspace_of(robot, options);
  REQUIRE(one.cells.size() == three.cells.size());
  for (std::size_t k = 0; k < one.cells.size(); ++k) {
    CHECK(one.cells[k].cell == three.cells[k].cell);
    CHECK(one.cells[k].tip == three.cells[k].tip);
    CHECK(one.cells[k].dexterity == three.cells[k].dexterity);
    CHECK(one.cells[k].time == 0.0);
  }
  CHECK(one.volume == three.volume);
}

TEST_CASE("workspace: dexterity stays below what the bend limits leave", "[ik]") {
  WorkspaceOptions options = quick(8);
  options.directions = 40;
  const auto dexterity = [&](double limit) {
    const SectionParameters section{.length = 0.1, .bend_angle_limit = limit};
    double largest = 0.0;
    for (const WorkspaceCell& cell :
         workspace_of(ContinuumRobot{section, section, section}, options).cells) {
      CHECK(cell.dexterity >= 0.0);
      largest = std::max(largest, cell.dexterity);
    }
    return largest;
  };
  // three sections turn the tip by at most three limits: a cap of the sphere
  const double small = dexterity(20 * kDegree);
  CHECK(small <= (1.0 - std::cos(60 * kDegree)) / 2.0 + 1.0 / 40);
  CHECK(dexterity(100 * kDegree) > small);
}

TEST_CASE("workspace: directions fill the half sphere evenly", "[ik]") {
  const std::vector<Eigen::Vector3d> directions = half_sphere_directions(200);
  Eigen::Matrix3d moment = Eigen::Matrix3d::Zero();
  double z = 0.0;
  for (const Eigen::Vector3d& d : directions) {
    CHECK(d.norm() == Approx(1.0));
    CHECK(d.y() >= 0.0);
    z += d.z() / 200.0;
    const Eigen::Vector3d mirrored(d.x(), -d.y(), d.z());
    moment += (d * d.transpose() + mirrored * mirrored.transpose()) / 400.0;
  }
  CHECK(std::abs(z) < 1e-12);
  CHECK((moment - Eigen::Matrix3d::Identity() / 3.0).norm() < 0.02);  // of the uniform sphere
}

TEST_CASE("workspace: options out of range are refused with what is allowed", "[ik]") {
  const ContinuumRobot robot = plain_robot();
  CHECK_THROWS_WITH(workspace_of(robot, {.cells = 3}),
                    "workspace: cells = 3, must be in [4, 2000]");
  CHECK_THROWS_WITH(workspace_of(robot, {.samples = 99}),
                    Contains("samples = 99, must be in [100, "));
  CHECK_THROWS_WITH(workspace_of(robot, {.directions = -1}), Contains("directions = -1, must be"));
  CHECK_THROWS_WITH(workspace_of(robot, {.threads = -1}), Contains("threads = -1, must be"));
  CHECK_THROWS_WITH(workspace_of(robot, {.solver = "newton"}), Contains("newton"));
  const std::atomic<bool> stop = true;
  WorkspaceOptions options = quick();
  options.stop = &stop;
  CHECK(workspace_of(robot, options).interrupted);
}
