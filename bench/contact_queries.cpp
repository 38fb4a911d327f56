#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "tendril/rod/spatial_planner.hpp"
#include "tests/support/contact_queries.hpp"

using namespace tendril;

static double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 75;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const int budget = argc > 3 ? std::atoi(argv[3]) : 4000;
  std::vector<double> all;
  const int only = argc > 4 ? std::atoi(argv[4]) : -1;
  for (int sections = 1; sections <= 3; ++sections) {
    int reached = 0, contact = 0, free_arcs = 0, free_reached = 0, ends = 0;
    std::vector<double> times;
    for (int i = sections - 1; i < count; i += 3) {
      if (only >= 0 && i + static_cast<int>(first) != only) continue;
      const test::ContactQuery query = test::contact_query(first + static_cast<std::uint64_t>(i), sections, i % 2 == 1);
      SpatialPlanner planner(query.body, query.obstacles, {.max_equilibria = budget});
      const double begin = cpu_ms();
      const SpatialPlan plan = planner.plan(query.target);
      const double ms = cpu_ms() - begin;
      times.push_back(ms);
      all.push_back(ms);
      reached += plan.reached();
      free_arcs += query.arc_is_free;
      free_reached += query.arc_is_free && plan.reached();
      contact += query.witness_contacts > 0;
      ends += plan.reached() && plan.poses.back().contacts > 0;
      if (!plan.reached())
        std::printf("  seed %d: %s error %.1f mm, %d eq, %.1f ms, witness contacts %d L %.2f\n", i + static_cast<int>(first),
                    to_string(plan.status), 1e3 * plan.tip_error, plan.equilibria, ms, query.witness_contacts, query.witness[query.witness.size()-1]);
    }
    if (times.empty()) continue;
    std::sort(times.begin(), times.end());
    std::printf("%d sections: %d of %zu, free arc %d of %d, witness in contact %d, plan ends in contact %d, p50 %.1f ms p90 %.1f p99 %.1f max %.1f\n", sections,
                reached, times.size(), free_reached, free_arcs, contact, ends, times[times.size() / 2],times[times.size()*9/10],
                times[times.size() * 99 / 100], times.back());
  }
  std::sort(all.begin(), all.end());
  std::printf("all: p50 %.1f p99 %.1f\n", all[all.size() / 2], all[all.size() * 99 / 100]);
}
