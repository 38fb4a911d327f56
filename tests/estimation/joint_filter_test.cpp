#include "tendril/estimation/joint_filter.hpp"

#include <Eigen/Cholesky>
#include <catch2/catch.hpp>
#include <limits>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/elastic_arms.hpp"

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr JointFilterOptions kOptions{.timestep = 0.004};

/// A normal number of three with this covariance.
Vector3d draw(Random& random, const Matrix3d& covariance) {
  const Vector3d z(normal(random), normal(random), normal(random));
  return Matrix3d(covariance.llt().matrixL()) * z;
}

Matrix3d start_covariance() {
  return Vector3d(kOptions.start_angle, kOptions.start_rate, kOptions.acceleration)
      .cwiseAbs2()
      .asDiagonal();
}

}  // namespace

TEST_CASE("joint filter: the process composes, and its noise adds up", "[estimation]") {
  const double a = 0.013, b = 0.05;
  const Matrix3d Fa = JointFilter::transition(a, kOptions),
                 Fb = JointFilter::transition(b, kOptions);
  CHECK((Fb * Fa).isApprox(JointFilter::transition(a + b, kOptions), 1e-12));
  CHECK((Fa * JointFilter::transition(-a, kOptions)).isApprox(Matrix3d::Identity(), 1e-12));
  const Matrix3d together =
      Fb * JointFilter::noise(a, kOptions) * Fb.transpose() + JointFilter::noise(b, kOptions);
  CHECK(together.isApprox(JointFilter::noise(a + b, kOptions), 1e-6));
  // After a long time the acceleration has its deviation.
  Matrix3d Q = JointFilter::noise(a, kOptions), F = Fa;
  for (int i = 0; i < 10; ++i) {
    Q = F * Q * F.transpose() + Q;
    F = F * F;
  }
  CHECK(std::sqrt(Q(2, 2)) == Approx(kOptions.acceleration));
}

TEST_CASE("joint filter: it is the least squares of all readings", "[estimation]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  constexpr int kSteps = 12;
  constexpr double kDeviation = 2e-3;
  const JointFilter filter({kDeviation}, kOptions);
  std::vector<double> memory(std::size_t(filter.layout().size()));
  const double start = random.uniform(-1.0, 1.0);
  filter.start(memory, std::vector{start});
  // The unknowns are the states of all times; the cost is that of start, process and readings.
  MatrixXd A = MatrixXd::Zero(3 * (kSteps + 1), 3 * (kSteps + 1));
  VectorXd b = VectorXd::Zero(A.rows());
  const Matrix3d F = JointFilter::transition(kOptions.timestep, kOptions);
  const Matrix3d W = JointFilter::noise(kOptions.timestep, kOptions).inverse();
  A.topLeftCorner<3, 3>() = start_covariance().inverse();
  b.head<3>() = A.topLeftCorner<3, 3>() * Vector3d(start, 0.0, 0.0);
  for (int k = 1; k <= kSteps; ++k) {
    MatrixXd J = MatrixXd::Zero(3, A.cols());
    J.block<3, 3>(0, 3 * k) = Matrix3d::Identity();
    J.block<3, 3>(0, 3 * (k - 1)) = -F;
    A += J.transpose() * W * J;
    const bool arrives = k % 3 != 1;
    const double reading = arrives ? start + 0.1 * k + kDeviation * normal(random) : kNone;
    (void)filter.step(memory, std::vector{reading});
    if (!arrives) continue;
    A(3 * k, 3 * k) += 1.0 / (kDeviation * kDeviation);
    b[3 * k] += reading / (kDeviation * kDeviation);
  }
  const MatrixXd covariance = A.inverse();
  const Vector3d expected = (covariance * b).tail<3>();
  CHECK((filter.state(memory, 0) - expected).norm() < 1e-6 * expected.norm());
  CHECK(filter.covariance(memory, 0).isApprox(covariance.bottomRightCorner<3, 3>(), 1e-6));
}

TEST_CASE("joint filter: errors are as large as it says", "[estimation]") {
  double errors = 0.0, innovations = 0.0;
  int count = 0, readings = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const double deviation = seed % 2 == 0 ? 1e-4 : 3e-3;
    const JointFilter filter({deviation}, kOptions);
    std::vector<double> memory(std::size_t(filter.layout().size()));
    filter.start(memory, std::vector{0.3});
    Vector3d x = Vector3d(0.3, 0.0, 0.0) + draw(random, start_covariance());
    for (int k = 1; k <= 100; ++k) {
      x = JointFilter::transition(kOptions.timestep, kOptions) * x +
          draw(random, JointFilter::noise(kOptions.timestep, kOptions));
      const bool arrives = k % 4 != 3;
      readings += arrives ? 1 : 0;
      innovations +=
          filter.step(memory, std::vector{arrives ? x[0] + deviation * normal(random) : kNone});
    }
    const Vector3d error = filter.state(memory, 0) - x;
    errors += error.dot(filter.covariance(memory, 0).llt().solve(error));
    count += 3;
  }
  // 99.9 % of a chi-squared number with many degrees of freedom.
  CHECK(std::abs(errors - count) < 3.3 * std::sqrt(2.0 * count));
  CHECK(std::abs(innovations - readings) < 3.3 * std::sqrt(2.0 * readings));
}

TEST_CASE("joint filter: a lost encoder leaves the others and a growing covariance",
          "[estimation]") {
  const JointFilter filter({1e-4, 1e-4}, kOptions);
  std::vector<double> memory(std::size_t(filter.layout().size()));
  filter.start(memory, std::vector{0.0, 0.0});
  double last = 0.0;
  for (int k = 1; k <= 200; ++k) {
    const double t = kOptions.timestep * k, angle = 0.5 * std::sin(5.0 * t);
    (void)filter.step(memory, std::vector{angle, k <= 100 ? angle : kNone});
    if (k <= 100) continue;
    CHECK(std::abs(filter.state(memory, 0)[0] - angle) < 1e-3);
    CHECK(filter.covariance(memory, 1)(0, 0) > last);
    last = filter.covariance(memory, 1)(0, 0);
  }
  CHECK(last > 1e4 * filter.covariance(memory, 0)(0, 0));
}

TEST_CASE("joint filter: a step allocates nothing, wrong options are refused", "[estimation]") {
  const JointFilter filter(std::vector<double>(16, 1e-3), kOptions);
  std::vector<double> memory(std::size_t(filter.layout().size())), angles(16, 0.1);
  {
    const AllocationCounter counter;
    filter.start(memory, angles);
    for (int k = 0; k < 10; ++k) (void)filter.step(memory, angles);
    CHECK(counter.count() == 0);
  }
  CHECK_THROWS_WITH(JointFilter({1e-3, 0.0}), Catch::Contains("deviation of joint 2"));
  CHECK_THROWS_WITH(JointFilter({1e-3}, {.acceleration_time = 0.0}),
                    Catch::Contains("acceleration_time"));
}
