#pragma once

#include <mujoco/mujoco.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/host/recording/view_source.hpp"

namespace tendril {

/// The panel of a running scene: sliders for commands and joints, faults, recording. MuJoCo's own
/// widgets (mjui), in their theme and font.
class ControlPanel {
 public:
  /// What the window does.
  struct Actions {
    std::function<void()> record;                  ///< starts or ends a recording
    std::function<void(const std::string&)> tell;  ///< shows a message
  };
  ControlPanel(host::LiveRun& run, mjrContext& context, Actions actions);

  /// Of pixels at the right edge of the window.
  [[nodiscard]] int width() const noexcept { return ui_.width; }

  /// @param paused  joints can be moved
  void draw(mjrRect window, bool paused);

  /// A press, release, movement or scroll. Returns whether it was one for the panel.
  /// @param x, y  of the cursor, pixels from the lower left of the window
  bool on_mouse(mjtEvent type, double x, double y, mjtButton button = mjBUTTON_NONE,
                double scroll = 0.0);

 private:
  enum Section { kRun, kFaults, kCommands, kJoints };
  /// The elements of one robot, or those of none.
  struct Group {
    std::string name, prefix;
    int base = 0;
    bool has_controller = false;
    int controller_drives = 1;
    struct Control {
      int address, actuator;
    };
    std::vector<Control> controls;
    std::vector<int> joints;
    std::string servos;  ///< names, one a line
  };

  void find_groups();
  void add_run();
  void add_faults();
  void add_commands();
  void add_joints();
  void lay_out();
  void changed(const mjuiItem& item);
  void drive_by_hand(const Group& group, bool by_hand);
  template <class Change>
  void recorded_through(const Change& change);
  void inject();

  host::LiveRun& run_;
  mjrContext& context_;
  Actions actions_;
  std::vector<Group> groups_;
  mjUI ui_{};
  mjuiState state_{};
  int robot_ = 0, kind_ = 0, servo_ = 0, strength_ = 1;  // of the next fault
  std::vector<std::string> injected_;                    // texts
  int can_move_joints_ = 0;
  bool recording_shown_ = false;
  const mjtNum* qpos_shown_ = nullptr;
};

}  // namespace tendril
