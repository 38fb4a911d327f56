#include "tendril/kinematics/rotation.hpp"

#include <catch2/catch.hpp>

#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

TEST_CASE("rotation between: brings one direction to the other by the angle between them",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Vector3d from = random.unit_vector();
  const Vector3d to = seed == 0 ? from : seed == 1 ? Vector3d(-from) : random.unit_vector();
  const Eigen::Quaterniond rotation =
      rotation_between(random.uniform(0.1, 9.0) * from, random.uniform(0.1, 9.0) * to);
  CHECK((rotation * from - to).norm() < 10.0 * kAlgebraTolerance);
  const double angle = std::atan2(from.cross(to).norm(), from.dot(to));
  CHECK(Eigen::AngleAxisd(rotation).angle() == Approx(angle).margin(1e-9));
}
