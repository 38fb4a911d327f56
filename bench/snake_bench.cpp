// Snakes on curves: cost of a march in units (one unit: a 6x6 LLT solve by Eigen in the same run),
// and statistics over many samples. docs/results/benchmarks.md, "Snakes on curves".
//
//   build/bench/bin/snake_bench

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "bench/unit.hpp"
#include "tendril/snake/growing_path.hpp"
#include "tendril/snake/march_start.hpp"
#include "tendril/snake/snake_fit.hpp"
#include "tests/snake/snake_cases.hpp"
#include "tests/support/random.hpp"

namespace {

using namespace tendril;
using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using test::MarchArrays;

constexpr double kLink = 0.07;  // [m]

/// Calls `use(curve, name)` with the curve of this number, at least as long as `length`.
template <class Use>
void with_curve(std::int64_t number, double length, const Use& use) {
  switch (number) {
    case 0:
      return use(Helix(0.25, 0.3, length), "helix");
    case 1:
      return use(SineCurve(0.08, 0.9, 0.07, 0.8, length), "sine");
    case 2:
      return use(ConicalSpiral(0.2, 0.02, 0.05, length / 0.2), "spiral");
    case 3: {
      test::Random random(7);
      return use(test::random_spline(random, static_cast<int>(length / 0.2) + 6, 0.22, 0.35),
                 "spline");
    }
    default: {
      std::vector<double> memory(static_cast<std::size_t>(GrowingPath::memory_size(1000)));
      GrowingPath path(memory, {});
      path.start({-0.1, 0, 0}, {1, 0, 0}, 0.1);
      const SineCurve sine(0.08, 0.9, 0.07, 0.8, length);
      for (double s = 0.02; s < length; s += 0.02) path.append(sine.at(s).position);
      return use(path.view(), "growing path");
    }
  }
}

/// Arguments: curve, modules, 0 from the base or 1 from the head, 0 Newton or 1 false position.
void march(benchmark::State& state) {
  const SnakeChain chain = SnakeChain::uniform(static_cast<int>(state.range(1)), kLink);
  const bool from_head = state.range(2) == 1;
  const MarchOptions options{.method = state.range(3) == 0 ? RootMethod::Newton
                                                           : RootMethod::FalsePosition};
  with_curve(state.range(0), chain.length() * 1.15 + 0.2, [&](const auto& curve, const char* name) {
    MarchArrays arrays(chain);
    const double span = curve.end() - curve.begin();
    const double s = from_head ? curve.end() - 0.02 * span : curve.begin() + 0.03 * span;
    const MarchStart start = choose_start(
        chain, curve, s, from_head ? MarchDirection::HeadToBase : MarchDirection::BaseToHead,
        Vector3d::UnitZ(), arrays.memory());
    MarchResult result;
    const double unit_before = unit_seconds(), begin = cpu_seconds();
    for (auto _ : state) {
      result = from_head ? march_from_head(chain, curve, s, start.R, arrays.memory(), options)
                         : march_from_base(chain, curve, s, start.R, arrays.memory(), options);
      benchmark::DoNotOptimize(result);
    }
    const double seconds = (cpu_seconds() - begin) / static_cast<double>(state.iterations());
    const double unit = 0.5 * (unit_before + unit_seconds());
    const CurveDeviation off =
        curve_deviation(chain, curve, result.X_WB, arrays.angles, arrays.parameters);
    state.SetLabel(name);
    state.counters["ok"] = result.ok() ? 1.0 : 0.0;
    state.counters["units/joint"] = seconds / unit / chain.joint_count();
    state.counters["evals/module"] = static_cast<double>(result.iterations) / chain.module_count();
    state.counters["evals_max"] = result.largest_iterations;
    state.counters["even_m"] = off.even;
    state.counters["odd_mm"] = 1e3 * off.odd;
  });
}
BENCHMARK(march)
    ->ArgNames({"curve", "modules", "head", "regula"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {8, 12, 40}, {0, 1}, {0}})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {12}, {0}, {1}})
    ->Unit(benchmark::kMicrosecond)
    ->MinTime(0.02);

/// Arguments: curve, modules.
void fit(benchmark::State& state) {
  const SnakeChain chain = SnakeChain::uniform(static_cast<int>(state.range(1)), kLink);
  with_curve(state.range(0), chain.length() * 1.15 + 0.2, [&](const auto& curve, const char* name) {
    MarchArrays arrays(chain);
    const MarchStart start =
        choose_start(chain, curve, curve.begin() + 0.03 * (curve.end() - curve.begin()),
                     MarchDirection::BaseToHead, Vector3d::UnitZ(), arrays.memory());
    const MarchArrays marched = arrays;
    SnakeFit fitter(chain);
    SnakeFitResult result;
    for (auto _ : state) {
      arrays = marched;
      result = fitter.fit(curve, start.march.X_WB, arrays.angles, arrays.parameters);
    }
    state.SetLabel(name);
    state.counters["iterations"] = result.iterations;
    state.counters["odd_before_mm"] = 1e3 * result.before.odd;
    state.counters["odd_mm"] = 1e3 * result.after.odd;
    state.counters["even_mm"] = 1e3 * result.after.even;
    state.counters["rms_before_mm"] = 1e3 * result.before.rms;
    state.counters["rms_mm"] = 1e3 * result.after.rms;
  });
}
BENCHMARK(fit)
    ->ArgNames({"curve", "modules"})
    ->ArgsProduct({{0, 1, 2, 3}, {8, 12, 40}})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.01);

/// 1e5 chains of 1 to 12 modules with unequal links: angles to points and back. Links in
/// [0.05, 0.1] m, angles in +-1.4 rad. Argument 1: by the frames of the modules instead, with
/// links in [0.02, 0.2] m and angles up to +-1.57 rad.
void random_chains(benchmark::State& state) {
  const bool by_frames = state.range(0) == 1;
  double worst = 0.0, gap = 0.0;
  for (auto _ : state) {
    test::Random random(1);
    for (int i = 0; i < 100000; ++i) {
      const SnakeChain chain = test::random_chain(random, random.integer(1, 12),
                                                  by_frames ? 0.02 : 0.05, by_frames ? 0.2 : 0.1);
      const double largest = by_frames ? 1.57 : 1.4;
      std::vector<double> angles, found(static_cast<std::size_t>(chain.joint_count()));
      for (std::size_t j = 0; j < found.size(); ++j)
        angles.push_back(random.uniform(-largest, largest));
      Isometry3d X_WB = Isometry3d::Identity();
      X_WB.linear() = Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
      X_WB.translation() = random.unit_vector();
      if (by_frames) {
        std::vector<Isometry3d> X_WL(angles.size() + 1);
        snake_frames(chain, X_WB, angles, X_WL);
        for (std::size_t j = 2; j < X_WL.size(); j += 2) {
          const Vector3d D = X_WL[j - 2].linear().transpose() *
                             (X_WL[j].translation() - X_WL[j - 2].translation());
          const int k = static_cast<int>(j);
          const ModuleAngles module =
              module_angles(D, chain.link_length(k - 1), chain.link_length(k));
          found[j - 2] = module.yaw;
          found[j - 1] = module.pitch;
          gap = std::max(gap, std::abs(module.gap));
        }
      } else {
        std::vector<Vector3d> p(angles.size() + 1), even;
        snake_points(chain, X_WB, angles, p);
        for (std::size_t j = 0; j < p.size(); j += 2) even.push_back(p[j]);
        gap = std::max(gap, angles_from_even_points(chain, X_WB.linear(), even, found));
      }
      for (std::size_t j = 0; j < found.size(); ++j)
        worst = std::max(worst, std::abs(found[j] - angles[j]));
    }
  }
  state.counters["worst_rad"] = worst;
  state.counters["gap_m"] = gap;
}
BENCHMARK(random_chains)
    ->ArgName("frames")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

/// 1e5 random splines of various curvatures, unequal links, 6 modules: the march compared with a
/// dense search along the curve with the printed torus equation. Argument: 0 Newton, 1 false
/// position.
void random_splines(benchmark::State& state) {
  const RootMethod method = state.range(0) == 0 ? RootMethod::Newton : RootMethod::FalsePosition;
  constexpr int kSplines = 100000, kSteps = 200;
  int fine = 0, refused = 0, status = 0, other = 0, most = 0;
  double iterations = 0.0, worst = 0.0;
  for (auto _ : state) {
    for (unsigned seed = 0; seed < kSplines; ++seed) {
      test::Random random(seed);
      const double turn = random.uniform(0.1, 1.8);
      const SnakeChain chain = test::random_chain(random, 6, 0.05, 0.09);
      const CubicSpline curve = test::random_spline(random, 8, 0.17, turn);
      const Matrix3d R = tangent_frame(curve.at(0.0).first, random.unit_vector());
      const test::DenseMarch expected = test::dense_march(chain, curve, 0.0, R, kSteps);
      MarchArrays arrays(chain);
      const MarchResult result =
          march_from_base(chain, curve, 0.0, R, arrays.memory(), {.method = method});
      if (result.status != expected.status || result.module != expected.module) {
        ++status;
        continue;
      }
      double off = 0.0;
      for (std::size_t k = 0; k < expected.parameters.size(); ++k)
        off = std::max(off, std::abs(arrays.parameters[k] - expected.parameters[k]));
      if (off > 1e-6) ++other;
      worst = std::max(worst, off);
      if (result.ok()) {
        ++fine;
        iterations += result.iterations / 6.0;
        most = std::max(most, result.largest_iterations);
      } else {
        ++refused;
      }
    }
  }
  state.counters["feasible"] = fine;
  state.counters["infeasible"] = refused;
  state.counters["other_status"] = status;
  state.counters["other_intersection"] = other;
  state.counters["worst_ds"] = worst;
  state.counters["evals/module"] = iterations / std::max(1, fine);
  state.counters["evals_max"] = most;
}
BENCHMARK(random_splines)
    ->ArgName("regula")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
