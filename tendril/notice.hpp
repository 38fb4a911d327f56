#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace tendril {

/// A kind of notice, error, status or exit code: a row of docs/reference/messages.md.
struct MessageKind {
  std::string_view code, meaning, what_to_do;
};

/// All kinds of notices, in alphabetical order. A notice does not stop the program.
inline constexpr MessageKind kNoticeKinds[] = {
    {"bend-limit-not-held",
     "The servo of a section holds a smaller bend against the section's stiffness than its limit.",
     "Raise `bend_torque_limit`, or lower `bend_limit` or `bending_stiffness`."},
    {"check-window-empty", "The time window of a check begins after the end of the run.",
     "Lengthen `duration`, or lower `after` of the check."},
    {"columns-ignored", "A log has columns of nothing that the robot has.",
     "Name columns as `td.Estimator` names readings and actuators, or leave them out."},
    {"contact-plan-not-found", "The planner found no path with contact.",
     "Raise `slack` or `max_bend`, or give the planner other corners; `tendril plan --strict` "
     "turns this into exit code 1."},
    {"contacts-off",
     "An option or flag of the scene switches off contacts, and a robot would touch something.",
     "Remove the flag or option, or ignore the notice if nothing should collide."},
    {"controller-not-followed",
     "The controller's robot did not do what was commanded; the status is 8, 10 or 11.",
     "Run `tendril explain 8`, `tendril explain 10` or `tendril explain 11`."},
    {"damping-under-timestep",
     "The integrator `discrete` damps a section by at least one timestep, more than its file says.",
     "Shorten `option.timestep`, raise `damping_time`, or use `integrator=\"implicitfast\"`."},
    {"engine-warning", "MuJoCo itself warned while it compiled or stepped the model.",
     "Look the text up in MuJoCo's documentation; it names the element."},
    {"falling-base", "A robot stands on a free body that nothing carries.",
     "Add a floor, weld the body, or remove its free joint."},
    {"fit-far-off", "The identified model does not come near some measured points.",
     "Check the units, the frame and the order of the columns."},
    {"friction-left-out",
     "`tendril model --plain` leaves out the friction of tendons, which the plugin simulates.",
     "Expect less friction, or use the model with the plugin."},
    {"implausible-angle", "An angle of the scene looks like the other unit.",
     "Set `angle` of `<compiler>` to the unit that the scene uses."},
    {"implausible-gravity", "Gravity is far from that of Earth.",
     "Give gravity in m/s^2, such as `[0, 0, -9.81]`."},
    {"implausible-material",
     "A density or Young's modulus, given or computed from mass and stiffness, fits no material.",
     "Give kg, m, Pa and N m^2, and check radius, mass and stiffness together."},
    {"implausible-pressure", "The largest pressure of a chamber is not that of a soft actuator.",
     "Give `max_pressure` in Pa: 1 bar is 1e5 Pa."},
    {"implausible-size",
     "A number is far from what the size of the robot or the length of the run suggests.",
     "Check the unit: files have m, s, rad, kg, N and Pa. Ignore the notice if the number is "
     "meant."},
    {"input-overwritten",
     "Your program wrote an input that a controller or a motion writes in every step.",
     "Change the target or the motion instead, or remove the controller."},
    {"keyframe-size", "A keyframe has another number of values than the model.",
     "Give one value for each coordinate, those of attached robots too, or remove the keyframe."},
    {"lines-ignored", "A file of earlier results has lines that are not results.",
     "Remove the file to compute all results again."},
    {"mesh-filled",
     "A mesh geom that a robot can touch is hollow or open, and collides as its convex hull.",
     "Attach the mesh by a file of `kind = \"shell\"`, split it into convex parts, or ignore the "
     "notice if nothing enters its hollows."},
    {"model-not-flattened", "MuJoCo could not write the scene as one XML file.",
     "Read the reason in the line. The recording replays without this file."},
    {"no-commands", "A log has no column of an actuator.",
     "Add columns of the commands, by the names of the actuators; an arm that rests at 0 needs "
     "none."},
    {"no-plots", "The plots of a report could not be drawn.",
     "Install the Python package that the line names."},
    {"no-plugin", "A library of `--plugin` loaded but registered no plugin.",
     "Call `mjp_registerPlugin` in the library, as docs/reference/plugin.md shows."},
    {"not-repeated",
     "A controller in Python made the result, and its code is not in the recording.",
     "Keep the Python file with the recording."},
    {"obstacle-left-out",
     "A geom contains the straight arm from its base on, and `avoidance` leaves it out.",
     "Name the obstacles with `obstacles`, or move the base out of the geom."},
    {"obstacles-move", "Obstacles can move relative to the base of the planned arm.",
     "Plan again when they have moved, or use a controller with `avoidance`."},
    {"path-not-complete", "The planner reached only the first waypoints.",
     "Lower `margin`, move the waypoints, or raise `max_iterations`; `tendril plan --strict` turns "
     "this "
     "into exit code 1."},
    {"payload-heavy", "The payload is heavier than the arm can be expected to carry.",
     "Give `payload` in kg."},
    {"recording-left", "The recording of a run on a cluster is too large to be copied.",
     "Copy it from the place that the line names."},
    {"results-replaced", "The output folder had results of an earlier run, which were replaced.",
     "Name another folder with `--out` to keep both."},
    {"robots-pass-through", "Two robots overlap and cannot collide.",
     "Set `self_collision = true` in both robot files."},
    {"same-for-all-seeds", "The sweep has no `[vary]`, so all seeds give the same run.",
     "Add settings to `[vary]`, or run one seed."},
    {"section-without-drive", "Nothing can bend a section in every direction.",
     "Add tendons or chambers around the backbone that end there, or set `bend_servo = true`."},
    {"sensors-not-read",
     "A robot has `[[sensor]]`s and no controller: without its computer nothing reads them.",
     "Use the ideal sensors, or give the robot a `[controller]`."},
    {"start-inside", "A robot starts inside a geom or another robot.",
     "Move the robot or the geom, or start from a keyframe."},
    {"start-out-of-range", "A joint or a control starts outside its range.",
     "Check the keyframe and the unit of the value."},
    {"sweep-difference", "Two compared sweeps differ in more than the compared variants.",
     "Read what the line names, and compare sweeps of the same experiment and version."},
    {"states-outside-limits",
     "A table of `tendril fk` has states that the robot cannot take: its poses are those of the "
     "arcs all the same.",
     "Check units and columns. A section of variable length bends only as far as it is extended, "
     "by `bend_limit` at full `variable_length`: not at all at its unloaded length."},
    {"switched-off", "A flag or actuator group of the scene switches off physics of a robot.",
     "Remove the flag, or ignore the notice if it is meant."},
    {"target-out-of-reach", "A target starts farther from the base than the arm is long.",
     "Move the target or the base, and check the unit."},
    {"tendon-outside-body", "A tendon runs outside the body of a section.",
     "Lower `distance`, or raise `radius` of the section."},
    {"thicker-than-long", "A body is thicker than the whole robot is long.", "Give `radius` in m."},
    {"topic-has-gap", "A topic of an imported bag is silent for ten times as long as usual.",
     "Check the recorder and the network of the robot, or cut the bag."},
    {"topic-left-out", "An imported bag has a topic that the scene does not have.",
     "Ignore the notice, or name the topic of the scene with `--remap`."},
    {"unsuitable-option", "An option of the scene does not suit a robot.",
     "Add `<compiler conflict=\"merge\"/>` to the scene, or set the option as the line says."},
    {"vary-and-grid", "The sweep's grid and `[vary]` both set a key; the grid's values are used.",
     "Remove the key from `[vary]`."},
    {"weight-not-held", "The servo of a section cannot hold the arm level against gravity.",
     "Raise `bend_torque_limit`, lower the masses, or let the arm hang."},
};

/// The code of a kind of notice. Another text does not compile.
class NoticeCode {
 public:
  consteval NoticeCode(const char* code) : code_(code) {  // NOLINT(google-explicit-constructor)
    const std::string_view name = code;
    if (std::none_of(std::begin(kNoticeKinds), std::end(kNoticeKinds),
                     [&](const MessageKind& kind) { return kind.code == name; }))
      throw "is not in kNoticeKinds";
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return code_; }

 private:
  std::string_view code_;
};

/// The text of a notice: `text [code]`. All notices are made here.
[[nodiscard]] inline std::string notice_text(NoticeCode code, std::string_view text) {
  return std::string(text) + " [" + std::string(code.text()) + "]";
}

}  // namespace tendril
