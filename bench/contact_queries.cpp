// Plans with contact in space on random queries, each plan checked independently.
//
//   build/bench/bin/contact_queries [QUERIES] [FIRST SEED]
//
// The whole table of docs/results/benchmarks.md: 525 queries from seed 10001 on.

#include "tests/support/contact_queries.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "tendril/rod/spatial_planner.hpp"

namespace {

using namespace tendril;

constexpr std::array kBodies{"one section, fed", "two sections, fed", "three sections, clamped"};
// What a plan may have at most; docs/guide/plan_contact.md.
constexpr double kTip = 1.01e-4, kPenetration = 0.0, kImbalance = 1e-4, kLimits = 1e-9;

/// CPU time of this thread [ms]: other programs do not count.
double thread_time_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// One row of the table.
struct Row {
  int queries = 0, valid = 0, braced = 0, braced_valid = 0, end_in_contact = 0;
  std::vector<double> times, coarse;

  void add(const Row& row) {
    queries += row.queries;
    valid += row.valid;
    braced += row.braced;
    braced_valid += row.braced_valid;
    end_in_contact += row.end_in_contact;
    times.insert(times.end(), row.times.begin(), row.times.end());
    coarse.insert(coarse.end(), row.coarse.begin(), row.coarse.end());
  }
};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

Row measure(std::uint64_t seed, int sections, bool braced) {
  const test::ContactQuery query = test::contact_query(seed, sections, braced);
  SpatialPlanner planner(query.body, query.obstacles);
  const double begin = thread_time_ms();
  const SpatialPlan plan = planner.plan(query.target);
  Row row;
  row.queries = 1;
  row.braced = braced;
  row.times.push_back(thread_time_ms() - begin);
  if (!plan.reached()) {
    std::printf("# seed %d: %s, tip error %.2f mm\n", static_cast<int>(seed),
                to_string(plan.status), 1e3 * plan.tip_error);
    return row;
  }
  const test::PlanErrors errors = test::plan_errors(query, plan, planner.rod());
  row.valid = errors.tip <= kTip && errors.penetration <= kPenetration &&
              errors.imbalance <= kImbalance && errors.limits <= kLimits;
  if (row.valid == 0)
    std::printf("# seed %d: refused: tip %g m, penetration %g m, imbalance %g 1/m, limits %g\n",
                static_cast<int>(seed), errors.tip, errors.penetration, errors.imbalance,
                errors.limits);
  row.braced_valid = braced ? row.valid : 0;
  row.end_in_contact = plan.poses.back().contacts > 0;
  row.coarse.push_back(errors.coarse);
  return row;
}

void print(const char* name, const Row& row) {
  std::printf("| %s | %d of %d | %d of %d | %d | %.1f, %.1f, %.1f | %.2f, %.1f |\n", name,
              row.valid, row.queries, row.braced_valid, row.braced, row.end_in_contact,
              quantile(row.times, 0.5), quantile(row.times, 0.99), quantile(row.times, 1.0),
              1e3 * quantile(row.coarse, 0.5), 1e3 * quantile(row.coarse, 0.9));
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 30;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10001;
  std::array<Row, kBodies.size()> rows;
  for (int i = 0; i < count; ++i) {
    const int sections = i % static_cast<int>(kBodies.size()) + 1;
    rows[static_cast<std::size_t>(sections - 1)].add(
        measure(first + static_cast<std::uint64_t>(i), sections, i % 2 == 1));
  }
  std::printf(
      "| body | valid plans | of these braced | end in contact | ms: median, p99, most | "
      "finer model, mm: median, p90 |\n|---|---|---|---|---|---|\n");
  Row all;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    print(kBodies[k], rows[k]);
    all.add(rows[k]);
  }
  print("all", all);
}
