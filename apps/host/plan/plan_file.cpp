#include "apps/host/plan/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <utility>

#include "apps/host/plan/plan_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril::host {
namespace {

using Eigen::Vector2d;
using robot_file_detail::Allowed;
using robot_file_detail::Fields;
using robot_file_detail::kLargestNumber;
using robot_file_detail::kNotNegative;
using robot_file_detail::kPositive;
using robot_file_detail::Lines;
using std::numbers::pi;

constexpr Allowed kBend{0.0, 2.0 * pi, false, "must be in (0, 2 pi]"};
constexpr Allowed kTolerance{0.0, 1e-3, false, "must be in (0, 1e-3]"};
constexpr int kLargestCount = 10'000'000;

Vector2d point_of(const Fields& fields) {
  return {fields.required_number("x", kPlanCoordinate),
          fields.required_number("z", kPlanCoordinate)};
}

Vector2d read_point(const Fields& fields, std::string_view key, const std::string& file,
                    const std::string& object) {
  constexpr std::array<std::string_view, 2> kKeys{"x", "z"};
  return point_of(plan_sub_table(fields, key, file, object, kKeys));
}

Disc read_disc(const Fields& fields, std::string_view key, const std::string& file,
               const std::string& object) {
  constexpr std::array<std::string_view, 3> kKeys{"x", "z", "radius"};
  const Fields inner = plan_sub_table(fields, key, file, object, kKeys);
  return {point_of(inner), inner.required_number("radius", kNotNegative)};
}

Polygon read_box(const Fields& fields, const std::string& file, const std::string& object) {
  constexpr std::array<std::string_view, 2> kKeys{"x", "z"};
  const Fields inner = plan_sub_table(fields, "box", file, object, kKeys);
  std::array<std::array<double, 2>, 2> range{};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    if (!inner.has(kKeys[i])) inner.refuse(kKeys[i], "is missing, must be [low, high]");
    const std::vector<double> numbers = inner.numbers(kKeys[i], kPlanCoordinate);
    if (numbers.size() != 2 || !(numbers[0] < numbers[1]))
      inner.refuse(kKeys[i], "must be [low, high] with low < high");
    range[i] = {numbers[0], numbers[1]};
  }
  return box_polygon(range[0][0], range[0][1], range[1][0], range[1][1]);
}

Polygon read_polygon(const Fields& fields) {
  constexpr std::string_view kKey = "polygon";
  const toml::array* corners = fields.table().get(kKey)->as_array();
  if (corners == nullptr) fields.refuse(kKey, "must be a list of [x, z]");
  Polygon polygon;
  for (const toml::node& element : *corners) {
    const toml::array* corner = element.as_array();
    if (corner == nullptr || corner->size() != 2)
      fields.refuse(kKey, "every corner must be [x, z]");
    polygon.corners.emplace_back(fields.element(kKey, *corner->get(0), kPlanCoordinate),
                                 fields.element(kKey, *corner->get(1), kPlanCoordinate));
  }
  return polygon;
}

void add_obstacle(const Fields& fields, PlanFile& plan, const std::string& file,
                  const std::string& object) {
  constexpr std::array<std::string_view, 3> kKinds{"box", "polygon", "disc"};
  fields.refuse_unknown(kKinds);
  const std::string_view kind = plan_kind_of(fields, kKinds);
  try {
    if (kind == "disc") {
      plan.scene.add(read_disc(fields, kind, file, object));
    } else {
      plan.scene.add(kind == "box" ? read_box(fields, file, object) : read_polygon(fields));
    }
  } catch (const ModelError& error) {
    const std::string what = error.what();
    if (what.starts_with(file)) throw;  // has its place already
    fields.refuse_object(what);
  }
}

int read_obstacle_index(const Fields& fields, std::string_view key, const PlanarScene& scene) {
  if (scene.size() == 0) fields.refuse(key, "there is no obstacle");
  if (!fields.has(key)) fields.refuse(key, "is missing, must be the number of an obstacle, from 0");
  return fields.integer(key, 0, 0, scene.size() - 1);
}

/// What a place on a surface stands for: the nearest obstacle's post, or its corners within
/// `slack`.
void add_surface_point(const Fields& fields, PlanFile& plan, const Vector2d& point, double slack) {
  int nearest = -1;
  double distance = std::numeric_limits<double>::infinity();
  for (int i = 0; i < plan.scene.size(); ++i) {
    const double d = std::abs(plan.scene.obstacle_distance(i, point));
    if (d < distance) distance = d, nearest = i;
  }
  if (!(distance <= slack + plan.options.tolerance))
    fields.refuse("point", fmt::format("is {:.3g} m from the nearest obstacle's surface, must be "
                                       "at most slack = {} m",
                                       distance, slack));
  const std::size_t before = plan.contacts.size();
  for (ContactPoint contact : contact_points_of(plan.scene.obstacle(nearest))) {
    contact.desired = point;
    contact.slack = slack;
    const double away = (contact.disc.centre - point).norm() - contact.disc.radius;
    if (away <= slack + plan.options.tolerance) plan.contacts.push_back(contact);
  }
  if (plan.contacts.size() == before)
    fields.refuse("slack",
                  fmt::format("no corner of obstacle {} is that near, must be larger", nearest));
}

void add_contact(const Fields& fields, PlanFile& plan, const std::string& file,
                 const std::string& object) {
  constexpr std::array<std::string_view, 5> kKeys{"corner", "post", "obstacle", "point", "slack"};
  fields.refuse_unknown(kKeys);
  const std::string_view kind = plan_kind_of(fields, PlanKeys(kKeys).first(4));
  if (fields.has("slack") && kind != "point") fields.refuse("slack", "goes with point only");
  if (kind == "corner") {
    plan.contacts.push_back({.disc = {read_point(fields, kind, file, object), 0.0}});
  } else if (kind == "post") {
    plan.contacts.push_back({.disc = read_disc(fields, kind, file, object)});
  } else if (kind == "obstacle") {
    const int index = read_obstacle_index(fields, kind, plan.scene);
    for (const ContactPoint& contact : contact_points_of(plan.scene.obstacle(index)))
      plan.contacts.push_back(contact);
  } else {
    const double slack = fields.required_number("slack", kNotNegative);
    add_surface_point(fields, plan, read_point(fields, kind, file, object), slack);
  }
}

GraspGoal read_grasp(const Fields& fields, const PlanFile& plan, const std::string& file) {
  constexpr std::array<std::string_view, 3> kKeys{"object", "wrap_angle", "side"};
  const Fields inner = plan_sub_table(fields, "grasp", file, "", kKeys);
  GraspGoal goal;
  goal.object = read_obstacle_index(inner, "object", plan.scene);
  goal.wrap_angle = inner.required_number(
      "wrap_angle", {0.0, std::nextafter(2.0 * pi, 0.0), false, "must be in (0, 2 pi)"});
  const std::string side = inner.text("side", "both");
  if (side == "positive") {
    goal.side = BodySide::Positive;
  } else if (side == "negative") {
    goal.side = BodySide::Negative;
  } else if (side != "both") {
    inner.refuse("side", "must be one of: positive, negative, both");
  }
  return goal;
}

}  // namespace

PlanFile parse_plan(std::string_view toml, const std::string& file_name) {
  constexpr std::array<std::string_view, 16> kPlanKeys{
      "name",         "base",       "target",    "grasp",  "body_radius", "max_curvature",
      "max_bend",     "max_length", "tolerance", "rule",   "search",      "sections",
      "min_contacts", "max_arcs",   "obstacle",  "contact"};
  const toml::table contents = robot_file_detail::parse_toml(toml, file_name);
  const Fields fields(contents, file_name, "", Lines::Named);
  fields.refuse_unknown(kPlanKeys);

  PlanFile plan;
  plan.name = fields.text("name", std::filesystem::path(file_name).stem().string());
  if (fields.has("base")) {
    constexpr std::array<std::string_view, 3> kPoseKeys{"x", "z", "heading"};
    const Fields base = plan_sub_table(fields, "base", file_name, "", kPoseKeys);
    plan.base = {point_of(base), base.number("heading", 0.0, kPlanCoordinate)};
  }
  ContactPlannerOptions& o = plan.options;
  o.body_radius = fields.number("body_radius", o.body_radius, kNotNegative);
  o.max_curvature = fields.number("max_curvature", o.max_curvature, kPositive);
  o.max_bend = fields.number("max_bend", o.max_bend, kBend);
  o.max_length = fields.number("max_length", o.max_length, kPositive);
  o.tolerance = fields.number("tolerance", o.tolerance, kTolerance);
  const std::string rule = fields.text("rule", to_string(o.rule));
  if (rule != "persistent" && rule != "local")
    fields.refuse("rule", "must be one of: persistent, local");
  o.rule = rule == "local" ? ContactRule::Local : ContactRule::Persistent;
  const std::string search = fields.text("search", to_string(o.search));
  if (search != "exhaustive" && search != "pruned")
    fields.refuse("search", "must be one of: exhaustive, pruned");
  o.search = search == "pruned" ? ContactSearch::Pruned : ContactSearch::Exhaustive;
  o.section_count = fields.integer("sections", o.section_count, 1, kLargestCount);
  o.min_contacts = fields.integer("min_contacts", o.min_contacts, 0, kLargestCount);
  o.max_arcs = fields.integer("max_arcs", o.max_arcs, 1, kLargestCount);
  for_each_plan_table(fields, "obstacle", file_name, 0,
                      [&](const Fields& table, const std::string& object) {
                        add_obstacle(table, plan, file_name, object);
                      });
  for_each_plan_table(fields, "contact", file_name, 0,
                      [&](const Fields& table, const std::string& object) {
                        add_contact(table, plan, file_name, object);
                      });

  if (fields.has("target")) plan.target = read_point(fields, "target", file_name, "");
  if (fields.has("grasp")) plan.grasp = read_grasp(fields, plan, file_name);
  if (plan.target && plan.grasp) fields.refuse_object("target and grasp: must be one of them");
  if (!plan.target && !plan.grasp) fields.refuse_object("must have one of: target, grasp");
  return plan;
}

}  // namespace tendril::host
