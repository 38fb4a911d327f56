#pragma once

// Private to tendril/model: the model of an arm while its parts write into it.

#include <array>
#include <string>
#include <vector>

#include "tendril/model/continuum/description.hpp"
#include "tendril/model/mjcf_document.hpp"

namespace tendril {

/// The document of an arm, and where parts find the bodies that they belong to.
struct ArmDocument {
  ArmDocument(const ContinuumDescription& description, MjcfDocument& document);

  const ContinuumDescription& robot;
  MjcfDocument& mjcf;
  XmlNode& base;            ///< body
  std::vector<Link> links;  ///< from the base to the tip
  /// 0: body that carries the first joint, the base or the carriage; k: the link at the k-th joint.
  std::vector<XmlNode*> bodies;

  [[nodiscard]] bool has_carriage() const { return robot.base.feed_limit > 0.0 || robot.base.spin; }
  /// Body that ends at the tip, and where the tip is along its z axis [m].
  [[nodiscard]] XmlNode& last_body() const { return *bodies.back(); }
  [[nodiscard]] double tip_height() const { return links.back().length / 2.0; }
  [[nodiscard]] double tip_radius() const { return links.back().radius; }

  /// Distance along the straight arm from its base to the frame of each body, at its joint [m].
  [[nodiscard]] std::vector<double> body_starts() const;

  /// Lets a geom meet others, those of the arm only with `self_collision`.
  void touches(XmlNode& geom) const;

  /// Feed and, of a section from 0, commanded bend (u, v) and extension past its rest length in the
  /// keyframe [m], [rad].
  [[nodiscard]] double start_feed() const { return robot.start ? robot.start->feed : 0.0; }
  [[nodiscard]] std::array<double, 2> start_bend(std::size_t section) const;
  [[nodiscard]] double start_extension(std::size_t section) const;
};

}  // namespace tendril
