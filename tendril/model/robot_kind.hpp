#pragma once

// What a kind of robot is to the files of models. Its description reads and writes itself; the list
// of kinds is in robot_description.hpp.

#include <Eigen/Core>
#include <concepts>
#include <optional>
#include <span>
#include <string>

#include "tendril/model/controller_config.hpp"
#include "tendril/model/medium.hpp"

namespace tendril {

struct FileContents;  // readers.hpp
class MjcfDocument;

/// What a robot's model needs of a scene's options.
struct EngineNeeds {
  int iterations = 100;          ///< of the engine's solver, at least
  std::optional<Medium> medium;  ///< options density, viscosity and wind
  bool flat_contacts = false;    ///< several points where flat faces touch: flag `multiccd`
};

/// What is around a lone robot at the world's origin.
struct Surroundings {
  Eigen::Vector3d target;  ///< where its controller's target can be reached [m]
  double reach;            ///< of the robot [m]
  std::string floor = {};  ///< name of a plane; empty: none
};

/// A robot file of one `kind`. `read` throws ModelError `file:line: object: key = value: must be
/// ...`; `write` adds the robot's elements to a document. A kind may have `EngineNeeds
/// engine_needs() const`, if its needs are not the standard ones, and `Surroundings surroundings()
/// const`.
template <class D>
concept RobotKind = requires(const D& robot, const FileContents& file, MjcfDocument& mjcf,
                             std::span<const std::string> sensors) {
  { D::kKind } -> std::convertible_to<std::string_view>;  // "snake"
  { D::kWhat } -> std::convertible_to<std::string_view>;  // "a snake"
  { D::read(file) } -> std::same_as<D>;
  robot.write(mjcf, sensors);
  { robot.name } -> std::convertible_to<std::string>;
  { robot.controller } -> std::convertible_to<ControllerConfig>;
  { robot.text } -> std::convertible_to<std::string>;  // the TOML it was read from
};

}  // namespace tendril
