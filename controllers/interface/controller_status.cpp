#include "controllers/interface/controller_status.hpp"

#include <cstddef>

namespace tendril {
namespace {

constexpr StatusInfo kStatuses[kStatusCount]{
    {"working", "The task is in progress."},
    {"finished", "The task is done and its result is held."},
    {"target not reached",
     "The controller finds no pose at the target, or no path to it. It commands the nearest pose.",
     "Move the target closer; `tendril ik` tests targets without a simulation. Or give the robot "
     "more length, bend or feed. With obstacles, reduce `obstacle_margin`. For mobile robots "
     "`ik_status` has the reason."},
    {"jammed", "The feed has stopped because the tip error or the feed force stayed at its limit.",
     "Look at the recording where the status begins. Feed more slowly (`speed`), round the path "
     "(`corner_radius`), reduce friction or stiffness, or raise `jam_tip_error`, `jam_feed_force` "
     "or `jam_retries`."},
    {"target not finite",
     "The target has a number that is not finite or no rotation, or it moved where the task cannot "
     "follow. The controller holds the last command; a snake stops.",
     "Check what moves the target body: a `[[motion]]`, a fault of the channel `target`, or your "
     "program."},
    {"controller fault",
     "The controller threw an exception or commanded a value that is not finite. The servos hold "
     "their last setpoints until the simulation is reset.",
     "Read the warning that names the instance. In a controller of your own, check its "
     "computations and the size of its memory. For a controller of the library, report the error "
     "with its recording."},
    {"target behind the head",
     "The path of a snake cannot continue to the target, which lies behind the head.",
     "Move the target in front of the head. The snake waits at the end of its path until then."},
    {"path too tight",
     "The path of a snake cannot continue to the target: it would bend more than the joints can.",
     "Move the target farther ahead or closer to the direction of the head, or raise "
     "`joint_limit`."},
    {"not following",
     "`following_error` stayed above `following_tolerance` for longer than `following_time`, or "
     "the state is not finite.",
     "Look for a servo at its limit (`saturated_servos` in summary.json), a load or contact that "
     "holds the body back, or a lost tendon. Make the servos stronger, move more slowly, or raise "
     "`following_tolerance`."},
    {"servo lost",
     "A servo is disabled, or its gain, force range or setpoint is invalid. The controller "
     "continues with the other servos.",
     "Read the warning that names the servo. Check faults of kind `actuator_loss` and "
     "`actuator_stuck`, disabled actuator groups, and programs that write to the model."},
    {"no progress",
     "The task makes no progress, its result is lost, or a planned path to the target failed.",
     "For a snake, change the gait, `frequency`, `waves` or the friction, or raise "
     "`stall_periods`. For `tendril.contact_plan`, `failure_reason` says why the last path failed. "
     "For `tendril.coil`, raise `tighten_time` or reduce `force`. For `tendril.touch` "
     "and `tendril.pull`, the force stayed off: reduce it, raise `integral_limit`, or make the "
     "servos stronger. For `tendril.push`, make the block lighter, the servos stronger, or give "
     "the tip more friction."},
    {"blocked by a contact",
     "The tip rests against a fixed body before its target, or what `tendril.pull` holds is taut "
     "before it. The commands do not press or pull harder.",
     "Move the target to the surface or in front of it, by the radius of the arm. To press with a "
     "force, use `tendril.touch`. To pull harder, raise `force`."},
    {"no contact",
     "The tip is at the target of `tendril.touch` and touches nothing, or what `tendril.pull` has "
     "pulled has slipped off.",
     "Move the target into the surface, by more than the error of the surface's position. Grip "
     "more firmly, or reduce `force` of `tendril.pull`."},
    {"swinging",
     "The tip has swung for 6 s about a target at rest: too little damping, or feedback that takes "
     "it away.",
     "Reduce `integral_gain`, which excites a slow arm and one whose tip is measured late, or set "
     "`sensor_delay`. Raise `damping_time` of the sections, `bend_damping_time` or `bend_gain` of "
     "the servos. For an arm that twists (`poisson_ratio`, `torsional_stiffness`), damp or stiffen "
     "it in torsion. Reduce a load that the robot file does not have."}};

}  // namespace

std::span<const StatusInfo, kStatusCount> controller_statuses() noexcept { return kStatuses; }

const char* to_string(ControllerStatus status) noexcept {
  const auto index = static_cast<std::size_t>(status);
  return index < kStatusCount ? kStatuses[index].name : "unknown status";
}

}  // namespace tendril
