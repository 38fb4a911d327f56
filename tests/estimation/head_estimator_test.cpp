#include "tendril/estimation/head_estimator.hpp"

#include <Eigen/Cholesky>
#include <catch2/catch.hpp>
#include <numbers>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/elastic_arms.hpp"

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kStep = 0.002;

/// A head that swings about three axes and moves on a curve in space. Its angular velocity and its
/// acceleration follow from the angles and their rates, not from the estimator's integration.
class SwingingHead {
 public:
  explicit SwingingHead(Random& random) {
    for (int i = 0; i < 3; ++i) {
      angle_[i] = random.uniform(0.1, 0.5);
      frequency_[i] = random.uniform(2.0, 7.0);
      size_[i] = random.uniform(0.05, 0.2);
    }
  }
  [[nodiscard]] Matrix3d R(double t) const {
    return (Eigen::AngleAxisd(angle(2, t), Vector3d::UnitZ()) *
            Eigen::AngleAxisd(angle(1, t), Vector3d::UnitY()) *
            Eigen::AngleAxisd(angle(0, t), Vector3d::UnitX()))
        .toRotationMatrix();
  }
  [[nodiscard]] Vector3d p(double t) const {
    return each([&](int i) { return size_[i] * (1.0 - std::cos(frequency_[i] * t)); });
  }
  [[nodiscard]] Vector3d v(double t) const {
    return each([&](int i) { return size_[i] * frequency_[i] * std::sin(frequency_[i] * t); });
  }
  [[nodiscard]] ImuSample sample(double t, const Vector3d& gravity) const {
    // Rates of the angles about the axes that they turn about.
    const Matrix3d Rx = Eigen::AngleAxisd(angle(0, t), Vector3d::UnitX()).toRotationMatrix();
    const Matrix3d Ry = Eigen::AngleAxisd(angle(1, t), Vector3d::UnitY()).toRotationMatrix();
    const Vector3d rate = rate_of(0, t) * Vector3d::UnitX() +
                          Rx.transpose() * (rate_of(1, t) * Vector3d::UnitY() +
                                            Ry.transpose() * (rate_of(2, t) * Vector3d::UnitZ()));
    const Vector3d a = each([&](int i) {
      return size_[i] * frequency_[i] * frequency_[i] * std::cos(frequency_[i] * t);
    });
    return {rate, R(t).transpose() * (a - gravity)};
  }

 private:
  [[nodiscard]] double angle(int i, double t) const {
    return angle_[i] * (1.0 - std::cos(frequency_[i] * t));
  }
  [[nodiscard]] double rate_of(int i, double t) const {
    return angle_[i] * frequency_[i] * std::sin(frequency_[i] * t);
  }
  template <class F>
  [[nodiscard]] static Vector3d each(F of) {
    return {of(0), of(1), of(2)};
  }
  double angle_[3], frequency_[3], size_[3];
};

Isometry3d pose(const Matrix3d& R, const Vector3d& p) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = R;
  X.translation() = p;
  return X;
}

}  // namespace

TEST_CASE("head estimator: with exact samples it is where the head is", "[estimation]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const SwingingHead head(random);
  const HeadEstimatorOptions options;
  const HeadEstimator estimator(options, kStep);
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  estimator.start(memory, pose(head.R(0.0), head.p(0.0)));
  double turned = 0.0, moved = 0.0;
  for (int k = 1; k <= 2000; ++k) {
    const double t = kStep * k;
    const ImuSample sample = head.sample(t, options.gravity);
    // Every third sample is lost: the state waits for the next one.
    const double advanced = estimator.step(memory, k % 3 == 0 ? nullptr : &sample);
    CHECK(advanced == (k % 3 == 0 ? 0.0 : k % 3 == 1 && k > 1 ? 2.0 * kStep : kStep));
    if (advanced == 0.0) continue;
    estimator.correct_velocity(memory, head.v(t).head<2>(), 1e-3);
    estimator.correct_height(memory, head.p(t).z(), 1e-3);
    turned = std::max(turned, rotation_angle(head.R(t), estimator.orientation(memory)));
    moved = std::max(moved, (estimator.velocity(memory) - head.v(t)).norm());
  }
  // The estimate begins with a sample of rest: half a step of 0.5 * 7^2 rad/s^2 and of
  // 0.2 * 7^2 m/s^2 is missing, 0.05 mrad and 10 mm/s. Integration is of second order in 4 ms.
  CHECK(turned < 2e-3);
  CHECK(moved < 1e-2);
}

TEST_CASE("head estimator: errors are as large as it says", "[estimation]") {
  double errors = 0.0, orientations = 0.0;
  int count = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const SwingingHead head(random);
    const HeadEstimatorOptions options{.rate_noise = 0.05,
                                       .force_noise = 0.5,
                                       .bias_drift = 1e-3,
                                       .start_angle = 0.02,
                                       .start_velocity = 0.05,
                                       .start_position = 0.01,
                                       .start_bias = 0.02};
    const HeadEstimator estimator(options, kStep);
    std::vector<double> memory(std::size_t(estimator.layout().size()));
    const auto normals = [&] { return Vector3d(normal(random), normal(random), normal(random)); };
    // Seen from a frame that moves along, so that the head starts at rest for the estimator.
    const Vector3d v0 = options.start_velocity * normals();
    const Matrix3d R0 = rotation_by(options.start_angle * normals()).transpose() * head.R(0.0);
    estimator.start(memory, pose(R0, head.p(0.0) + options.start_position * normals()));
    Vector3d bias = options.start_bias * normals();
    for (int k = 1; k <= 1000; ++k) {
      const double t = kStep * k;
      ImuSample sample = head.sample(t, options.gravity);
      bias += options.bias_drift * std::sqrt(kStep) * normals();
      sample.rate += bias + options.rate_noise * normals();
      sample.force += options.force_noise * normals();
      (void)estimator.step(memory, &sample);
      const Vector3d v = head.v(t) - v0;
      // A velocity in the frame of the estimate, whose heading is wrong.
      const Matrix3d wrong = estimator.orientation(memory) * head.R(t).transpose();
      const double heading = std::atan2(wrong(1, 0) - wrong(0, 1), wrong(0, 0) + wrong(1, 1));
      const Vector2d seen = (Eigen::Rotation2Dd(heading) * v.head<2>()).eval();
      estimator.correct_velocity(memory, seen + 0.1 * Vector2d(normal(random), normal(random)),
                                 0.1);
    }
    const double t = 1000 * kStep;
    Eigen::Matrix<double, 12, 1> error;
    error << rotation_vector(head.R(t) * estimator.orientation(memory).transpose()),
        head.v(t) - v0 - estimator.velocity(memory),
        head.p(t) - v0 * t - estimator.position(memory), bias - estimator.bias(memory);
    const HeadEstimator::Covariance P = estimator.covariance(memory);
    errors += error.dot(P.llt().solve(error));
    orientations +=
        error.head<3>().dot(Matrix3d(P.topLeftCorner<3, 3>()).llt().solve(error.head<3>()));
    ++count;
  }
  CAPTURE(errors, orientations);
  // 99.9 % of a chi-squared number with many degrees of freedom.
  CHECK(std::abs(errors - 12 * count) < 3.3 * std::sqrt(2.0 * 12 * count));
  CHECK(std::abs(orientations - 3 * count) < 3.3 * std::sqrt(2.0 * 3 * count));
}

TEST_CASE("head estimator: gravity tells the tilt, nothing the heading", "[estimation]") {
  const HeadEstimatorOptions options{.start_angle = 0.02};
  const HeadEstimator estimator(options, kStep);
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  const Matrix3d truth = rotation_by({0.3, -0.2, 0.5});
  estimator.start(memory, pose(rotation_by({0.01, -0.015, 0.012}) * truth, Vector3d::Zero()));
  const ImuSample still{Vector3d::Zero(), truth.transpose() * -options.gravity};
  for (int k = 0; k < 2000; ++k) {
    (void)estimator.step(memory, &still);
    estimator.correct_velocity(memory, Vector2d::Zero(), 0.01);
  }
  const Vector3d error = rotation_vector(truth * estimator.orientation(memory).transpose());
  CHECK(error.head<2>().norm() < 2e-3);
  CHECK(std::abs(error.z()) > 0.01);
  const HeadEstimator::Covariance P = estimator.covariance(memory);
  CHECK(P(0, 0) < 1e-5);
  CHECK(P(1, 1) < 1e-5);
  CHECK(P(2, 2) > 0.99 * 0.02 * 0.02);
  CHECK(P(6, 6) > options.start_position * options.start_position);
}

TEST_CASE("head estimator: a turned world turns the estimate", "[estimation]") {
  Random random(3);
  const SwingingHead head(random);
  const HeadEstimatorOptions options;
  const HeadEstimator estimator(options, kStep);
  const Matrix3d turn = rotation_by({0.0, 0.0, 1.1});
  std::vector<double> memory(std::size_t(estimator.layout().size())), other(memory.size());
  estimator.start(memory, pose(head.R(0.0), head.p(0.0)));
  estimator.start(other, pose(turn * head.R(0.0), turn * head.p(0.0)));
  for (int k = 1; k <= 300; ++k) {
    const ImuSample sample = head.sample(kStep * k, options.gravity);
    const Vector3d v = head.v(kStep * k);
    (void)estimator.step(memory, &sample);
    (void)estimator.step(other, &sample);
    estimator.correct_velocity(memory, v.head<2>(), 0.05);
    estimator.correct_velocity(other, Vector3d(turn * v).head<2>(), 0.05);
  }
  CHECK((turn * estimator.orientation(memory)).isApprox(estimator.orientation(other), 1e-9));
  CHECK((turn * estimator.position(memory)).isApprox(estimator.position(other), 1e-9));
}

TEST_CASE("head estimator: a lost unit leaves the head as it is and less and less sure",
          "[estimation]") {
  const HeadEstimatorOptions options;
  const HeadEstimator estimator(options, kStep);
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  estimator.start(memory, Isometry3d::Identity());
  const ImuSample turning{{0.0, 0.0, 0.5}, -options.gravity};
  for (int k = 0; k < 500; ++k) (void)estimator.step(memory, &turning);
  const Matrix3d last = estimator.orientation(memory);
  double before = estimator.covariance(memory)(2, 2), advanced = 0.0;
  for (int k = 0; k < 500; ++k) {
    advanced += estimator.step(memory, nullptr);
    estimator.correct_velocity(memory, Vector2d::Zero(), 0.05);
    CHECK(estimator.has_unit(memory) == (kStep * (k + 1) < options.lost_after));
    if (estimator.has_unit(memory)) continue;
    CHECK(estimator.covariance(memory)(2, 2) > before);
    before = estimator.covariance(memory)(2, 2);
  }
  CHECK(advanced == Approx(500 * kStep));
  CHECK(rotation_angle(last, estimator.orientation(memory)) < 0.02);
  CHECK(estimator.covariance(memory)(2, 2) > 0.3 * 0.3);
  CHECK(estimator.covariance(memory).allFinite());
  (void)estimator.step(memory, &turning);
  CHECK(estimator.has_unit(memory));
  CHECK(estimator.angular_velocity(memory).z() == Approx(0.5).margin(0.05));
}

TEST_CASE("head estimator: a step allocates nothing, wrong options are refused", "[estimation]") {
  const HeadEstimator estimator({}, kStep);
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  estimator.start(memory, Isometry3d::Identity());
  const ImuSample sample;
  {
    const AllocationCounter counter;
    for (int k = 0; k < 10; ++k) {
      (void)estimator.step(memory, &sample);
      estimator.correct_velocity(memory, {0.1, 0.0}, 0.01);
      estimator.correct_height(memory, 0.0, 0.01);
    }
    CHECK(counter.count() == 0);
  }
  CHECK_THROWS_WITH(HeadEstimator({.rate_noise = -1.0}, kStep), Catch::Contains("rate_noise"));
  CHECK_THROWS_WITH(HeadEstimator({}, 0.0), Catch::Contains("timestep"));
}
