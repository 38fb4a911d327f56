#include "controllers/arm/section_twists.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// Three sections of one link, the second of which is rigid in torsion.
struct Twisted {
  ContinuumRobot robot{std::vector<SectionParameters>(3, SectionParameters{.length = 0.1})};
  SectionTwists twists;
  TurnedFrames frames;
  TwistState state;

  explicit Twisted(Random& random) {
    std::vector<TwistingSection> sections(3);
    for (int i = 0; i < 3; ++i)
      sections[static_cast<std::size_t>(i)].bend = robot.coordinate_index(i);
    sections[0].hinges.assign(1, {.mass = 1.0, .stiffness = 2.0, .damping = 0.1});
    sections[2].hinges.assign(1, {.mass = 1.0, .stiffness = 2.0, .damping = 0.1});
    twists = SectionTwists(sections);
    frames = TurnedFrames(twists.bends());
    state = twists.make_state();
    for (JointState& hinge : state.hinges) {
      hinge.position = random.uniform(-0.6, 0.6);
      hinge.velocity = random.uniform(-1.0, 1.0);
    }
    measure();
  }
  void measure() {
    frames.reset();
    twists.measure(state, Eigen::Vector3d::Zero(), frames,
                   [](Eigen::Index, const SectionTwists::Displacement&) {});
  }
  [[nodiscard]] Eigen::VectorXd untwisted(const Eigen::VectorXd& joints) const {
    Eigen::VectorXd q = joints, rate = Eigen::VectorXd::Zero(q.size());
    frames.untwist(q, rate);
    return q;
  }
  [[nodiscard]] Eigen::Isometry3d tip(const Eigen::VectorXd& q) const {
    std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
    from_coordinates(robot, q, states);
    return tip_pose(robot, states, {});
  }
};

Eigen::VectorXd random_bends(Random& random) {
  Eigen::VectorXd q(6);
  for (Eigen::Index k = 0; k < q.size(); ++k) q[k] = random.uniform(-1.2, 1.2);
  return q;
}

Eigen::Isometry3d turn(double angle) {
  return Eigen::Isometry3d(Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitZ()));
}

}  // namespace

TEST_CASE("section twists: coordinates without twist have the tip of the twisted chain",
          "[controllers]") {
  Random random(GENERATE(range(0u, 20u)));
  const Twisted arm(random);
  const Eigen::VectorXd joints = random_bends(random);
  // Each section turns by half of its twist, bends as its own hinges do, and turns by the rest.
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  for (int i = 0; i < 3; ++i) {
    const double half = i == 1 ? 0.0 : arm.state.hinges[i == 0 ? 0 : 1].position / 2.0;
    Eigen::VectorXd own = Eigen::VectorXd::Zero(6);
    own.segment<2>(2 * i) = joints.segment<2>(2 * i);
    // An arm of which only section i bends, less its straight parts before and after.
    const Eigen::Translation3d before(0, 0, 0.1 * i), after(0, 0, 0.1 * (2 - i));
    X = X * turn(half) * before.inverse() * arm.tip(own) * after.inverse() * turn(half);
  }
  const Eigen::Isometry3d X_q = arm.tip(arm.untwisted(joints));
  CHECK((X_q.translation() - X.translation()).norm() < 1e-12);
  CHECK(((X_q * turn(arm.twists.tip_twist())).linear() - X.linear()).norm() < 1e-12);
  CHECK((arm.tip(joints).translation() - X.translation()).norm() > 1e-4);
}

TEST_CASE("section twists: rates are the derivatives of the coordinates", "[controllers]") {
  Random random(GENERATE(range(0u, 20u)));
  Twisted arm(random);
  const Eigen::VectorXd joints = random_bends(random), rates = random_bends(random);
  Eigen::VectorXd q = joints, q_rate = rates;
  arm.frames.untwist(q, q_rate);
  constexpr double kStep = 1e-6;
  Twisted later = arm, sooner = arm;
  for (std::size_t j = 0; j < arm.state.hinges.size(); ++j) {
    later.state.hinges[j].position += kStep * arm.state.hinges[j].velocity;
    sooner.state.hinges[j].position -= kStep * arm.state.hinges[j].velocity;
  }
  later.measure();
  sooner.measure();
  const Eigen::VectorXd difference =
      later.untwisted(joints + kStep * rates) - sooner.untwisted(joints - kStep * rates);
  CHECK((difference / (2.0 * kStep) - q_rate).norm() < 1e-8);
}

TEST_CASE("section twists: commands come back as measured once the mean is that of the twist",
          "[controllers]") {
  Random random(GENERATE(range(0u, 20u)));
  Twisted arm(random);
  constexpr double kTimestep = 0.002;
  std::vector<double> means(3);
  // omega = 10 rad/s by Dunkerley, and a damping time of 0.05 s: a rate of 2.5 1/s.
  arm.state.inertias.assign(2, 2.0 / (100.0 * 2.0));
  arm.measure();
  CHECK(arm.twists.swing_frequency() == Approx(10.0));
  const Eigen::VectorXd wanted = random_bends(random);
  double last = 1e9;
  for (int second = 0; second < 4; ++second) {
    Eigen::VectorXd q, rate = Eigen::VectorXd::Zero(6);
    for (int k = 0; k < 500; ++k) arm.twists.twist(kTimestep, means, q = wanted, rate);
    const double error = (arm.untwisted(q) - wanted).norm();
    CHECK(error < 0.2 * last);
    last = error;
  }
  CHECK(last < 1e-3);
  CHECK(means[0] == Approx(arm.state.hinges[0].position / 2.0).epsilon(1e-3));
}

TEST_CASE("section twists: moments do the same work on both coordinates", "[controllers]") {
  Random random(GENERATE(range(0u, 20u)));
  const Twisted arm(random);
  const Eigen::VectorXd joints = random_bends(random), moments = random_bends(random);
  Eigen::VectorXd q = arm.untwisted(joints), on_q = moments, back = moments;
  arm.frames.untwist_moments(on_q);
  CHECK(on_q.dot(q) == Approx(moments.dot(joints)));
  back = on_q;
  arm.frames.twist_moments(back);
  CHECK((back - moments).norm() < 1e-12);
}
