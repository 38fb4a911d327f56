#include "tendril/estimation/contact_estimator.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/contact_run.hpp"

using Eigen::Vector3d;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

/// An arm whose shape is known, with a payload, that something touches at one of the places.
class TouchedArm {
 public:
  TouchedArm(unsigned seed, const ContactEstimatorOptions& options, int places)
      : random_(seed),
        options_(options),
        arm_(random_elastic_arm(random_, 1 + int(seed) % 4)),
        estimator(arm_, ContactEstimator::along(arm_.robot(), places), options),
        memory(std::size_t(estimator.layout().size())),
        payload(options.payload_deviation * normal(random_)),
        place(random_.integer(0, places - 1)) {
    estimator.start(memory);
    for (Eigen::Index k = 0; k < arm_.coordinate_count(); ++k) phase_.push_back(random_.angle());
  }

  void begin() { force = options_.start_force * Vector3d(normal_vector(random_, 3)); }
  void end() { force.setZero(); }

  /// Moves, with a force that walks if there is one, and reads the wrench with noise.
  void step() {
    time_ += options_.timestep;
    if (!force.isZero(0.0))
      force += options_.force_noise * std::sqrt(options_.timestep) * normal_vector(random_, 3);
    VectorXd q = arm_.rest();
    for (Eigen::Index k = 0; k < q.size(); ++k)
      q[k] += 0.3 * (arm_.scale()[k] == 1.0 ? 1.0 : 0.05 * arm_.scale()[k]) *
              std::sin(2.0 * time_ + phase_[std::size_t(k)]);
    const BaseState base{0.02 * time_, 0.0};
    Vector3d sum = Vector3d::Zero(), moment = Vector3d::Zero();
    const auto add = [&](const BodyPlace& at, const Vector3d& weight) {
      Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian(6, q.size());
      sum += weight;
      moment += arm_.pose(q, base, at, jacobian).translation().cross(weight);
    };
    for (const ElasticArm::MassPoint& point : arm_.masses())
      add(point.place, point.mass * arm_.parameters().gravity);
    add({}, payload * arm_.parameters().gravity);
    add(estimator.places()[std::size_t(place)], force);
    estimator.step(memory, q, base, sum + options_.force_deviation * normal_vector(random_, 3),
                   moment + options_.moment_deviation * normal_vector(random_, 3));
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  /// Tells whether the estimate has the place within four of its deviations.
  [[nodiscard]] bool is_placed() const {
    double length = 0.0;
    for (int i = 0; i < arm_.robot().section_count(); ++i) {
      const Section& section = arm_.robot().section(i);
      length += section.length() + section.variable_length() / 2.0;
    }
    const double true_place = (place + 0.5) / double(estimator.places().size()) * length;
    const ContactEstimate estimate = estimator.estimate(memory);
    return std::abs(estimate.place - true_place) < 4.0 * estimate.place_deviation;
  }

 private:
  Random random_;
  ContactEstimatorOptions options_;
  ElasticArm arm_;
  std::vector<double> phase_;
  double time_ = 0.0;

 public:
  ContactEstimator estimator;
  std::vector<double> memory;
  double payload;
  int place;
  Vector3d force = Vector3d::Zero();
};

/// 99.9 % of a sum of independent numbers of this variance are within this of its mean.
double sum_bound(double variance) { return 3.3 * std::sqrt(variance); }

}  // namespace

TEST_CASE("contact estimator: errors are as large as it says, and places as likely",
          "[estimation]") {
  // Readings that leave the place open: several places share the probability.
  constexpr int kPlaces = 16;
  const ContactEstimatorOptions options{
      .force_deviation = 0.1, .moment_deviation = 0.03, .sliding = 0.0};
  double force = 0.0, payload = 0.0, right = 0.0, right_variance = 0.0, largest = 0.0;
  int touched = 0;
  constexpr int kSeeds = 200;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    TouchedArm arm(seed, options, kPlaces);
    arm.steps(40);
    arm.begin();
    arm.steps(20);
    const ContactEstimate estimate = arm.estimator.estimate(arm.memory);
    payload += std::pow((estimate.payload - arm.payload) / estimate.payload_deviation, 2);
    if (estimate.probability < 0.99) continue;  // of small forces
    ++touched;
    const Vector3d error = estimate.force - arm.force;
    force += error.dot(estimate.force_covariance.llt().solve(error));
    // The probability of the true place is on average the sum of the squares of all.
    std::vector<double> p(kPlaces);
    arm.estimator.probabilities(arm.memory, p);
    double second = 0.0, third = 0.0;
    for (const double each : p) {
      second += each * each;
      third += each * each * each;
    }
    right += p[std::size_t(arm.place)] - second;
    right_variance += third - second * second;
    largest += *std::ranges::max_element(p);
  }
  CAPTURE(touched, force, payload, right, right_variance, largest);
  CHECK(touched > kSeeds * 9 / 10);
  CHECK(largest / touched < 0.8);
  CHECK(std::abs(force - 3.0 * touched) < sum_bound(6.0 * touched));
  CHECK(std::abs(payload - kSeeds) < sum_bound(2.0 * kSeeds));
  CHECK(std::abs(right) < sum_bound(right_variance));
}

TEST_CASE("contact estimator: of one place it is the least squares of all readings",
          "[estimation]") {
  // A force that has begun, does not walk and does not end, and the payload.
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ElasticArm arm = random_elastic_arm(random, 2);
  ContactEstimatorOptions options{.force_noise = 0.0, .contact_rate = 1e-9};
  ContactEstimator estimator(arm, {{1, 0.4}}, options);
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  estimator.start(memory);
  Eigen::Matrix4d normal_matrix = Eigen::Matrix4d::Zero();
  normal_matrix.diagonal() << 1.0, 1.0, 1.0, 1.0 / std::pow(options.payload_deviation, 2);
  Eigen::Vector4d gradient = Eigen::Vector4d::Zero();
  const Vector3d g = arm.parameters().gravity, force = 3.0 * random.unit_vector();
  ElasticArm body = arm;
  for (int i = 0; i < 30; ++i) {
    const VectorXd q = random_state(random, arm).head(arm.coordinate_count());
    const auto at = [&](const BodyPlace& place) -> Vector3d {
      Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian(6, q.size());
      return body.pose(q, {}, place, jacobian).translation();
    };
    Vector3d F = Vector3d::Zero(), M = Vector3d::Zero();
    for (const ElasticArm::MassPoint& point : arm.masses()) {
      F += point.mass * g;
      M += at(point.place).cross(point.mass * g);
    }
    Eigen::Matrix<double, 6, 4> A = Eigen::Matrix<double, 6, 4>::Zero();
    A.topLeftCorner<3, 3>().setIdentity();
    A.topRightCorner<3, 1>() = g;
    for (int k = 0; k < 3; ++k) A.block<3, 1>(3, k) = at({1, 0.4}).cross(Vector3d::Unit(k));
    A.bottomRightCorner<3, 1>() = at({}).cross(g);
    Eigen::Matrix<double, 6, 1> z = A * Eigen::Vector4d(force.x(), force.y(), force.z(), 0.02);
    z.head<3>() += options.force_deviation * normal_vector(random, 3);
    z.tail<3>() += options.moment_deviation * normal_vector(random, 3);
    estimator.step(memory, q, {}, F + z.head<3>(), M + z.tail<3>());
    Eigen::Matrix<double, 6, 1> weight;
    weight.head<3>().setConstant(std::pow(options.force_deviation, -2));
    weight.tail<3>().setConstant(std::pow(options.moment_deviation, -2));
    normal_matrix += A.transpose() * weight.asDiagonal() * A;
    gradient += A.transpose() * weight.asDiagonal() * z;
  }
  const Eigen::Matrix4d covariance = normal_matrix.inverse();
  const Eigen::Vector4d y = covariance * gradient;
  const ContactEstimate estimate = estimator.estimate(memory);
  CHECK(estimate.probability > 0.999999);
  CHECK((estimate.force - y.head<3>()).norm() < 1e-6);
  CHECK(estimate.payload == Approx(y[3]).margin(1e-6));
  CHECK(estimate.force_covariance.isApprox(covariance.topLeftCorner<3, 3>(), 1e-5));
  CHECK(estimate.place_deviation == 0.0);
}

TEST_CASE("contact estimator: a contact comes, slides and goes", "[estimation]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  constexpr int kPlaces = 24;
  TouchedArm arm(seed, {.start_force = 2.0}, kPlaces);
  arm.steps(200);
  const ContactEstimate before = arm.estimator.estimate(arm.memory);
  CHECK(before.probability < 0.05);
  CHECK(std::abs(before.payload - arm.payload) < 5.0 * before.payload_deviation);
  CHECK(before.payload_deviation < 0.001);
  arm.place = kPlaces / 2;
  arm.begin();
  arm.steps(40);
  const ContactEstimate touched = arm.estimator.estimate(arm.memory);
  CHECK(touched.probability > 0.99);
  CHECK(arm.is_placed());
  CHECK((touched.force - arm.force).norm() < 0.1 * arm.force.norm());
  for (; arm.place < kPlaces / 2 + 6; ++arm.place) arm.steps(40);
  --arm.place;
  CHECK(arm.is_placed());
  arm.end();
  arm.steps(100);
  CHECK(arm.estimator.estimate(arm.memory).probability < 0.05);
}

TEST_CASE("contact estimator: with the force alone it tells of a contact, not of its place",
          "[estimation]") {
  Random random(3);
  const ElasticArm arm = random_elastic_arm(random, 3);
  ContactEstimator estimator(arm, ContactEstimator::along(arm.robot(), 12));
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  estimator.start(memory);
  double mass = 0.0;
  for (const ElasticArm::MassPoint& point : arm.masses()) mass += point.mass;
  const Vector3d weight = mass * arm.parameters().gravity, push(0.5, 0.0, 0.0),
                 none = Vector3d::Constant(std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < 400; ++i)
    estimator.step(memory, arm.rest(), {}, weight + (i < 200 ? 0.0 : 1.0) * push, none);
  const ContactEstimate estimate = estimator.estimate(memory);
  CHECK(estimate.probability > 0.99);
  CHECK((estimate.force - push).norm() < 0.05);
  std::vector<double> p(12);
  estimator.probabilities(memory, p);
  for (const double each : p) CHECK(each == Approx(1.0 / 12.0).epsilon(1e-6));
}

TEST_CASE("contact estimator: a step allocates nothing, and its memory stays valid",
          "[estimation]") {
  TouchedArm arm(7, {}, 20);
  arm.steps(20);
  arm.begin();
  arm.steps(20);
  CHECK(arm.estimator.layout().is_valid(arm.memory));
  Random random(7);
  const ElasticArm other = random_elastic_arm(random, 4);
  ContactEstimator estimator(other, ContactEstimator::along(other.robot(), 20));
  std::vector<double> memory(std::size_t(estimator.layout().size())), p(20);
  estimator.start(memory);
  const VectorXd q = other.rest();
  AllocationCounter counter;
  estimator.step(memory, q, {}, Vector3d::Ones(), Vector3d::Ones());
  estimator.probabilities(memory, p);
  (void)estimator.estimate(memory);
  CHECK(counter.count() == 0);
}

TEST_CASE("contact estimator: its places are the middles of equal parts", "[estimation]") {
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.2}});
  const std::vector<BodyPlace> places = ContactEstimator::along(robot, 6);
  REQUIRE(places.size() == 6);
  for (int k = 0; k < 6; ++k) {
    const BodyPlace& place = places[std::size_t(k)];
    CHECK((place.section == 0 ? 0.1 : 0.2) * place.fraction + 0.1 * place.section ==
          Approx(0.05 * (k + 0.5)));
  }
}

TEST_CASE("contact estimator: errors name place, option, value and range", "[estimation]") {
  Random random(1);
  const ElasticArm arm = random_elastic_arm(random, 2);
  CHECK_THROWS_WITH(ContactEstimator(arm, {}),
                    "contact estimator: places: none, must be at least one");
  CHECK_THROWS_WITH(ContactEstimator(arm, {{0, 0.5}, {3, 0.5}}),
                    "contact estimator: place 2: section = 3, must be in [-1, 1]");
  CHECK_THROWS_WITH(ContactEstimator(arm, {{}}, {.start_force = 0.0}),
                    "contact estimator: start_force = 0 N, must be > 0");
}

TEST_CASE("contact estimator: beside a less simple body it finds place and force",
          "[estimation][slow]") {
  // Constants were chosen on the seeds 1000 to 1007.
  constexpr int kSeeds = 20;
  int placed = 0, right = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const ContactErrors errors = run_contact(unsigned(seed), {kEncoders});
    placed += errors.place < kLink ? 1 : 0;
    right += errors.force < 0.1 ? 1 : 0;
  }
  CAPTURE(placed, right);
  CHECK(placed >= kSeeds * 9 / 10);
  CHECK(right >= kSeeds * 9 / 10);
}
