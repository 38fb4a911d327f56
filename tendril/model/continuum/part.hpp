#pragma once

// Parts that an arm may carry. To add one: a file that defines its ArmPart and its ArmPartKind, and
// its kind in the list below.

#include <array>
#include <memory>
#include <string_view>

#include "tendril/model/key_info.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;
struct FileContents;  // readers.hpp

/// Weight of a part.
struct PartLoad {
  double mass = 0.0;    ///< [kg]
  double height = 0.0;  ///< of its center of mass past the tip [m]
};

/// A part that an arm carries. It is read from a table of the robot file, adds its own elements to
/// the model, and answers what others must know of it.
class ArmPart {
 public:
  virtual ~ArmPart() = default;

  /// Adds the elements of the part. Joints and actuators bring their values in the keyframe with
  /// them; no controller commands the actuators (CommandedBy::User).
  virtual void write(ArmDocument& arm) const = 0;

  /// Weight that the arm holds.
  /// @param tip_radius  of the arm's body at the tip [m]
  [[nodiscard]] virtual PartLoad load(double tip_radius) const = 0;
  /// Tells whether it has joints; where the body of the arm alone counts, a sphere represents it.
  [[nodiscard]] virtual bool has_joints() const { return false; }
  /// Tells whether it holds things by flat faces, which needs several contact points.
  [[nodiscard]] virtual bool has_flat_faces() const { return false; }
};

/// A kind of part.
struct ArmPartKind {
  std::string_view table;     ///< of the robot file
  KeyRows keys;               ///< of the part in that table, which others may share
  std::string_view actuator;  ///< name, without attach prefix; empty: it has none
  /// Reads the part of an arm whose sections and parts before it in the list are read; null: the
  /// table says nothing of it. Files that the table names are read through `file`. Throws
  /// ModelError.
  std::shared_ptr<const ArmPart> (*read)(const Fields& table, const ContinuumDescription& robot,
                                         const FileContents& file);
};

/// All kinds, in the order in which their tables are read and their elements are added.
extern const ArmPartKind kPayloadKind, kSuctionKind, kGripperKind, kTipCameraKind, kSkinKind;
inline constexpr std::array kArmPartKinds{&kPayloadKind, &kSuctionKind, &kGripperKind,
                                          &kTipCameraKind, &kSkinKind};

/// Reads the parts of an arm whose sections are read. Throws ModelError.
void read_parts(const FileContents& file, ContinuumDescription& robot);

/// Tells whether an actuator, with its attach prefix, is that of a part: it may work at its limit,
/// and no controller commands it.
[[nodiscard]] bool is_part_actuator(std::string_view name);

}  // namespace tendril
