#include "controllers/arm/contact_plan_options.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tendril/model_error.hpp"

using namespace tendril;

namespace {

using Feedback = ContactPlanOptions::Feedback;

ContactPlanOptions read(Settings::Texts texts = {}) {
  return ContactPlanOptions::from(Settings(ContactPlanOptions::settings(), std::move(texts)));
}

}  // namespace

TEST_CASE("contact plan options: without settings they have their own defaults", "[controllers]") {
  const ContactPlanOptions read_ones = read(), own;
  CHECK(read_ones.max_contacts == own.max_contacts);
  CHECK(read_ones.max_candidates == own.max_candidates);
  CHECK(read_ones.elastic == own.elastic);
  CHECK(read_ones.inserted == own.inserted);
  CHECK(read_ones.passing_clearance == own.passing_clearance);
  CHECK(read_ones.guide_clearance == own.guide_clearance);
  CHECK(read_ones.speed == own.speed);
  CHECK(read_ones.acceleration == own.acceleration);
  CHECK(read_ones.curvature_rate == own.curvature_rate);
  CHECK(read_ones.ramp == own.ramp);
  CHECK(read_ones.start_delay == own.start_delay);
  CHECK(read_ones.feedback == own.feedback);
  CHECK(read_ones.gain == own.gain);
  CHECK(read_ones.feed_gain == own.feed_gain);
  CHECK(read_ones.locate_gain == own.locate_gain);
  CHECK(read_ones.rate_time == own.rate_time);
  CHECK(read_ones.rate_filter == own.rate_filter);
  CHECK(read_ones.rate_damping_limit == own.rate_damping_limit);
  CHECK(read_ones.damping == own.damping);
  CHECK(read_ones.period == own.period);
  CHECK(read_ones.error_limit == own.error_limit);
  CHECK(read_ones.step_limit == own.step_limit);
  CHECK(read_ones.tolerance == own.tolerance);
  CHECK(read_ones.contact_distance == own.contact_distance);
  CHECK(read_ones.jam_feed_force == own.jam_feed_force);
  CHECK(read_ones.jam_time == own.jam_time);
  CHECK(read_ones.tracking_tolerance == own.tracking_tolerance);
  CHECK(read_ones.force_limit == own.force_limit);
  CHECK(read_ones.stall_timeout == own.stall_timeout);
}

TEST_CASE("contact plan options: every number is read into the field of its name",
          "[controllers]") {
  struct Case {
    const char* name;
    double ContactPlanOptions::*field;
  };
  const auto c = GENERATE(values<Case>({
      {"passing_clearance", &ContactPlanOptions::passing_clearance},
      {"guide_clearance", &ContactPlanOptions::guide_clearance},
      {"speed", &ContactPlanOptions::speed},
      {"acceleration", &ContactPlanOptions::acceleration},
      {"curvature_rate", &ContactPlanOptions::curvature_rate},
      {"ramp", &ContactPlanOptions::ramp},
      {"start_delay", &ContactPlanOptions::start_delay},
      {"gain", &ContactPlanOptions::gain},
      {"feed_gain", &ContactPlanOptions::feed_gain},
      {"locate_gain", &ContactPlanOptions::locate_gain},
      {"rate_time", &ContactPlanOptions::rate_time},
      {"rate_damping_limit", &ContactPlanOptions::rate_damping_limit},
      {"damping", &ContactPlanOptions::damping},
      {"period", &ContactPlanOptions::period},
      {"error_limit", &ContactPlanOptions::error_limit},
      {"step_limit", &ContactPlanOptions::step_limit},
      {"tolerance", &ContactPlanOptions::tolerance},
      {"contact_distance", &ContactPlanOptions::contact_distance},
      {"jam_time", &ContactPlanOptions::jam_time},
      {"tracking_tolerance", &ContactPlanOptions::tracking_tolerance},
      {"force_limit", &ContactPlanOptions::force_limit},
      {"stall_timeout", &ContactPlanOptions::stall_timeout},
  }));
  CAPTURE(c.name);
  CHECK(read({{c.name, "0.0625"}}).*c.field == 0.0625);
}

TEST_CASE("contact plan options: feedback follows from elastic unless it is given",
          "[controllers]") {
  CHECK(read().feedback == Feedback::Model);
  CHECK(read({{"elastic", "false"}}).feedback == Feedback::Contact);
  CHECK(read({{"feedback", "none"}}).feedback == Feedback::None);
  CHECK(read({{"feedback", "contact"}}).feedback == Feedback::Contact);
  CHECK(read({{"jam_feed_force", "20"}}).jam_feed_force == 20.0);
}

TEST_CASE("contact plan options: settings that contradict each other are refused",
          "[controllers]") {
  CHECK_THROWS_WITH(read({{"feedback", "model"}, {"elastic", "false"}}),
                    "feedback = model: needs elastic = true");
  CHECK_THROWS_WITH(read({{"rate_time", "0.9"}, {"rate_filter", "0.9"}}),
                    "rate_filter = 0.9: must be > rate_time = 0.9");
}
