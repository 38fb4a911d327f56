#include "controllers/arm/contact_plan_options.hpp"

#include <fmt/core.h>

#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/obstacle_settings.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr SettingInfo kPlanSettings[] = {
    setting::body_name(
        "target", "",
        "mocap body of the scene to reach with the tip; without `plan` the paths to it "
        "are planned among the geoms of the scene when it is loaded"),
    setting::obstacles(
        "without `plan`: geoms or bodies of the scene, separated by spaces; default: all "
        "that the arm can touch"),
    setting::integer("max_contacts", "3", 0, 8, "without `plan`: of a path"),
    setting::integer("max_candidates", "3", 1, 16,
                     "largest number of paths that are tried, one after the other"),
    setting::text("plan", "", "text of the plan, as `tendril plan --plan FILE` writes it"),
    setting::flag("elastic", true,
                  "correct the plan for an elastic body; false: the planned curvatures, one arc "
                  "after the other"),
    setting::flag("inserted", false,
                  "the body already lies along the plan when the simulation starts (keyframe "
                  "`start`)"),
    setting::choice("feedback", "auto none contact model",
                    "how the measured tip corrects curvature and length. contact: by the Jacobian "
                    "of the measured arm in contact. model: by an elastic model of the arm, with "
                    "obstacles at the measured contacts. auto: model if elastic, else contact"),
    setting::number("passing_clearance", "m", "0.008", {0.0, 1.0},
                    "if elastic: largest clearance at which the tip passes the planned contacts; "
                    "less where there is less room; the body behind it then rests on them"),
    setting::number("guide_clearance", "m", "0.0005", {0.0, 1.0},
                    "clearance between body and guide in the elastic model, on each side"),
    setting::number("locate_gain", "", "0.2", {0.0, 1.0},
                    "fraction of the distance to a measured contact by which the model's obstacle "
                    "is moved in one step")};

constexpr SettingInfo kFeedSettings[] = {
    setting::speed("0.05"), setting::acceleration("0.03"),
    setting::number("curvature_rate", "1/(m s)", "10", {0.0, 1e6, true},
                    "largest rate of the actuation curvature; the feed slows down to keep it"),
    setting::number("ramp", "m", "0.05", {0.0, 100.0},
                    "if not elastic: length over which the actuation changes past a contact"),
    setting::start_delay("0.5")};

constexpr SettingInfo kCorrectionSettings[] = {
    setting::number("gain", "1/s", "1", {0.0, 100.0},
                    "Ki of the correction; less where the free end oscillates too slowly for it"),
    setting::number("feed_gain", "1/s", "0.5", {0.0, 100.0},
                    "the same while feeding, with feedback = model"),
    setting::number("rate_time", "s", "0.8", {0.0, 100.0},
                    "gain of rate damping, with feedback = model: the curvature opposes the tip's "
                    "velocity times this"),
    setting::number("rate_filter", "s", "0.85", {0.0, 100.0, true},
                    "time constant of the filter of that velocity; must exceed rate_time"),
    setting::number("rate_damping_limit", "1/m", "0.3", {0.0, 1000.0},
                    "largest curvature added by rate damping"),
    setting::number("damping", "m", "0.002", {0.0, 1.0, true},
                    "lambda of the damped inverse of the correction's Jacobian"),
    setting::number("period", "s", "0.05", {0.0, 100.0, true},
                    "time between two steps of the correction, at least one time step"),
    setting::number("error_limit", "m", "0.03", {0.0, 100.0, true},
                    "tip errors are limited to this norm"),
    setting::number("step_limit", "", "0.02", {0.0, 100.0, true},
                    "largest step of the correction, in units of 1/m (curvature) and 0.05 m "
                    "(length)"),
    setting::number("tolerance", "m", "0.001", {0.0, 100.0, true},
                    "tip error at which the task is finished")};

constexpr SettingInfo kMonitorSettings[] = {
    setting::number("contact_distance", "m", "0.01", {0.0, 100.0, true},
                    "largest distance of a measured contact from a planned one for the latter to "
                    "count as made"),
    setting::jam_feed_force(),
    setting::jam_time("0.2", "minimum duration of that force"),
    setting::number("tracking_tolerance", "m", "0.06", {0.0, 100.0, true},
                    "distance of the tip from its planned position at which a path has failed, "
                    "after 1 s"),
    setting::number("force_limit", "N", "30", {0.0, 1e9, true},
                    "sum of the contact forces at which a path has failed, after 0.2 s"),
    setting::number("stall_timeout", "s", "10", {0.0, 1e6, true},
                    "a path has failed when the tip, at its end, makes no progress towards the "
                    "target for so long, or is not there after three times as long")};

}  // namespace

std::span<const SettingInfo> ContactPlanOptions::settings() {
  static const std::vector<SettingInfo> kAll =
      joined({kPlanSettings, kFeedSettings, kCorrectionSettings, kMonitorSettings});
  return kAll;
}

ContactPlanOptions ContactPlanOptions::from(const Settings& settings) {
  ContactPlanOptions options{.max_contacts = settings.integer("max_contacts"),
                             .max_candidates = settings.integer("max_candidates"),
                             .elastic = settings.flag("elastic"),
                             .inserted = settings.flag("inserted"),
                             .passing_clearance = settings.number("passing_clearance"),
                             .guide_clearance = settings.number("guide_clearance"),
                             .speed = settings.number("speed"),
                             .acceleration = settings.number("acceleration"),
                             .curvature_rate = settings.number("curvature_rate"),
                             .ramp = settings.number("ramp"),
                             .start_delay = settings.number("start_delay"),
                             .feedback = settings.choice<Feedback>("feedback"),
                             .gain = settings.number("gain"),
                             .feed_gain = settings.number("feed_gain"),
                             .locate_gain = settings.number("locate_gain"),
                             .rate_time = settings.number("rate_time"),
                             .rate_filter = settings.number("rate_filter"),
                             .rate_damping_limit = settings.number("rate_damping_limit"),
                             .damping = settings.number("damping"),
                             .period = settings.number("period"),
                             .error_limit = settings.number("error_limit"),
                             .step_limit = settings.number("step_limit"),
                             .tolerance = settings.number("tolerance"),
                             .contact_distance = settings.number("contact_distance"),
                             .jam_feed_force = settings.optional_number("jam_feed_force"),
                             .jam_time = settings.number("jam_time"),
                             .tracking_tolerance = settings.number("tracking_tolerance"),
                             .force_limit = settings.number("force_limit"),
                             .stall_timeout = settings.number("stall_timeout")};
  if (options.feedback == Feedback::Model && !options.elastic)
    throw ModelError("feedback = model: needs elastic = true");
  if (options.feedback == Feedback::Auto)
    options.feedback = options.elastic ? Feedback::Model : Feedback::Contact;
  if (!(options.rate_filter > options.rate_time)) {
    throw ModelError(fmt::format("rate_filter = {}: must be > rate_time = {}",
                                 settings.text("rate_filter"), settings.text("rate_time")));
  }
  return options;
}

}  // namespace tendril
