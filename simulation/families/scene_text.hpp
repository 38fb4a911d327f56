#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/families/families.hpp"
#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/random_draws.hpp"

/// Helpers that the generators of the families share.
namespace tendril::simulation::generate {

/// Number of draws without a scene after which a generator gives up.
inline constexpr int kMaxDraws = 20'000;

/// Random numbers of a family and seed, one after the other.
class RandomStream {
 public:
  RandomStream(const std::string& family, std::uint64_t seed)
      : draws_(seed, "generate." + family) {}
  double uniform(double low, double high) { return low + (high - low) * draws_.uniform(count_++); }
  double angle();
  /// Draws an integer in [low, high].
  int integer(int low, int high);
  bool coin_flip() { return uniform(0.0, 1.0) < 0.5; }

 private:
  RandomDraws draws_;
  std::uint64_t count_ = 0;
};

/// A point in MJCF, and in TOML.
std::string text(const Eigen::Vector3d& p);
std::string list(const Eigen::Vector3d& p);

/// The pose of arms that lie along the world's x axis: z of the base along x, x of the base down.
inline constexpr const char* kHorizontalMount = "euler=\"0 90 0\"";
Eigen::Isometry3d horizontal_pose();
/// A point of the base's frame in the world.
inline Eigen::Vector3d horizontal_mount(const Eigen::Vector3d& p) { return {p.z(), p.y(), -p.x()}; }

/// A scene; `more` are its elements past the world's.
std::string scene_xml(const std::string& name, const std::string& assets, const std::string& world,
                      const std::string& more = {});
std::string model_asset(const char* name);
/// A `[[check]]` of an experiment.
std::string check(const std::string& name, const std::string& metric, const std::string& limits);
/// The head of an experiment of `scene.xml`.
std::string experiment(double duration, const std::string& more);
/// A section of 100 mm, and the head of a snake's file.
std::string section_text(int links, const char* more);
std::string snake_text(const std::string& more);
std::string repeated(const std::string& part, int count);
/// An arm of equal sections of 80 to 120 mm, whose tip has a task in contact.
struct ContactArm {
  int sections;
  double length, radius;  ///< of a section [m]
  double stiffness;       ///< EI [N m^2]
  explicit ContactArm(RandomStream& draws);
  /// The robot file without the controller; `task` is what the sections do.
  [[nodiscard]] std::string text(const char* task) const;
  /// Deflection of the tip along a unit vector by a force along it [m]. `robot` is that of the
  /// file.
  [[nodiscard]] double deflection(const ContinuumRobot& robot, SectionStates states,
                                  const Eigen::Vector3d& direction, double force) const;
};
/// Spheres around an arm that lies along the world's x axis, as geoms `ball_1`, ... of a world.
struct Spheres {
  std::string text;
  std::vector<Eigen::Vector3d> centers;  ///< [m]
};
/// Draws so many that keep `clearance` from all points [m]. Throws ModelError: none were found.
Spheres draw_spheres(RandomStream& draws, const std::string& family, int count, double clearance,
                     const std::vector<Eigen::Vector3d>& points);
/// The world of such an arm, spheres and a target.
std::string arm_among(const Spheres& spheres, const Eigen::Vector3d& target);
/// Points of the backbone of an arm whose bends have grown from 0 to this part of those given, from
/// its base on, kPointsPerSection each; world frame.
inline constexpr int kPointsPerSection = 12;
std::vector<Eigen::Vector3d> backbone(const ContinuumRobot& robot, std::vector<SectionState> states,
                                      double part,
                                      const Eigen::Isometry3d& X_WB = horizontal_pose());
/// A `[[motion]]` of a body through points, both lists as in TOML.
std::string waypoints_text(const std::string& body, const char* interpolation,
                           const std::string& times, const std::string& points);
/// Throws ModelError: no scene was found.
[[noreturn]] void throw_no_scene_found(const std::string& family);

}  // namespace tendril::simulation::generate
