#include "bench/published/experiments.hpp"

#include <fmt/format.h>

#include <array>
#include <numbers>
#include <utility>

#include "bench/published/source_files.hpp"
#include "tendril/ik/any_solver.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/model_error.hpp"

namespace tendril::tables {
namespace {

constexpr double kMillimeter = 1e-3;
constexpr double kDegree = std::numbers::pi / 180.0;
constexpr double kHalfTurn = std::numbers::pi;
constexpr int kPublishedLimit = 300;  // iterations, tables 3.3 to 3.5

using Publications = std::vector<Published>;

std::string default_solver() { return solver_infos().front().name; }

/// The methods, followed by the default solver on its own budget.
std::vector<Method> with_default(std::vector<Method> methods) {
  methods.push_back({.name = default_solver(), .max_iterations = 0});
  return methods;
}

std::uint64_t seed_of(std::uint64_t table, std::size_t row) { return 10000 * table + row; }

TipProblem same_limits(ContinuumRobot robot, TipTask task, const Tolerances& tolerances) {
  return {.robot = robot, .target_robot = std::move(robot), .task = task, .tolerances = tolerances};
}

/// The same with this bend limit [rad] for every section.
std::vector<SectionParameters> with_limit(std::vector<SectionParameters> sections,
                                          double bend_angle_limit) {
  for (SectionParameters& section : sections) section.bend_angle_limit = bend_angle_limit;
  return sections;
}

// ---- table 3.1: single sections ----------------------------------------------------------------

struct PublishedSection {
  SectionKind kind;
  const char* name;
  int sub_sections;
  Published iterative, jacobian;
};

Published printed(double success, double mean_time_us, double mean_iterations, const char* label) {
  return {.success = success,
          .mean_time_us = mean_time_us,
          .mean_iterations = mean_iterations,
          .label = label};
}

const std::array kPublishedSections = {
    PublishedSection{SectionKind::Fixed, "fixed", 3, printed(99.9, 63.8, 3, "iterative"),
                     printed(92.3, 189.6, 12, "Jacobian")},
    PublishedSection{SectionKind::Fixed, "fixed", 6, printed(99.9, 70.0, 3, "iterative"),
                     printed(91.5, 219.4, 12, "Jacobian")},
    PublishedSection{SectionKind::Fixed, "fixed", 9, printed(99.9, 73.7, 3, "iterative"),
                     printed(90.3, 236.6, 9, "Jacobian")},
    PublishedSection{SectionKind::Telescopic, "telescopic", 3, printed(94.4, 56.8, 3, "iterative"),
                     printed(62.3, 136.8, 8, "Jacobian")},
    PublishedSection{SectionKind::Telescopic, "telescopic", 6, printed(95.3, 61.6, 3, "iterative"),
                     printed(60.5, 159.2, 8, "Jacobian")},
    PublishedSection{SectionKind::Telescopic, "telescopic", 9, printed(96.2, 67.5, 3, "iterative"),
                     printed(60.4, 180.5, 8, "Jacobian")},
    PublishedSection{SectionKind::Variable, "variable", 3, printed(95.3, 103.3, 8, "iterative"),
                     printed(83.2, 136.4, 8, "Jacobian")},
    PublishedSection{SectionKind::Variable, "variable", 6, printed(95.1, 124.5, 7, "iterative"),
                     printed(81.2, 163.9, 8, "Jacobian")},
    PublishedSection{SectionKind::Variable, "variable", 9, printed(95.6, 147.1, 7, "iterative"),
                     printed(81.3, 190.3, 8, "Jacobian")},
};

Table table_3_1() {
  Table table{.name = "3.1",
              .title = "Single section, position",
              .setup =
                  "200 random sections a row, weights in 1..10, the same number of targets each; "
                  "tolerances 1 um and 0.001 rad (chord angle); bend limit 180 deg.",
              .default_samples = 2000,
              .full_samples = 100000};
  for (const PublishedSection& entry : kPublishedSections) {
    table.rows.push_back(
        {.group = fmt::format("{}, {} sub-sections", entry.name, entry.sub_sections),
         .seed = seed_of(31, table.rows.size()),
         .problem = SectionProblem{.kind = entry.kind,
                                   .sub_sections = entry.sub_sections,
                                   .tolerances = {.position = 1e-6, .angle = 1e-3}},
         .methods = with_default({{.name = "section-iterative", .published = {entry.iterative}},
                                  {.name = "section-newton"},
                                  {.name = "section-polynomial"},
                                  {.name = "jacobian", .published = {entry.jacobian}}})});
  }
  return table;
}

// ---- tables 3.2 to 3.5: uniform robots of 100 mm and 180 deg in all ----------------------------

constexpr std::array kUniformSections = {2, 3, 5, 10};

TipProblem uniform_problem(int sections, TipTask task) {
  return same_limits(
      ContinuumRobot(source_sections(fmt::format("models/table_3_2/{}_sections.toml", sections))),
      task, {.position = 1e-4, .angle = 0.1});
}

Table uniform_table(std::string name, std::string title, TipTask task, std::uint64_t seed,
                    const std::array<Published, kUniformSections.size()>& published) {
  Table table{
      .name = std::move(name),
      .title = std::move(title),
      .setup =
          "Fixed lengths, 100 mm and 180 deg divided equally, one arc per section; tolerances "
          "0.1 mm and 0.1 rad; at most 300 iterations.",
      .default_samples = 1000,
      .full_samples = 1000000};
  for (std::size_t i = 0; i < kUniformSections.size(); ++i) {
    table.rows.push_back(
        {.group = fmt::format("{} sections", kUniformSections[i]),
         .seed = seed_of(seed, i),
         .problem = uniform_problem(kUniformSections[i], task),
         .methods = with_default(
             {{.name = "fabrikx", .max_iterations = kPublishedLimit, .published = {published[i]}},
              {.name = "chord", .max_iterations = kPublishedLimit}})});
  }
  return table;
}

Published with_medians(double success, double median_time_ms, double median_iterations) {
  return {.success = success,
          .median_time_us = 1e3 * median_time_ms,
          .median_iterations = median_iterations,
          .label = "FABRIKx"};
}

Table table_3_3() {
  return uniform_table("3.3", "Uniform robots, position", TipTask::Position, 33,
                       {with_medians(100.0, 0.18, 7), with_medians(99.0, 0.50, 13),
                        with_medians(96.6, 1.51, 24), with_medians(97.7, 7.10, 57)});
}

Table table_3_4() {
  return uniform_table("3.4", "Uniform robots, position and direction",
                       TipTask::PositionAndDirection, 34,
                       {with_medians(98.1, 0.30, 8), with_medians(98.0, 0.51, 10),
                        with_medians(96.0, 2.01, 27), with_medians(89.9, 11.4, 83)});
}

Table table_3_5() {
  Table table{
      .name = "3.5",
      .title = "Cells of the workspace: Monte-Carlo against inverse kinematics",
      .setup =
          "Robots and targets of table 3.3, rotated into one half-plane; cells of 1 mm, "
          "86 x 104; at most five targets per cell; tolerance 0.1 mm; at most 300 "
          "iterations.",
      .default_samples = 20000,
      .full_samples = 1000000,
      .statements = {"published, both / inverse kinematics only / Monte-Carlo only: 2 "
                     "sections 1775 / 91 / 1, 3 sections 2298 / 264 / 19, 5 sections 1936 / "
                     "675 / 37, 10 sections 1100 / 1545 / 1"}};
  for (std::size_t i = 0; i < kUniformSections.size(); ++i) {
    table.rows.push_back(
        {.group = fmt::format("{} sections", kUniformSections[i]),
         .seed = seed_of(33, i),
         .problem = CoverageProblem{uniform_problem(kUniformSections[i], TipTask::Position)},
         .methods = with_default({{.name = "fabrikx", .max_iterations = kPublishedLimit}})});
  }
  return table;
}

// ---- table 3.6: FABRIKx against the Jacobian ---------------------------------------------------

Published with_means(double success, double mean_time_ms, double mean_iterations,
                     const char* label) {
  return {.success = success,
          .mean_time_us = 1e3 * mean_time_ms,
          .mean_iterations = mean_iterations,
          .label = label};
}

Table table_3_6() {
  struct Entry {
    int sections;
    Publications fabrikx, jacobian;
  };
  const std::array entries = {
      Entry{3, {with_means(94.8, 1.9, 68, "FABRIKx")}, {with_means(94.3, 5.6, 101, "Jacobian")}},
      Entry{5, {with_means(95.1, 4.7, 162, "FABRIKx")}, {with_means(84.2, 15.2, 27, "Jacobian")}},
      Entry{10, {with_means(90.4, 16.4, 222, "FABRIKx")}, {}}};
  Table table{.name = "3.6",
              .title = "FABRIKx against the Jacobian",
              .setup =
                  "Fixed lengths of 50 mm, one arc per section, bend limit 180 deg / sections; "
                  "position and direction to 10 um and 0.01 rad.",
              .default_samples = 1000,
              .full_samples = 1000000};
  for (const Entry& entry : entries) {
    table.rows.push_back(
        {.group = fmt::format("{} sections", entry.sections),
         .seed = seed_of(36, table.rows.size()),
         .problem = same_limits(ContinuumRobot(source_sections(fmt::format(
                                    "models/table_3_6/{}_sections.toml", entry.sections))),
                                TipTask::PositionAndDirection, {.position = 1e-5, .angle = 0.01}),
         .methods = with_default({{.name = "fabrikx", .published = entry.fabrikx},
                                  {.name = "jacobian", .published = entry.jacobian},
                                  {.name = "jacobian-polar", .published = entry.jacobian}})});
  }
  return table;
}

// ---- table 3.9: all mixtures of section types --------------------------------------------------

struct MixedType {
  char letter;
  const char* file;
};

constexpr std::array kMixedTypes = {MixedType{'F', "models/table_3_8/fixed.toml"},
                                    MixedType{'V', "models/table_3_8/variable.toml"},
                                    MixedType{'T', "models/table_3_8/telescopic.toml"}};

Table table_3_9() {
  constexpr int kLimits = 20;
  constexpr double kLimitStep = 9.0;  // [deg]
  Table table{
      .name = "3.9",
      .title = "All mixtures of fixed (F), variable (V) and telescopic (T) sections",
      .setup =
          "Three sections, 27 orders of types x 20 bend limits (9, 18 .. 180 deg); 50 mm, 25 + "
          "25 mm, 0 + 50 mm; position and direction to 1 um and 0.001 rad. All cells pooled.",
      .pooling = Pooling::All,
      .default_samples = 10,
      .full_samples = 10000,
      .pooled_published = {{.success = 84.3,
                            .mean_time_us = 4400,
                            .median_time_us = 2500,
                            .mean_iterations = 41,
                            .median_iterations = 24,
                            .label = "fabrikx"},
                           {.success = 56.9,
                            .mean_time_us = 11500,
                            .median_time_us = 9800,
                            .mean_iterations = 85,
                            .median_iterations = 72,
                            .label = "jacobian"},
                           {.success = 91.4, .label = "fabrikx-jacobian"}},
      .statements = {
          "published: worst cell FABRIKx 56 %, Jacobian 11 %; largest advantage of "
          "FABRIKx in a cell 76 points; median errors of failures FABRIKx 0.22 mm / 0.06 "
          "rad, Jacobian 3.62 mm / 0.1 rad"}};
  for (const MixedType& first : kMixedTypes) {
    for (const MixedType& second : kMixedTypes) {
      for (const MixedType& third : kMixedTypes) {
        std::vector<SectionParameters> sections;
        for (const MixedType& type : {first, second, third})
          sections.push_back(source_sections(type.file).front());
        for (int k = 1; k <= kLimits; ++k) {
          table.rows.push_back(
              {.group = {first.letter, second.letter, third.letter},
               .column = fmt::format("{:g} deg", kLimitStep * k),
               .seed = seed_of(39, table.rows.size()),
               .problem =
                   same_limits(ContinuumRobot(with_limit(sections, kLimitStep * k * kDegree)),
                               TipTask::PositionAndDirection, {.position = 1e-6, .angle = 1e-3}),
               .methods = with_default(
                   {{.name = "fabrikx"}, {.name = "jacobian"}, {.name = "fabrikx-jacobian"}})});
        }
      }
    }
  }
  return table;
}

// ---- tables 3.10, 3.11: variable curvature -----------------------------------------------------

struct CurvedRobot {
  const char* name;
  std::vector<SectionParameters> sections;
  Published iterative, polynomial, fabrikc;
  Publications jacobian;
};

Published full_row(double success, double mean_ms, double median_ms, double mean_iterations,
                   double median_iterations, const char* label) {
  return {.success = success,
          .mean_time_us = 1e3 * mean_ms,
          .median_time_us = 1e3 * median_ms,
          .mean_iterations = mean_iterations,
          .median_iterations = median_iterations,
          .label = label};
}

/// Sets the length of each section to the sum of its length weights, which are lengths in mm. The
/// sum in this order is what the results have; that of a robot's file can differ by its last bits.
std::vector<SectionParameters> with_length_sums(std::vector<SectionParameters> sections) {
  for (SectionParameters& section : sections) {
    section.length = 0.0;
    for (const double part : section.length_weights) section.length += part * kMillimeter;
  }
  return sections;
}

/// A robot of table 3.10.
std::vector<SectionParameters> curved_sections(int number) {
  return with_length_sums(source_sections(fmt::format("models/table_3_10/robot_{}.toml", number)));
}

/// Sections whose sub-sections are those of one robot, then those of the other.
std::vector<SectionParameters> joined(std::vector<SectionParameters> first,
                                      const std::vector<SectionParameters>& second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(first[i].length_weights, second[i].length_weights);
    append(first[i].angle_weights, second[i].angle_weights);
  }
  return with_length_sums(std::move(first));
}

std::vector<CurvedRobot> curved_robots() {
  return {
      {"1 (3x3)",
       curved_sections(1),
       full_row(92.8, 4.5, 3.2, 16, 11, "FABRIKx (I)"),
       full_row(93.8, 3.3, 2.1, 17, 11, "FABRIKx (P)"),
       full_row(78.5, 4.4, 2.3, 29, 14, "FABRIKc"),
       {full_row(81.3, 8.1, 5.9, 34, 25, "Jacobian")}},
      {"2 (3x5)",
       curved_sections(2),
       full_row(92.4, 5.3, 4.0, 17, 12, "FABRIKx (I)"),
       full_row(93.6, 3.6, 2.4, 18, 12, "FABRIKx (P)"),
       full_row(79.5, 4.3, 2.2, 27, 13, "FABRIKc"),
       {full_row(83.7, 7.9, 6.0, 32, 24, "Jacobian")}},
      {"3 (3x7)",
       curved_sections(3),
       full_row(86.7, 6.4, 4.7, 19, 13, "FABRIKx (I)"),
       full_row(88.5, 4.2, 2.8, 20, 14, "FABRIKx (P)"),
       full_row(75.8, 4.9, 2.6, 30, 15, "FABRIKc"),
       {full_row(84.4, 7.3, 5.1, 28, 19, "Jacobian")}},
      {"4 (3x9)",
       curved_sections(4),
       full_row(82.8, 6.7, 4.9, 19, 14, "FABRIKx (I)"),
       full_row(84.9, 4.4, 2.9, 21, 14, "FABRIKx (P)"),
       full_row(73.4, 5.0, 2.7, 30, 15, "FABRIKc"),
       {full_row(84.9, 7.4, 5.2, 27, 19, "Jacobian")}},
      {"5 (5x3)",
       curved_sections(5),
       full_row(69.3, 5.8, 4.5, 12, 10, "FABRIKx (I)"),
       full_row(70.7, 4.1, 3.1, 13, 10, "FABRIKx (P)"),
       full_row(70.0, 4.0, 3.0, 16, 12, "FABRIKc"),
       {full_row(0.3, 26.0, 26.6, 28, 28, "Jacobian"),
        full_row(13.3, 138.7, 98.4, 128, 90, "Jacobian (S)")}},
      {"6 (7x3)",
       curved_sections(6),
       full_row(58.9, 7.4, 6.0, 12, 10, "FABRIKx (I)"),
       full_row(60.4, 5.4, 4.1, 13, 10, "FABRIKx (P)"),
       full_row(53.1, 8.2, 6.2, 24, 18, "FABRIKc"),
       {{.success = 0.0, .label = "Jacobian"},
        full_row(5.2, 401.3, 411.0, 60, 61, "Jacobian (S)")}},
  };
}

Table table_3_11() {
  Table table{
      .name = "3.11",
      .title = "Variable curvature: robots of table 3.10",
      .setup =
          "Fixed lengths, bend limit 100 deg per section; position and direction to 10 um "
          "and 0.01 deg. Published times of (S) rows: limit 0.5 s instead of 30 ms. The row "
          "of 16 sub-sections is ours: those of robot 4, then of robot 3.",
      .default_samples = 500,
      .full_samples = 100000,
      .statements = {"published: the success of FABRIKx falls with the number of "
                     "sub-sections, extrapolated to about 50 % at 16"}};
  std::vector<CurvedRobot> robots = curved_robots();
  constexpr std::size_t kThird = 2, kFourth = 3;
  robots.push_back({.name = "3x16",
                    .sections = joined(robots[kFourth].sections, robots[kThird].sections),
                    .iterative = {.success = 50.0, .label = "extrapolated"},
                    .polynomial = {.success = 50.0, .label = "extrapolated"},
                    .fabrikc = {},
                    .jacobian = {}});
  for (const CurvedRobot& robot : robots) {
    table.rows.push_back(
        {.group = robot.name,
         .seed = seed_of(311, table.rows.size()),
         .problem = same_limits(ContinuumRobot(robot.sections), TipTask::PositionAndDirection,
                                {.position = 1e-5, .angle = 0.01 * kDegree}),
         .methods = with_default({{.name = "fabrikx-iterative", .published = {robot.iterative}},
                                  {.name = "fabrikx-polynomial", .published = {robot.polynomial}},
                                  {.name = "fabrikc", .published = {robot.fabrikc}},
                                  {.name = "jacobian", .published = robot.jacobian}})});
  }
  return table;
}

// ---- table 3.12: wrapping ----------------------------------------------------------------------

Table table_3_12() {
  constexpr std::array<std::pair<double, double>, 3> kPrinted = {
      {{2, 0.07}, {2, 0.06}, {1, 0.04}}};  // solutions and time [s]
  Table table{
      .name = "3.12",
      .title = "Paths that brace against obstacles",
      .setup =
          "All paths to a target behind obstacles, for one section that wraps around given "
          "contact points: scenes/plans/case_1.toml to case_3.toml, whose geometry is ours, "
          "because the source prints figures only. Targets are repeated solves.",
      .default_samples = 500,
      .full_samples = 10000};
  for (std::size_t k = 0; k < kPrinted.size(); ++k) {
    const auto& [solutions, time] = kPrinted[k];
    const std::string file = fmt::format("case_{}.toml", k + 1);
    table.rows.push_back(
        {.group = fmt::format("case {}", k + 1),
         .problem = WrapRow{std::make_shared<PlanFile>(
             parse_plan(source_text("scenes/plans/" + file), file))},
         .methods = {{.name = "contact",
                      .max_iterations = 0,
                      .published = {{.mean_time_us = 1e6 * time, .solutions = solutions}}}}});
  }
  return table;
}

// ---- a user's robot ----------------------------------------------------------------------------

std::string description_of(const ContinuumRobot& robot) {
  return fmt::format("{} section{}, {:.4g} m, feed {:g} m", robot.section_count(),
                     robot.section_count() == 1 ? "" : "s", robot.max_length(),
                     robot.base().feed_limit);
}

// ---- [FABRIKc]: tangents and chords ------------------------------------------------------------

Table article() {
  Table table{
      .name = "article",
      .title = "FABRIKc: tangents and chords",
      .setup =
          "Fixed lengths of 100 mm, one arc per section; targets bent by up to 30, 60, 90, 120, "
          "180 deg per section; bend limit of the solve 360 deg (free) or as the targets "
          "(limited); position and direction to 1 um and 0.001 rad. Limits pooled.",
      .pooling = Pooling::Group,
      .default_samples = 200,
      .full_samples = 100000,
      .statements = {"published (the rest are curves): free, tangents rise to 100 % with more "
                     "sections, chords stay near 85 %; free, 3 sections below 120 deg: tangents "
                     "lower than chords, else higher; limited: chords higher, by up to 30 points; "
                     "mean times: tangents below 2 ms, chords above 2 ms"}};
  for (const bool limited : {false, true}) {
    for (const int count : {3, 5, 10}) {
      const auto sections = source_sections(fmt::format("models/article/{}_sections.toml", count));
      for (const int bend : {30, 60, 90, 120, 180}) {
        const double target_limit = bend * kDegree;
        table.rows.push_back(
            {.group = fmt::format("{} sections, {}", count, limited ? "limited" : "free"),
             .column = fmt::format("{} deg", bend),
             .seed = seed_of(500, table.rows.size() % 15),  // the same targets free and limited
             .problem =
                 TipProblem{.robot = ContinuumRobot(
                                with_limit(sections, limited ? target_limit : 2.0 * kHalfTurn)),
                            .target_robot = ContinuumRobot(with_limit(sections, target_limit)),
                            .task = TipTask::PositionAndDirection,
                            .tolerances = {.position = 1e-6, .angle = 1e-3}},
             .methods = with_default(
                 {{.name = "fabrikc"}, {.name = "fabrikc-clamped"}, {.name = "chord"}})});
      }
    }
  }
  return table;
}

// ---- tips among obstacles ----------------------------------------------------------------------

Table clutter() {
  Table table{
      .name = "clutter",
      .title = "Tips among spheres",
      .setup =
          "Extensible sections of 0.15 to 0.55 m that bend by up to 180 deg, among random "
          "spheres of radius 0.1 to 0.3 m at a distance from the base; position and direction "
          "of random free poses to 10 um and 0.001 rad. A success has at least the body radius as "
          "distance from the spheres. `avoiding-reach` is Algorithm 2.4 alone, FABRIKx whose "
          "sections keep clear of the spheres; like FABRIKx it succeeds less often than "
          "`obstacles`. `auto` ignores the spheres.",
      .default_samples = 100,
      .full_samples = 2000,
      .statements = {"[CIDGIKc], in its own environments: above 98 %, seconds per solve"}};
  for (const int sections : {3, 6}) {
    for (const int spheres : {5, 10, 20, 40}) {
      for (const double radius : {0.0, 20.0 * kMillimeter}) {
        table.rows.push_back(
            {.group = fmt::format("{} sections, {} spheres, {:.0f} mm", sections, spheres,
                                  radius / kMillimeter),
             .problem =
                 ClutterRow{
                     .kind = {.sections = sections, .spheres = spheres, .body_radius = radius},
                     .tolerances = {.position = 1e-5, .angle = 1e-3}},
             .methods = with_default({{.name = "avoiding-reach", .max_iterations = kPublishedLimit},
                                      {.name = "obstacles", .max_iterations = 0}})});
      }
    }
  }
  return table;
}

// ---- an arm on a mobile platform ---------------------------------------------------------------

Table mobile() {
  constexpr int kOwnLimits = 100;  // iterations of an attempt, of the printed algorithm on
  Table table{
      .name = "mobile",
      .title = "Tool poses of the youBot: position and full orientation",
      .setup =
          "Eight degrees of freedom: platform in the plane, arm of five joints with their public "
          "limits; start at the origin, joints 0, 20, 60, 30, 0 deg; 0.1 mm and 1 mrad. The row of "
          "listed targets has at most 20. Each method from `printed` to `starts` adds one "
          "correction to the printed algorithm (docs/theory/mobile.md); `fabrik-alone` "
          "moves the base earlier; `fabrik`, the default, falls back on the closed form. "
          "`printed-claims` counts what the printed algorithm calls a success: the position only. "
          "Iterations of `closed-form` are evaluated postures, one per millimeter; "
          "`closed-form-coarse` evaluates two between the abscissas at which a limit is reached, "
          "which is enough to find a posture if there is one, but not that of least cost.",
      .default_samples = 1000,
      .full_samples = 5000,
      .statements = {"[Mobile], 20 targets, Ryzen 7 7840H: mean 142 ms, geometric method 35 ms"}};
  for (const bool listed : {true, false}) {
    std::vector<Method> methods;
    for (const char* name : {"printed-claims", "printed", "orientation-test", "orientation-forward",
                             "second-plane", "mirror-shift", "starts"}) {
      methods.push_back({.name = name, .max_iterations = kOwnLimits});
    }
    const auto published = [&](double mean_time_us, const char* label) {
      return listed ? Publications{{.mean_time_us = mean_time_us, .label = label}} : Publications{};
    };
    methods.push_back({.name = "fabrik-alone", .max_iterations = kOwnLimits});
    methods.push_back({.name = "fabrik",
                       .max_iterations = kOwnLimits,
                       .published = published(142e3, "proposed")});
    methods.push_back(
        {.name = "closed-form", .max_iterations = 0, .published = published(35e3, "geometric")});
    methods.push_back({.name = "closed-form-coarse", .max_iterations = 0});
    methods.push_back({.name = "forward-kinematics", .max_iterations = 0});
    table.rows.push_back(
        {.group = listed ? "listed targets" : "random reachable targets",
         .seed = seed_of(700, table.rows.size()),
         .problem = MobileRow{.listed = listed, .tolerances = {.position = 1e-4, .angle = 1e-3}},
         .methods = std::move(methods)});
  }
  return table;
}

struct Entry {
  const char* name;
  Table (*make)();
};

constexpr std::array kTables = {
    Entry{"3.1", table_3_1},   Entry{"3.3", table_3_3},   Entry{"3.4", table_3_4},
    Entry{"3.5", table_3_5},   Entry{"3.6", table_3_6},   Entry{"3.9", table_3_9},
    Entry{"3.11", table_3_11}, Entry{"3.12", table_3_12}, Entry{"article", article},
    Entry{"clutter", clutter}, Entry{"mobile", mobile},
};

}  // namespace

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kTables) names.emplace_back(entry.name);
  return names;
}

Table make_table(const std::string& name) {
  for (const Entry& entry : kTables) {
    if (name == entry.name) return entry.make();
  }
  throw ModelError(fmt::format("tables: {}: unknown table: must be one of {}", name,
                               fmt::join(table_names(), ", ")));
}

Table compare_solvers(const std::string& title, const ContinuumRobot& robot,
                      const Tolerances& tolerances) {
  static_cast<void>(make_solver(
      default_solver(), robot,  // refuses tolerances out of range
      {.position_tolerance = tolerances.position, .angle_tolerance = tolerances.angle}));
  Table table{
      .name = "robot",
      .title = title,
      .setup = fmt::format(
          "{}; targets of random admissible poses, from the straight arm; tolerances {:g} m "
          "and {:g} rad.",
          description_of(robot), tolerances.position, tolerances.angle),
      .default_samples = 1000,
      .full_samples = 100000,
      .compares = true};
  for (const TipTask task : {TipTask::Position, TipTask::PositionAndDirection}) {
    Row row{.group = task == TipTask::Position ? "position" : "position and direction",
            .seed = seed_of(800, table.rows.size()),
            .problem = same_limits(robot, task, tolerances),
            .methods = {}};
    for (const SolverInfo& info : solver_infos()) {
      if (info.single_section && robot.section_count() > 1) continue;
      row.methods.push_back({.name = info.name, .max_iterations = 0});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

SectionParameters random_section(const SectionProblem& problem, SplitMix64& random) {
  SectionParameters parameters;
  switch (problem.kind) {
    case SectionKind::Fixed:
      parameters.length = random.uniform(1.0, 100.0) * kMillimeter;
      break;
    case SectionKind::Telescopic:
      parameters.variable_length = random.uniform(1.0, 100.0) * kMillimeter;
      break;
    case SectionKind::Variable:
      parameters.length = random.uniform(1.0, 50.0) * kMillimeter;
      parameters.variable_length = 100.0 * kMillimeter - parameters.length;
      break;
  }
  parameters.bend_angle_limit = kHalfTurn;
  for (int j = 0; j < problem.sub_sections; ++j) {
    parameters.length_weights.push_back(random.uniform(1.0, 10.0));
    parameters.angle_weights.push_back(random.uniform(1.0, 10.0));
  }
  return parameters;
}

}  // namespace tendril::tables
