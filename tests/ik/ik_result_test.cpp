#include "tendril/ik/ik_result.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>
#include <set>
#include <string>

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;

TEST_CASE("ik errors: a tiny angle keeps its digits", "[ik]") {
  TipTarget target;
  target.task = TipTask::PositionAndDirection;
  for (const double angle : {0.0, 1e-12, 1e-9, 1e-4, 1.0, std::numbers::pi}) {
    Isometry3d X_BE = Isometry3d::Identity();
    X_BE.rotate(Eigen::AngleAxisd(angle, Vector3d::UnitY()));
    CHECK(angle_error(X_BE, target) == Approx(angle).epsilon(1e-9).margin(1e-20));
  }
}

TEST_CASE("ik errors: the spin about the tip axis and a free direction do not count", "[ik]") {
  TipTarget target;
  Isometry3d X_BE = Isometry3d::Identity();
  X_BE.rotate(Eigen::AngleAxisd(1.0, Vector3d::UnitY()));
  CHECK(angle_error(X_BE, target) == 0.0);
  target.task = TipTask::PositionAndDirection;
  X_BE = Isometry3d::Identity();
  X_BE.rotate(Eigen::AngleAxisd(1.0, Vector3d::UnitZ()));
  CHECK(angle_error(X_BE, target) == 0.0);
}

TEST_CASE("ik errors: position error is the distance of the tip from the target", "[ik]") {
  TipTarget target;
  target.X_BG.translation() = Vector3d(1.0, 2.0, 3.0);
  Isometry3d X_BE = Isometry3d::Identity();
  X_BE.translation() = Vector3d(1.0, 5.0, 7.0);
  CHECK(position_error(X_BE, target) == Approx(5.0));
}

TEST_CASE("ik target: NaN and infinity are noticed", "[ik]") {
  TipTarget target;
  CHECK(is_finite(target));
  target.X_BG.translation().y() = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(is_finite(target));
  target.X_BG.translation().y() = std::numeric_limits<double>::infinity();
  CHECK_FALSE(is_finite(target));
}

TEST_CASE("ik status: every status has a separate name", "[ik]") {
  std::set<std::string> names;
  for (const IkStatus status : {IkStatus::Converged, IkStatus::MaxIterations, IkStatus::Stalled,
                                IkStatus::InvalidTarget, IkStatus::InvalidStart})
    names.insert(to_string(status));
  CHECK(names.size() == 5);
  CHECK(std::string(to_string(IkStatus::Converged)) == "converged");
}
