#pragma once

#include <mujoco/mujoco.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/tendril/window/view_source.hpp"

namespace tendril {

/// The panel of a running scene: sliders for commands and joints, faults, recording. MuJoCo's own
/// widgets (mjui), in their theme and font.
class ControlPanel {
 public:
  /// Actions of the window.
  struct Actions {
    std::function<void()> record;                  ///< starts or ends a recording
    std::function<void(const std::string&)> tell;  ///< shows a message
  };
  ControlPanel(simulation::LiveRun& run, mjrContext& context, Actions actions);

  /// Returns the width, in pixels at the right edge of the window.
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
    std::string name;
    RobotNames names;
    int base = 0;
    bool has_controller = false;
    int controller_drives = 1;
    struct Control {
      int address, actuator;
    };
    std::vector<Control> controls;
    std::vector<int> joints;  ///< slides and hinges
    std::string servos;       ///< names, one a line
  };

  /// A command or a joint; of a section, all that its links do of one kind: the sum.
  struct Slider {
    struct Part {
      int index;        ///< of a control, or of a joint
      double fraction;  ///< of a change, relative to those of the others
    };
    std::string name;  ///< with its unit
    double low, high;
    std::vector<Part> parts;
    double value = 0.0;
  };

  void find_groups();
  static void add_part(std::vector<Slider>& sliders, std::size_t first, Slider slider);
  [[nodiscard]] Slider slider_of_control(const Group& group, const Group::Control& control) const;
  [[nodiscard]] Slider slider_of_joint(const Group& group, int joint) const;
  void limit_joints();
  void add_sliders(Section section, std::vector<Slider>& sliders, bool commands);
  void add_run();
  void add_faults();
  void lay_out();
  void changed(const mjuiItem& item);
  template <class Add>
  static void distribute(const Slider& slider, double before, const Add& add);
  [[nodiscard]] double commanded(const Slider& slider) const;
  [[nodiscard]] double position(const Slider& slider) const;
  void command(const Slider& slider);
  void move(const Slider& slider);
  void drive_by_hand(const Group& group, bool by_hand);
  template <class Change>
  void recorded_through(const Change& change);
  void inject();

  simulation::LiveRun& run_;
  mjrContext& context_;
  Actions actions_;
  std::vector<Group> groups_;
  std::vector<Slider> commands_, joints_;
  mjUI ui_{};
  mjuiState state_{};
  int robot_ = 0, kind_ = 0, servo_ = 0, strength_ = 1;  // of the next fault
  std::vector<std::string> injected_;                    // texts
  int can_move_joints_ = 0;
  bool recording_shown_ = false;
};

}  // namespace tendril
