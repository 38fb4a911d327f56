#include "tendril/plan_file/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <utility>

#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using std::numbers::pi;

constexpr Range kBend{0.0, 2.0 * pi, true};
constexpr Range kTolerance{0.0, 1e-3, true};
constexpr int kLargestCount = 10'000'000;
constexpr std::size_t kMaxContacts = 20'000;  // of all obstacles

Vector2d point_of(const Fields& fields) {
  return {fields.required_number("x", kAnyNumber), fields.required_number("z", kAnyNumber)};
}

Vector2d read_point(const Fields& fields, std::string_view key) {
  return point_of(fields.required_table(key, {"x", "z"}));
}

Disc read_disc(const Fields& fields, std::string_view key) {
  const Fields inner = fields.required_table(key, {"x", "z", "radius"});
  return {point_of(inner), inner.required_number("radius", kNotNegativeNumber)};
}

Polygon read_box(const Fields& fields) {
  const Fields inner = fields.required_table("box", {"x", "z"});
  const auto side = [&](std::string_view key) {
    const auto ends = inner.numbers(key, 2, kAnyNumber);
    if (!ends) inner.missing(key, "is missing, must be [low, high]");
    if (!((*ends)[0] < (*ends)[1])) inner.refuse(key, "must be [low, high] with low < high");
    return *ends;
  };
  const std::vector<double> x = side("x"), z = side("z");
  return box_polygon(x[0], x[1], z[0], z[1]);
}

void add_obstacle(const Fields& fields, PlanFile& plan) {
  fields.refuse_unknown({"box", "polygon", "disc"});
  const std::string_view kind = fields.one_of({"box", "polygon", "disc"});
  const auto add = [&](auto shape) {
    try {
      plan.scene.add(std::move(shape));
    } catch (const ModelError& error) {
      fields.refuse_object(error.what());
    }
  };
  if (kind == "disc") {
    add(read_disc(fields, kind));
  } else if (kind == "box") {
    add(read_box(fields));
  } else {
    Polygon polygon;
    for (const std::vector<double>& corner : fields.rows(kind, 2, kAnyNumber))
      polygon.corners.emplace_back(corner[0], corner[1]);
    add(std::move(polygon));
  }
}

int read_obstacle_index(const Fields& fields, std::string_view key, const PlanarScene& scene) {
  if (scene.size() == 0) fields.refuse(key, "there is no obstacle");
  if (!fields.has(key)) fields.refuse(key, "is missing, must be the number of an obstacle, from 0");
  return fields.integer(key, 0, 0, scene.size() - 1);
}

/// The contact discs for a point on a surface: the nearest obstacle if it is a disc, otherwise its
/// corners within `slack`.
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
    const double away = (contact.disc.center - point).norm() - contact.disc.radius;
    if (away <= slack + plan.options.tolerance) plan.contacts.push_back(contact);
  }
  if (plan.contacts.size() == before)
    fields.refuse("slack",
                  fmt::format("no corner of obstacle {} is within it, must be larger", nearest));
}

void add_contact(const Fields& fields, PlanFile& plan) {
  fields.refuse_unknown({"corner", "post", "obstacle", "point", "slack"});
  const std::string_view kind = fields.one_of({"corner", "post", "obstacle", "point"});
  if (fields.has("slack") && kind != "point") fields.refuse("slack", "must go with point");
  if (kind == "corner") {
    plan.contacts.push_back({.disc = {read_point(fields, kind), 0.0}});
  } else if (kind == "post") {
    plan.contacts.push_back({.disc = read_disc(fields, kind)});
  } else if (kind == "obstacle") {
    const int index = read_obstacle_index(fields, kind, plan.scene);
    for (const ContactPoint& contact : contact_points_of(plan.scene.obstacle(index)))
      plan.contacts.push_back(contact);
  } else {
    const double slack = fields.required_number("slack", kNotNegativeNumber);
    add_surface_point(fields, plan, read_point(fields, kind), slack);
  }
  if (plan.contacts.size() > kMaxContacts)
    fields.refuse_object(
        fmt::format("are {} contacts, must be at most {}", plan.contacts.size(), kMaxContacts));
}

GraspGoal read_grasp(const Fields& fields, const PlanFile& plan) {
  const Fields inner = fields.required_table("grasp", {"object", "wrap_angle", "side"});
  GraspGoal goal;
  goal.object = read_obstacle_index(inner, "object", plan.scene);
  goal.wrap_angle = inner.required_number("wrap_angle", {0.0, 2.0 * pi, true, true});
  goal.side = inner.choice<std::optional<BodySide>>(
      "side",
      {{"both", std::nullopt}, {"positive", BodySide::Positive}, {"negative", BodySide::Negative}});
  return goal;
}

}  // namespace

PlanFile parse_plan(std::string_view toml, const std::string& file_name) {
  const toml::table contents = parse_toml(toml, file_name);
  const Fields fields(contents, file_name);
  fields.refuse_unknown({"name", "base", "target", "grasp", "body_radius", "max_curvature",
                         "max_bend", "max_length", "tolerance", "rule", "search", "sections",
                         "min_contacts", "max_contacts", "max_arcs", "obstacle", "contact"});

  PlanFile plan;
  plan.name = fields.text("name", std::filesystem::path(file_name).stem().string());
  if (fields.has("base")) {
    const Fields base = fields.required_table("base", {"x", "z", "heading"});
    plan.base = {point_of(base), base.number("heading", 0.0, kAnyNumber)};
  }
  ContactPlannerOptions& o = plan.options;
  o.body_radius = fields.number("body_radius", o.body_radius, kNotNegativeNumber);
  o.max_curvature = fields.number("max_curvature", o.max_curvature, kPositiveNumber);
  o.max_bend = fields.number("max_bend", o.max_bend, kBend);
  o.max_length = fields.number("max_length", o.max_length, kPositiveNumber);
  o.tolerance = fields.number("tolerance", o.tolerance, kTolerance);
  o.rule = fields.choice<ContactRule>(
      "rule", {{"persistent", ContactRule::Persistent}, {"local", ContactRule::Local}});
  o.search = fields.choice<ContactSearch>(
      "search", {{"exhaustive", ContactSearch::Exhaustive}, {"pruned", ContactSearch::Pruned}});
  o.section_count = fields.integer("sections", o.section_count, 1, kLargestCount);
  o.min_contacts = fields.integer("min_contacts", o.min_contacts, 0, kLargestCount);
  o.max_contacts = fields.integer("max_contacts", o.max_contacts, 0, kLargestCount);
  o.max_arcs = fields.integer("max_arcs", o.max_arcs, 1, kLargestCount);
  for (const Fields& obstacle : fields.tables("obstacle", 0)) add_obstacle(obstacle, plan);
  for (const Fields& contact : fields.tables("contact", 0)) add_contact(contact, plan);

  if (fields.one_of({"target", "grasp"}) == "target") {
    plan.target = read_point(fields, "target");
  } else {
    plan.grasp = read_grasp(fields, plan);
  }
  return plan;
}

}  // namespace tendril
