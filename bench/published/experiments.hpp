#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bench/published/measurement.hpp"
#include "tendril/avoidance/clutter.hpp"
#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/plan_file/plan_file.hpp"

// The published experiments as data: robots, targets, methods, tolerances and printed results.
// Sources: [FABRIKx] sec. 3.1, tables 3.1-3.12; [FABRIKc] sec. 4 ("article"). Read this header
// first.
namespace tendril::tables {

/// Printed results of the source for a method on a row. Times in us, iterations as counts.
struct Published {
  std::optional<double> success = {};  ///< %
  std::optional<double> mean_time_us = {}, median_time_us = {};
  std::optional<double> mean_iterations = {}, median_iterations = {};
  std::optional<double> solutions = {};  ///< of a plan
  std::string label = {};                ///< the method's name in the source
};

/// Iteration limit of rows whose source has only a time limit, which was chosen for another machine
/// and language and is never reached by compiled code.
inline constexpr int kIterationLimit = 3000;

/// A method on a row. Names are those of `make_solver`, or one of the single-section solves:
/// section-iterative, section-newton, section-polynomial.
struct Method {
  std::string name;
  int max_iterations = kIterationLimit;   ///< 0: the solver's own budget
  std::vector<Published> published = {};  ///< one for each variant of the source
};

/// Targets are tip poses of random admissible poses (random_base, random_states) of `target_robot`,
/// which is `robot` except for its limits; all starts are straight.
struct TipProblem {
  ContinuumRobot robot;
  ContinuumRobot target_robot;
  TipTask task = TipTask::PositionAndDirection;
  Tolerances tolerances;
};

enum class SectionKind { Fixed, Telescopic, Variable };

/// Random single sections of one kind, with the targets divided equally among them. Weights are
/// real numbers in [1, 10), lengths in mm: fixed SC in [1, 100); telescopic SD in [1, 100);
/// variable SC in [1, 50) and SD = 100 - SC.
struct SectionProblem {
  SectionKind kind = SectionKind::Fixed;
  int sub_sections = 3;
  Tolerances tolerances;
  static constexpr int kSections = 200;
};

/// Cells of a half-plane reachable by the tip. The Monte-Carlo part bins the position targets of
/// `problem`.
struct CoverageProblem {
  TipProblem problem;
};

/// Arms among spheres (tendril/avoidance/clutter.hpp). Methods: `obstacles`, the ObstacleSolver;
/// `avoiding-reach`, its ObstacleMethod::Reach; or a name of `make_solver`, which ignores the
/// spheres. A success is also free of collisions.
struct ClutterRow {
  ClutterClass kind;
  Tolerances tolerances;
};

/// The youBot (tendril/mobile/youbot_targets.hpp). Methods: the printed algorithm (`printed-claims`
/// counts its successes by its own criterion, position only), its corrections one by one, `fabrik`
/// with and without the closed form as fallback, `closed-form` and `closed-form-coarse`;
/// `forward-kinematics` is one tool pose.
struct MobileRow {
  bool listed = true;  ///< the twenty listed targets; else random reachable ones
  Tolerances tolerances;
};

/// A plan with contact, of scenes/plans. Method: `contact`, the ContactPlanner; its iterations are
/// the arcs tried. A success finds a path, and all paths end at the target.
struct WrapRow {
  std::shared_ptr<const PlanFile> plan;
};

struct Row {
  std::string group;        ///< robot, or another description of the row
  std::string column = {};  ///< second label of rows that form a matrix; empty: none
  std::uint64_t seed = 0;
  std::variant<TipProblem, SectionProblem, CoverageProblem, ClutterRow, MobileRow, WrapRow> problem;
  std::vector<Method> methods;
  [[nodiscard]] std::string name() const { return column.empty() ? group : group + " " + column; }
};

/// Choice of the rows that are pooled and printed as one.
enum class Pooling { None, Group, All };

struct Table {
  std::string name;  ///< as in the source
  std::string title;
  std::string setup;  ///< robots, task, tolerances and limits, in one or two sentences
  Pooling pooling = Pooling::None;
  std::int64_t default_samples = 0;  ///< per row, a minute for all tables
  std::int64_t full_samples = 0;     ///< per row, as published
  std::vector<Row> rows = {};
  std::vector<Published> pooled_published = {};  ///< label is the name of our method
  std::vector<std::string> statements = {};      ///< further numbers of the source
  bool compares = false;  ///< solvers of a user's robot: the report says which to take
};

/// Every table, in the order of the source: 3.1, 3.3, 3.4, 3.5, 3.6, 3.9, 3.11, 3.12, article; then
/// clutter and mobile.
[[nodiscard]] std::vector<std::string> table_names();

/// Throws ModelError for an unknown name; the message lists the known ones.
[[nodiscard]] Table make_table(const std::string& name);

/// Table `robot` of every solver that `make_solver` knows, each on its own budget, on a user's
/// robot: positions, then positions and directions, within the robot's own limits, its feed
/// included. [FABRIKx] sec. 3.1.5 advises to choose the method by such a test.
/// @param title  of the table, e.g. the name of the robot's file
[[nodiscard]] Table compare_solvers(const std::string& title, const ContinuumRobot& robot,
                                    const Tolerances& tolerances);

/// A section of table 3.1 with parameters drawn from `random`.
[[nodiscard]] SectionParameters random_section(const SectionProblem& problem, SplitMix64& random);

}  // namespace tendril::tables
