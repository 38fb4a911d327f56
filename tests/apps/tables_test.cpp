// The published experiments at tiny sample sizes.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <set>

#include "bench/published/cell.hpp"
#include "bench/published/result_store.hpp"
#include "bench/published/run_tables.hpp"
#include "bench/published/source_files.hpp"
#include "bench/published/tables_report.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tendril::tables {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::ordered_json;

constexpr double kAlgebraTolerance = 1e-12;  // rounding, on meters and radians
constexpr double kWilsonMargin = 2e-4;       // between the Wilson interval and the plain one
constexpr double kBinWidth = 0.01;           // relative width of a histogram bin

/// A few targets of a few quick methods.
RunOptions quick_options() {
  return {.tables = {"3.1", "3.3", "3.6", "3.11"},
          .methods = {"section-newton", "fabrikx", "auto"},
          .samples = 3,
          .threads = 1,
          .program = "test"};
}

/// A record without what depends on the clock.
Json timeless(const Record& record) {
  Json json = to_json(record);
  json.erase("threads");
  json.erase("unit_us");
  if (json.contains("measurement")) {
    json["measurement"].erase("times");
    json["measurement"].erase("times_by_iterations");
    json["measurement"].erase("time_sum");
  }
  if (json.contains("coverage")) json["coverage"].erase("times");
  return json;
}

std::vector<Json> timeless(const RunResult& run) {
  std::vector<Json> all;
  for (const TableResult& table : run.tables) {
    for (const Record& record : table.records) all.push_back(timeless(record));
  }
  return all;
}

TEST_CASE(
    "tables: every experiment runs and no solution is claimed that forward kinematics refutes",
    "[tables]") {
  const auto name = GENERATE(from_range(table_names()));
  DYNAMIC_SECTION("table " << name) {
    std::vector<std::string> methods;
    if (name == "3.9") methods = {"auto"};  // 540 cells: the quickest method only
    const RunResult run = run_tables(
        {.tables = {name}, .methods = methods, .samples = 1, .threads = 2, .program = "test"});
    REQUIRE(run.tables.size() == 1);
    CHECK_FALSE(run.interrupted);
    CHECK(run.unit_us > 0.0);
    for (const Record& record : run.tables[0].records) {
      CAPTURE(record.key.row, record.key.method, record.refusal);
      if (!record.refusal.empty()) continue;
      if (const auto* measurement = std::get_if<Measurement>(&record.result)) {
        CHECK(measurement->samples == 1);
        CHECK(measurement->false_claims == 0);
        CHECK(measurement->times.total() == measurement->successes);
        CHECK(measurement->position_errors.total() == 1 - measurement->successes);
      } else {
        const Coverage& coverage = std::get<Coverage>(record.result);
        CHECK(coverage.count('0') + coverage.both() + coverage.inverse_only() +
                  coverage.monte_carlo_only() ==
              coverage.columns * coverage.rows);
      }
    }
  }
}

TEST_CASE("tables: the default solver is in every row", "[tables]") {
  for (const std::string& name : table_names()) {
    for (const Row& row : make_table(name).rows) {
      CAPTURE(name, row.name());
      if (std::holds_alternative<MobileRow>(row.problem)) continue;  // a robot of joints
      if (std::holds_alternative<WrapRow>(row.problem)) continue;    // a plan
      CHECK(row.methods.back().name == solver_infos().front().name);
      CHECK(row.methods.back().max_iterations == 0);
    }
  }
}

TEST_CASE("tables: the number of threads changes nothing but times", "[tables]") {
  RunOptions options = quick_options();
  SECTION("several kinds of cells") {}
  SECTION("several blocks") {
    options.tables = {"3.3"};
    options.methods = {"fabrikx", "auto"};
    options.samples = kBlock + 1;
  }
  SECTION("mobile") {
    options.tables = {"mobile"};
    options.methods = {"printed", "fabrik", "closed-form-coarse"};
    options.samples = kBlock + 1;
  }
  SECTION("coverage") {
    options.tables = {"3.5"};
    options.methods = {"fabrikx"};
    options.samples = 50;
  }
  const std::vector<Json> one = timeless(run_tables(options));
  options.threads = 3;
  CHECK(timeless(run_tables(options)) == one);
}

TEST_CASE("tables: a small sample is the beginning of a large one", "[tables]") {
  const Table table = make_table("3.4");
  const auto& problem = std::get<TipProblem>(table.rows[1].problem);
  std::vector<TipTarget> few(5), many(kBlock);
  draw_targets(problem, 7, 0, few);
  draw_targets(problem, 7, 0, many);
  for (std::size_t k = 0; k < few.size(); ++k) CHECK(few[k].X_BG.matrix() == many[k].X_BG.matrix());
  draw_targets(problem, 7, kBlock, few);
  CHECK(few[0].X_BG.matrix() != many[0].X_BG.matrix());
}

TEST_CASE("tables: a second run computes nothing and says the same", "[tables]") {
  const test::TemporaryFolder folder;
  RunOptions options = quick_options();
  options.folder = folder.path() / "kept";
  const RunResult first = run_tables(options);
  CHECK(first.restored == 0);
  CHECK(first.computed > 0);
  RunResult second = run_tables(options);
  CHECK(second.computed == 0);
  CHECK(second.restored == first.computed);
  second.unit_us =
      first.unit_us;  // printed in the head; the rows keep the unit they were measured with
  CHECK(tables_text(second) == tables_text(first));

  SECTION("another sample size, seed of rows or program is another result") {
    options.samples = 4;
    CHECK(run_tables(options).restored == 0);
    options.samples = 3;
    options.program = "other";
    CHECK(run_tables(options).restored == 0);
  }
  SECTION("fresh computes again") {
    options.fresh = true;
    CHECK(run_tables(options).computed == first.computed);
  }
  SECTION("a line cut off by a killed writer is computed again, the others are taken") {
    const std::filesystem::path file = options.folder / "results.jsonl";
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 20);
    const RunResult mended = run_tables(options);
    CHECK(mended.unreadable_lines == 1);
    CHECK(mended.computed == 1);
    const RunResult after = run_tables(options);
    CHECK(after.computed == 0);
    CHECK(timeless(after) == timeless(first));
  }
}

TEST_CASE("tables: an interrupted run keeps what was finished", "[tables]") {
  const test::TemporaryFolder folder;
  RunOptions options = quick_options();
  options.folder = folder.path();
  const std::atomic<bool> stop = true;
  options.stop = &stop;
  const RunResult stopped = run_tables(options);
  CHECK(stopped.interrupted);
  options.stop = nullptr;
  const RunResult run = run_tables(options);
  CHECK_FALSE(run.interrupted);
  CHECK(run.restored == stopped.computed);
}

TEST_CASE("tables: wrong names and numbers are refused with what is allowed", "[tables]") {
  CHECK_THROWS_WITH(
      run_tables({.tables = {"3.2"}}),
      "tables: 3.2: unknown table: must be one of 3.1, 3.3, 3.4, 3.5, 3.6, 3.9, 3.11, "
      "3.12, article, clutter, mobile");
  CHECK_THROWS_WITH(run_tables({.tables = {"3.6"}, .methods = {"newton"}}),
                    Contains("newton") && Contains("must be one of") && Contains("fabrikx"));
  CHECK_THROWS_WITH(run_tables({.samples = 0}), Contains("samples = 0, must be in [1, "));
  CHECK_THROWS_WITH(run_tables({.threads = -1}), Contains("threads = -1, must be >= 0"));
  CHECK_THROWS_AS(make_table(""), ModelError);
}

// ---- generators
// ------------------------------------------------------------------------------------

TEST_CASE("tables: table 3.1 has 200 sections a row with the parameters of the source",
          "[tables]") {
  const Table table = make_table("3.1");
  REQUIRE(table.rows.size() == 9);
  for (const Row& row : table.rows) {
    const auto& problem = std::get<SectionProblem>(row.problem);
    CAPTURE(row.group);
    CHECK(make_cell(row, row.methods[0], 100000, nullptr)->block_count() == 200);
    SplitMix64 random(3);
    for (int i = 0; i < 200; ++i) {
      const SectionParameters section = random_section(problem, random);
      const double sc = 1e3 * section.length, sd = 1e3 * section.variable_length;
      switch (problem.kind) {
        case SectionKind::Fixed:
          CHECK((sc >= 1.0 && sc <= 100.0 && sd == 0.0));
          break;
        case SectionKind::Telescopic:
          CHECK((sd >= 1.0 && sd <= 100.0 && sc == 0.0));
          break;
        case SectionKind::Variable:
          CHECK((sc >= 1.0 && sc <= 50.0));
          CHECK(sc + sd == Approx(100.0));
          break;
      }
      REQUIRE(static_cast<int>(section.length_weights.size()) == problem.sub_sections);
      for (const double weight : section.length_weights) CHECK((weight >= 1.0 && weight <= 10.0));
      for (const double weight : section.angle_weights) CHECK((weight >= 1.0 && weight <= 10.0));
    }
  }
}

TEST_CASE("tables: the targets of table 3.1 are shared out over the sections completely",
          "[tables]") {
  const Table table = make_table("3.1");
  const std::int64_t samples = GENERATE(1, 199, 333);
  const auto cell = make_cell(table.rows[4], table.rows[4].methods[1], samples, nullptr);
  for (std::int64_t block = 0; block < cell->block_count(); ++block) cell->run_block(block);
  CHECK(std::get<Measurement>(cell->result()).samples == samples);
}

TEST_CASE("tables: targets are within reach of the robot that made them", "[tables]") {
  const auto name = GENERATE(as<std::string>{}, "3.3", "3.4", "3.6", "3.9", "3.11", "article");
  const Table table = make_table(name);
  for (const Row& row : table.rows) {
    const auto& problem = std::get<TipProblem>(row.problem);
    std::vector<TipTarget> targets(8);
    draw_targets(problem, row.seed, 0, targets);
    std::set<double> heights;
    for (const TipTarget& target : targets) {
      CHECK(target.position().norm() <= problem.robot.max_length() + kAlgebraTolerance);
      CHECK(std::abs(target.direction().norm() - 1.0) < kAlgebraTolerance);
      CHECK(target.task == problem.task);
      heights.insert(target.position().z());
    }
    CHECK(heights.size() == targets.size());
  }
}

TEST_CASE("tables: target poses of limited solves are admissible for the solver", "[tables]") {
  for (const Row& row : make_table("article").rows) {
    const auto& problem = std::get<TipProblem>(row.problem);
    const bool limited = row.group.ends_with("limited");
    CAPTURE(row.name());
    CHECK(problem.robot.section(0).bend_angle_limit() ==
          Approx(limited ? problem.target_robot.section(0).bend_angle_limit()
                         : 2.0 * std::numbers::pi));
  }
}

TEST_CASE("tables: robots have the lengths and limits of the source", "[tables]") {
  struct Case {
    const char* table;
    std::size_t row;
    int sections;
    double length;  // [m]
    double bend;    // [deg], of the first section
  };
  const auto c = GENERATE(
      Case{"3.3", 0, 2, 0.1, 90}, Case{"3.3", 3, 10, 0.1, 18}, Case{"3.4", 1, 3, 0.1, 60},
      Case{"3.6", 1, 5, 0.25, 36}, Case{"3.9", 0, 3, 0.15, 9}, Case{"3.9", 539, 3, 0.15, 180},
      // table 3.10: sums of the printed sub-section lengths
      Case{"3.11", 0, 3, 0.07 + 0.07 + 0.07, 100}, Case{"3.11", 1, 3, 0.10 + 0.10 + 0.10, 100},
      Case{"3.11", 2, 3, 0.14 + 0.14 + 0.14, 100}, Case{"3.11", 3, 3, 0.18 + 0.18 + 0.18, 100},
      Case{"3.11", 4, 5, 5 * 0.07, 100}, Case{"3.11", 5, 7, 7 * 0.07, 100},
      Case{"article", 0, 3, 0.3, 360}, Case{"article", 29, 10, 1.0, 180});
  DYNAMIC_SECTION(c.table << " row " << c.row) {
    const Table table = make_table(c.table);
    const auto& robot = std::get<TipProblem>(table.rows.at(c.row).problem).robot;
    CHECK(robot.section_count() == c.sections);
    CHECK(robot.max_length() == Approx(c.length));
    CHECK(robot.section(0).bend_angle_limit() == Approx(c.bend * std::numbers::pi / 180.0));
  }
}

TEST_CASE("tables: robots of table 3.11 have the sub-sections of table 3.10", "[tables]") {
  using Numbers = std::vector<double>;
  const std::vector<std::pair<Numbers, Numbers>> robot_1 = {
      {{20, 40, 10}, {1, 0.001, 3}}, {{10, 20, 40}, {3, 2, 1}}, {{30, 10, 30}, {1, 7, 1}}};
  std::vector<std::pair<Numbers, Numbers>> robot_6 = robot_1;
  robot_6.insert(robot_6.end(), {{{10, 50, 10}, {0.001, 1, 0.001}},
                                 {{10, 50, 10}, {3, 1, 3}},
                                 {{20, 40, 10}, {3, 0.001, 1}},
                                 {{10, 40, 20}, {3, 0.001, 1}}});
  const std::vector<std::vector<std::pair<Numbers, Numbers>>> printed = {
      robot_1,
      {{{20, 20, 40, 10, 10}, {1, 1, 0.001, 3, 4}},
       {{10, 10, 20, 40, 20}, {4, 3, 2, 1, 0.001}},
       {{15, 30, 10, 30, 15}, {0.001, 1, 7, 1, 3}}},
      {{{30, 20, 20, 40, 10, 10, 10}, {4, 1, 1, 0.001, 3, 4, 1}},
       {{30, 10, 10, 20, 40, 20, 10}, {1, 4, 3, 2, 1, 0.001, 4}},
       {{20, 15, 30, 10, 30, 15, 20}, {1, 0.001, 1, 7, 1, 3, 1}}},
      {{{10, 30, 20, 20, 40, 10, 10, 10, 30}, {2, 4, 1, 1, 0.001, 3, 4, 1, 3}},
       {{30, 30, 10, 10, 20, 40, 20, 10, 10}, {4, 1, 4, 3, 2, 1, 0.001, 4, 1}},
       {{20, 20, 15, 30, 10, 30, 15, 20, 20}, {4, 1, 0.001, 1, 7, 1, 3, 1, 4}}},
      {robot_6.begin(), robot_6.begin() + 5},
      robot_6};
  for (std::size_t r = 0; r < printed.size(); ++r) {
    const std::string file = fmt::format("models/table_3_10/robot_{}.toml", r + 1);
    CAPTURE(file);
    const std::vector<SectionParameters> sections = source_sections(file);
    REQUIRE(sections.size() == printed[r].size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const auto& [lengths, weights] = printed[r][i];
      CHECK(sections[i].length_weights == lengths);
      CHECK(sections[i].angle_weights == weights);
      CHECK(1e3 * sections[i].length ==
            Approx(std::accumulate(lengths.begin(), lengths.end(), 0.0)));
    }
  }
}

TEST_CASE("tables: table 3.9 has every order of types at every limit once", "[tables]") {
  const Table table = make_table("3.9");
  std::set<std::string> names, groups;
  std::set<std::uint64_t> seeds;
  for (const Row& row : table.rows) {
    names.insert(row.name());
    groups.insert(row.group);
    seeds.insert(row.seed);
  }
  CHECK(names.size() == 540);
  CHECK(seeds.size() == 540);
  CHECK(groups.size() == 27);
}

TEST_CASE("tables: solvers are compared within the limits of a user's robot", "[tables]") {
  const ContinuumRobot robot({{.length = 0.05, .bend_angle_limit = 1.0},
                              {.variable_length = 0.1, .bend_angle_limit = 2.0}},
                             {.feed_limit = 0.5, .spin = true});
  const Table table = compare_solvers("an arm", robot, {.position = 1e-5, .angle = 1e-3});
  REQUIRE(table.rows.size() == 2);
  for (const Row& row : table.rows) {
    const auto& problem = std::get<TipProblem>(row.problem);
    CHECK(row.methods.size() == static_cast<std::size_t>(std::count_if(
                                    solver_infos().begin(), solver_infos().end(),
                                    [](const SolverInfo& info) { return !info.single_section; })));
    std::vector<TipTarget> targets(kBlock);
    draw_targets(problem, row.seed, 0, targets);
    int fed = 0;
    for (const TipTarget& target : targets) {
      const Eigen::Vector3d p = target.position();
      // the nearest point of the feed is within the arm's length
      CHECK((p - Eigen::Vector3d(0, 0, std::clamp(p.z(), 0.0, 0.5))).norm() <= 0.15);
      if (p.z() > 0.15) ++fed;
    }
    CHECK(fed > 50);
  }
  RunOptions options;
  options.own = table;
  options.samples = 200;
  options.threads = 2;
  const RunResult run = run_tables(options);
  REQUIRE(run.tables.size() == 1);
  for (const Record& record : run.tables[0].records) {
    CAPTURE(record.key.row, record.key.method);
    const auto& measurement = std::get<Measurement>(record.result);
    CHECK(measurement.false_claims == 0);
    if (record.key.method == "auto") CHECK(measurement.success() > 0.98);
    if (record.key.method == "chord") CHECK(measurement.success() < 0.2);  // it knows no feed
  }
  const std::string text = tables_text(run);
  CHECK_THAT(text, Contains("position: take ") && Contains("position and direction: take ") &&
                       !Contains("published") && Contains("Iteration limits: each its own."));
  CHECK_THROWS_WITH(compare_solvers("an arm", robot, {.position = 1e-5, .angle = -1.0}),
                    Contains("angle_tolerance = -1 rad, must be > 0"));
}

TEST_CASE("tables: of solvers that succeed alike the fast one is recommended", "[tables]") {
  TableResult result;
  result.table = compare_solvers("an arm", ContinuumRobot({{.length = 0.1}}), {});
  result.table.rows.pop_back();
  result.table.rows[0].methods.resize(4);
  const auto add = [&](std::size_t k, int successes, double time) {
    Record record;
    record.key.row = result.table.rows[0].name();
    record.key.method = result.table.rows[0].methods[k].name;
    Measurement measurement;
    for (int i = 0; i < 1000; ++i)
      measurement.add({.claimed = i < successes, .verified = true, .time = time});
    record.result = measurement;
    result.records.push_back(record);
  };
  add(0, 1000, 21e-6);  // auto: not more than a fifth slower than the fastest, and recommended
  add(1, 999, 100e-6);  // levenberg
  add(2, 998, 20e-6);   // fabrikx: as good within the sampling error
  add(3, 900, 1e-6);    // fails too often
  RunResult run;
  run.tables = {result};
  CHECK_THAT(tables_text(run),
             Contains("position: take auto: 100 %, 99 % of its successes within 21") &&
                 Contains("; as many succeed with fabrikx (") && Contains("levenberg (") &&
                 !Contains("fabrikx-iterative ("));
}

// ---- measuring
// -------------------------------------------------------------------------------------

TEST_CASE("tables: a solution that forward kinematics refutes is counted and is no success",
          "[tables]") {
  const ContinuumRobot robot({{.length = 0.1, .bend_angle_limit = 1.0}});
  const SectionState bent{.theta = 0.5, .phi = 0.3};
  const TipTarget target{.X_BG = test::oracle_tip_pose(robot, {&bent, 1}),
                         .task = TipTask::PositionAndDirection};
  const Tolerances tolerances{.position = 1e-6, .angle = 1e-6};
  const auto claim = [&](SectionState state) {
    Outcome outcome{.claimed = true};
    verify(robot, {&state, 1}, {}, target, tolerances, outcome);
    return outcome;
  };
  Measurement measurement;
  measurement.add(claim(bent));
  CHECK(measurement.successes == 1);
  SectionState wrong = bent;
  wrong.theta += 1e-3;
  measurement.add(claim(wrong));
  CHECK(measurement.false_claims == 1);

  const SectionState exceeding{.theta = 1.1};
  const TipTarget outside{.X_BG = test::oracle_tip_pose(robot, {&exceeding, 1})};
  Outcome outcome{.claimed = true};
  verify(robot, {&exceeding, 1}, {}, outside, tolerances, outcome);
  CHECK(outcome.position_error < 1e-9);
  CHECK_FALSE(outcome.verified);  // right place, above the limit
  CHECK(measurement.samples == 2);
  CHECK(measurement.success() == 0.5);
}

TEST_CASE("tables: quantiles of a histogram are those of the values, to its bins", "[tables]") {
  LogHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(1e-6 * i);
  CHECK(histogram.quantile(0.5) == Approx(500e-6).epsilon(kBinWidth));
  CHECK(histogram.quantile(0.99) == Approx(990e-6).epsilon(kBinWidth));
  CHECK(histogram.quantile(1.0) == Approx(1000e-6).epsilon(kBinWidth));
  CHECK(std::isnan(LogHistogram().quantile(0.5)));
  LogHistogram odd;
  for (const double value : {0.0, 1e300, -1.0}) odd.add(value);
  CHECK(odd.total() == 3);

  CountHistogram counts;
  for (int i = 1; i <= 9; ++i) counts.add(i);
  CHECK(counts.mean() == 5.0);
  CHECK(counts.quantile(0.5) == 5.0);
}

TEST_CASE("tables: the range of each number of iterations is that of its values", "[tables]") {
  RangeByCount ranges, others;
  ranges.add(3, 2e-6);
  ranges.add(3, 5e-6);
  others.add(3, 1e-6);
  others.add(1, 4e-6);
  ranges.merge(others);
  REQUIRE(ranges.ends().size() == 4);
  CHECK((ranges.ends()[3].least == 1e-6 && ranges.ends()[3].most == 5e-6));
  CHECK((ranges.ends()[1].least == 4e-6 && ranges.ends()[1].most == 4e-6));
  CHECK((ranges.ends()[0].empty() && ranges.ends()[2].empty()));
}

TEST_CASE("tables: the sampling interval holds the rate and is sensible at its ends", "[tables]") {
  Measurement m;
  m.samples = 10000;
  m.successes = 9000;
  const Interval middle = success_interval(m);
  // 1.96 sqrt(p (1 - p) / n) = 0.00588 at p = 0.9
  CHECK(middle.low == Approx(0.9 - 0.00588).margin(kWilsonMargin));
  CHECK(middle.high == Approx(0.9 + 0.00588).margin(kWilsonMargin));
  m.successes = 10000;
  CHECK(success_interval(m).high == Approx(1.0));
  CHECK(success_interval(m).low < 1.0);
}

TEST_CASE("tables: a record survives its way through text", "[tables]") {
  const RunResult run = run_tables(quick_options());
  for (const TableResult& table : run.tables) {
    for (const Record& record : table.records)
      CHECK(to_json(record_from_json(Json::parse(to_json(record).dump()))) == to_json(record));
  }
}

TEST_CASE("tables: page, text and JSON show measured along with published", "[tables]") {
  RunOptions options = quick_options();
  options.tables = {"3.6", "article"};
  options.methods = {"fabrikx", "auto"};
  options.samples = 1;
  const RunResult run = run_tables(options);
  const Circumstances circumstances{.command = "tendril tables", .processor = "a processor"};
  const std::string text = tables_text(run);
  CHECK_THAT(text, Contains("Table 3.6") && Contains("94.8") && Contains("16400"));
  const std::string page = tables_markdown(run, circumstances);
  CHECK_THAT(page, Contains("`tendril tables`") && Contains("a processor") && Contains("| 94.8 |"));
  const Json json = Json::parse(tables_json(run, circumstances));
  CHECK(json["tables"][0]["rows"][0]["published"][0]["success_percent"] == 94.8);
  for (const Json& row : json["tables"][0]["rows"]) {  // one target: one number of iterations
    if (row["successes"] == 0) continue;
    const Json& drawn = row["distributions"];
    CHECK(drawn["iterations"].size() == 1);
    CHECK(drawn["iterations"][0][1] == 1);
    CHECK(drawn["times_by_iterations_us"][0][1] == drawn["times_by_iterations_us"][0][2]);
  }
  CHECK(json["tables"][1]["rows"].size() == 30);  // auto alone of the chosen methods
  CHECK(json["tables"][1]["pooled"].size() == 6);
}

TEST_CASE("tables: a coverage row tells apart who reached a cell", "[tables]") {
  constexpr std::int64_t kSamples = 50;
  const Table table = make_table("3.5");
  const Row& row = table.rows[0];
  const auto cell = make_cell(row, row.methods.back(), kSamples, share_row(row, kSamples));
  for (std::int64_t block = 0; block < cell->block_count(); ++block) cell->run_block(block);
  Record record;
  record.result = cell->result();
  const Coverage& coverage = std::get<Coverage>(record.result);
  CHECK(coverage.stride == coverage_stride(kSamples));
  CHECK(coverage.both() + coverage.inverse_only() > 0);
  CHECK(coverage.count('0') > 0);
  REQUIRE(coverage.times.size() == coverage.map.size());
  for (std::size_t k = 0; k < coverage.map.size(); ++k)
    CHECK((coverage.times[k] > 0.0) == (coverage.map[k] == '1' || coverage.map[k] == '2'));
  CHECK(coverage.monte_carlo_only() == 0);
  CHECK(to_json(record_from_json(to_json(record))) == to_json(record));
  CHECK(coverage_stride(1'000'000) == 1);
}

}  // namespace
}  // namespace tendril::tables
