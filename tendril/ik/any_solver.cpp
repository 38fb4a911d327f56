#include "tendril/ik/any_solver.hpp"

#include <array>

#include "tendril/ik/auto_solver.hpp"
#include "tendril/ik/fabrikx_solver.hpp"
#include "tendril/ik/levenberg_solver.hpp"
#include "tendril/ik/published/chord_solver.hpp"
#include "tendril/ik/published/combined_solver.hpp"
#include "tendril/ik/published/fabrikc_solver.hpp"
#include "tendril/ik/published/jacobian_solver.hpp"
#include "tendril/ik/published/section_solver.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril {
namespace {

/// The solver with its `own` options, and what the user asked for in their place.
template <IkSolver Solver>
AnySolver make(const ContinuumRobot& robot, const SolverOptions& options,
               std::remove_cvref_t<decltype(std::declval<Solver>().options())> own = {}) {
  if (options.max_iterations != 0) own.max_iterations = options.max_iterations;
  own.position_tolerance = options.position_tolerance;
  own.angle_tolerance = options.angle_tolerance;
  if constexpr (requires { own.max_restarts; })
    own.max_restarts = options.max_restarts.value_or(own.max_restarts);
  if constexpr (requires { own.feed_base; })
    own.feed_base = options.feed_base && robot.base().feed_limit > 0.0;
  if constexpr (requires { own.section_maps; })
    own.section_maps = options.section_maps;
  else if (!options.section_maps.empty())
    throw ModelError(
        "section_maps: must be none: only fabrikx, fabrikx-iterative and fabrikx-polynomial take "
        "them");
  return AnySolver(Solver(robot, own));
}

struct Entry {
  SolverInfo info;
  AnySolver (*make)(const ContinuumRobot&, const SolverOptions&);
};

constexpr auto kRecommended = SolverGroup::Recommended;
constexpr auto kPublished = SolverGroup::Published;

constexpr std::array kEntries = {
    Entry{{"auto", kRecommended,
           "the default: finds every reachable target, closest pose otherwise", true, false, true},
          [](auto& robot, auto& options) { return make<AutoSolver>(robot, options); }},
    Entry{{"levenberg", kRecommended, "bounded Levenberg-Marquardt with seeded restarts", true,
           false, true},
          [](auto& robot, auto& options) {
            return make<LevenbergSolver>(robot, options, {.max_restarts = 50});
          }},
    Entry{{"fabrikx", kRecommended, "FABRIKx, Newton inside"},
          [](auto& robot, auto& options) { return make<FabrikxSolver>(robot, options); }},
    Entry{{"fabrikx-iterative", kPublished, "FABRIKx, Algorithm I inside"},
          [](auto& robot, auto& options) {
            return make<FabrikxSolver>(robot, options, {.section_solve = SectionSolve::Iterative});
          }},
    Entry{{"fabrikx-polynomial", kPublished, "FABRIKx, fitted polynomials inside"},
          [](auto& robot, auto& options) {
            return make<FabrikxSolver>(robot, options, {.section_solve = SectionSolve::Polynomial});
          }},
    Entry{{"jacobian", kPublished, "damped Jacobian, bend vectors"},
          [](auto& robot, auto& options) { return make<JacobianSolver>(robot, options); }},
    Entry{{"jacobian-polar", kPublished, "damped Jacobian, bend angles and directions"},
          [](auto& robot, auto& options) {
            return make<JacobianSolver>(robot, options,
                                        {.coordinates = JacobianCoordinates::Polar});
          }},
    Entry{{"pseudo-inverse", kPublished,
           "undamped pseudo-inverse of the Jacobian; Newton's method where it is square"},
          [](auto& robot, auto& options) {
            return make<JacobianSolver>(robot, options, {.damping = 0.0});
          }},
    Entry{{"fabrikx-jacobian", kPublished, "FABRIKx, then the damped Jacobian from the same start"},
          [](auto& robot, auto& options) { return make<CombinedSolver>(robot, options); }},
    Entry{{"fabrikx-jacobian-chained", kPublished,
           "FABRIKx, then the damped Jacobian from where it ended"},
          [](auto& robot, auto& options) {
            return make<CombinedSolver>(robot, options, {.second_start = SecondStart::FabrikxPose});
          }},
    Entry{{"fabrikc", kPublished, "FABRIKc: reaching over tangents, limits tested at the end"},
          [](auto& robot, auto& options) { return make<FabrikcSolver>(robot, options); }},
    Entry{{"fabrikc-clamped", kPublished, "FABRIKc with the bend limits inside its passes"},
          [](auto& robot, auto& options) {
            return make<FabrikcSolver>(robot, options, {.limit_bend_inside = true});
          }},
    Entry{{"chord", kPublished, "chord FABRIK with tuning of the direction"},
          [](auto& robot, auto& options) { return make<ChordSolver>(robot, options); }},
    Entry{{"chord-unlimited", kPublished, "chord FABRIK, limits tested at the end"},
          [](auto& robot, auto& options) {
            return make<ChordSolver>(robot, options, {.limit_bend_inside = false});
          }},
    Entry{{.name = "section-iterative",
           .group = kPublished,
           .summary = "Algorithm I; of a robot of one section",
           .single_section = true},
          [](auto& robot, auto& options) {
            return make<SectionSolver>(robot, options, {.method = SectionSolve::Iterative});
          }},
    Entry{{.name = "section-newton",
           .group = kPublished,
           .summary = "Newton on the chord angle; of a robot of one section",
           .single_section = true},
          [](auto& robot, auto& options) { return make<SectionSolver>(robot, options); }},
    Entry{{.name = "section-polynomial",
           .group = kPublished,
           .summary = "fitted polynomial; of a robot of one section",
           .single_section = true},
          [](auto& robot, auto& options) {
            return make<SectionSolver>(robot, options, {.method = SectionSolve::Polynomial});
          }},
};

constexpr auto kInfos = [] {
  std::array<SolverInfo, kEntries.size()> infos{};
  for (std::size_t i = 0; i < kEntries.size(); ++i) infos[i] = kEntries[i].info;
  return infos;
}();

const Entry& entry_of(const std::string& name) {
  for (const Entry& entry : kEntries) {
    if (name == entry.info.name) return entry;
  }
  std::vector<std::string_view> names;
  std::string all;
  for (const Entry& entry : kEntries) {
    names.emplace_back(entry.info.name);
    all += (all.empty() ? "" : ", ") + std::string(entry.info.name);
  }
  throw ModelError("solver = \"" + name + "\", must be one of " + all + meant_text(name, names));
}

}  // namespace

std::span<const SolverInfo> solver_infos() noexcept { return kInfos; }

const SolverInfo& solver_info(const std::string& name) { return entry_of(name).info; }

AnySolver make_solver(const std::string& name, const ContinuumRobot& robot,
                      const SolverOptions& options) {
  const Entry& entry = entry_of(name);
  if (!entry.info.keeps_planes && !robot.is_planar() && !robot.bends_in_any_plane())
    throw ModelError("solver = \"" + name +
                     "\": must be auto or levenberg for sections that bend in one plane");
  return entry.make(robot, options);
}

}  // namespace tendril
