#include "tendril/ik/any_solver.hpp"

#include <array>

#include "tendril/ik/auto_solver.hpp"
#include "tendril/ik/fabrikx_solver.hpp"
#include "tendril/ik/jacobian_solver.hpp"
#include "tendril/ik/levenberg_solver.hpp"
#include "tendril/ik/published/chord_solver.hpp"
#include "tendril/ik/published/combined_solver.hpp"
#include "tendril/ik/published/fabrikc_solver.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// The solver's own options with what the user asked for in place.
template <class Options>
Options adopt(Options own, const SolverOptions& options) {
  if (options.max_iterations != 0) own.max_iterations = options.max_iterations;
  own.position_tolerance = options.position_tolerance;
  own.angle_tolerance = options.angle_tolerance;
  return own;
}

struct Entry {
  SolverInfo info;
  AnySolver (*make)(const ContinuumRobot&, const SolverOptions&);
};

constexpr std::array kEntries = {
    Entry{{"auto", "the default: finds every reachable target, closest pose otherwise"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(AutoSolver(robot, adopt(AutoOptions{}, options)));
          }},
    Entry{{"levenberg", "bounded Levenberg-Marquardt with seeded restarts"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(
                LevenbergSolver(robot, adopt(LevenbergOptions{.max_restarts = 50}, options)));
          }},
    Entry{{"fabrikx", "FABRIKx, Newton inside"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(FabrikxSolver(robot, adopt(FabrikxOptions{}, options)));
          }},
    Entry{{"fabrikx-iterative", "FABRIKx, Algorithm I inside"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(FabrikxSolver(
                robot, adopt(FabrikxOptions{.section_solve = SectionSolve::Iterative}, options)));
          }},
    Entry{{"fabrikx-polynomial", "FABRIKx, fitted polynomials inside"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(FabrikxSolver(
                robot, adopt(FabrikxOptions{.section_solve = SectionSolve::Polynomial}, options)));
          }},
    Entry{{"jacobian", "damped Jacobian, bend vectors"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(JacobianSolver(robot, adopt(JacobianOptions{}, options)));
          }},
    Entry{{"jacobian-polar", "damped Jacobian, bend angles and directions"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(JacobianSolver(
                robot, adopt(JacobianOptions{.coordinates = JacobianCoordinates::Polar}, options)));
          }},
    Entry{{"fabrikx-jacobian", "FABRIKx, then the damped Jacobian from the same start"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(CombinedSolver(robot, adopt(CombinedOptions{}, options)));
          }},
    Entry{{"fabrikx-jacobian-chained", "FABRIKx, then the damped Jacobian from where it ended"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(CombinedSolver(
                robot, adopt(CombinedOptions{.second_start = SecondStart::FabrikxPose}, options)));
          }},
    Entry{{"fabrikc", "FABRIKc: reaching over tangents, limits tested at the end"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(FabrikcSolver(robot, adopt(FabrikcOptions{}, options)));
          }},
    Entry{{"fabrikc-clamped", "FABRIKc with the bend limits inside its passes"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(
                FabrikcSolver(robot, adopt(FabrikcOptions{.limit_bend_inside = true}, options)));
          }},
    Entry{{"chord", "chord FABRIK with tuning of the direction"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(ChordSolver(robot, adopt(ChordOptions{}, options)));
          }},
    Entry{{"chord-unlimited", "chord FABRIK, limits tested at the end"},
          [](const ContinuumRobot& robot, const SolverOptions& options) {
            return AnySolver(
                ChordSolver(robot, adopt(ChordOptions{.limit_bend_inside = false}, options)));
          }},
};

constexpr auto kInfos = [] {
  std::array<SolverInfo, kEntries.size()> infos{};
  for (std::size_t i = 0; i < kEntries.size(); ++i) infos[i] = kEntries[i].info;
  return infos;
}();

}  // namespace

std::span<const SolverInfo> solver_infos() noexcept { return kInfos; }

AnySolver make_solver(const std::string& name, const ContinuumRobot& robot,
                      const SolverOptions& options) {
  for (const Entry& entry : kEntries) {
    if (name == entry.info.name) return entry.make(robot, options);
  }
  std::string names;
  for (const Entry& entry : kEntries)
    names += (names.empty() ? "" : ", ") + std::string(entry.info.name);
  throw ModelError("solver = \"" + name + "\", must be one of " + names);
}

}  // namespace tendril
