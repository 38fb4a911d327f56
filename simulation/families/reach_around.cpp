#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "simulation/families/scene_text.hpp"
#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/planned_contact.hpp"
#include "tendril/rod/elastic_plans.hpp"

namespace tendril::simulation::generate {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kBody = 0.01, kStiffness = 0.05, kFeed = 1.15, kMaxCurvature = 15.7;
constexpr int kMaxContacts = 3;

struct Box {
  Vector2d center, half;
  double turn;  // [rad], from x towards z of the plan

  [[nodiscard]] Polygon polygon() const {
    const Vector2d u(std::cos(turn), std::sin(turn)), v(-u.y(), u.x());
    const Vector2d a = half.x() * u, b = half.y() * v;
    return {{center - a - b, center + a - b, center + a + b, center - a + b}};
  }
};

/// Tells whether an elastic rod can be fed along the plan, its tip this far from all obstacles.
bool can_be_fed(const ContactPlan& plan, double room) {
  const std::vector<PlanarArc> path = passing_path(plan.base, plan.contacts, plan.target(), room);
  if (path.empty()) return false;
  double length = 0.0;
  for (const PlanarArc& arc : path) {
    length += arc.length;
    if (plan.scene.clearance(arc, kBody) < room - 1e-6) return false;
  }
  const ElasticRodOptions rod{.bending_stiffness = kStiffness,
                              .body_radius = kBody,
                              .element_length = length / 250.0,
                              .max_length = 1.2 * length,
                              .guide_clearance = 0.0005};
  ElasticCorrection correction(plan.scene, plan.base, rod);
  const std::vector<CorrectedState> states = correction.follow(path, plan.contacts);
  return !states.empty() && states.back().corrected() && states.back().length < kFeed;
}

struct Task {
  std::vector<Box> boxes;
  Vector2d target;
};

Task draw_task(RandomStream& draws, double difficulty, PlanarScene& scene,
               std::vector<ContactPoint>& points) {
  Task task;
  const int count = draws.integer(2, 3 + static_cast<int>(std::lround(4.0 * difficulty)));
  task.target = {draws.uniform(-0.45, 0.45), draws.uniform(0.25, 0.85)};
  for (int i = 0; i < count; ++i) {
    task.boxes.push_back({{draws.uniform(-0.5, 0.5), draws.uniform(0.1, 0.8)},
                          {draws.uniform(0.03, 0.12), draws.uniform(0.03, 0.12)},
                          draws.uniform(0.0, std::numbers::pi)});
    const Polygon polygon = task.boxes.back().polygon();
    const std::vector<ContactPoint> corners = contact_points_of(polygon);
    points.insert(points.end(), corners.begin(), corners.end());
    scene.add(polygon);
  }
  return task;
}

/// Draws until the target takes exactly that many contacts, and an elastic rod can be fed to it.
Task find_task(RandomStream& draws, double difficulty, int contacts, double room) {
  ContactPlanner planner({.body_radius = kBody,
                          .max_curvature = kMaxCurvature,
                          .max_length = kFeed,
                          .max_contacts = contacts,
                          .max_refusals = 0});
  for (int tries = 0;; ++tries) {
    if (tries > kMaxDraws) throw_no_scene_found("reach_around");
    PlanarScene scene;
    std::vector<ContactPoint> points;
    Task task = draw_task(draws, difficulty, scene, points);
    if (scene.clearance({{}, 0.0, 0.06}, kBody) < 0.02 ||
        scene.distance(task.target) < kBody + 0.02)
      continue;
    const ContactPlannerResult& found = planner.plan(scene, points, {}, task.target);
    if (found.solutions.empty()) continue;
    const ContactSolution& least = found.solutions.front();
    if (static_cast<int>(least.steps.size()) != contacts + 1) continue;
    const ContactPlan plan{.base = {},
                           .body_radius = kBody,
                           .arcs = planned_arcs(least.steps),
                           .contacts = planned_contacts(least.steps, points, kBody),
                           .scene = scene};
    if (can_be_fed(plan, room)) return task;
  }
}

std::string rod_text() {
  return "# An elastic rod with one actuation curvature, fed through a guide.\nkind = "
         "\"continuum\"\n"
         "name = \"rod\"\nplanar = true\ncompliance = \"link\"\n\n[base]\nfeed = 1.2\n"
         "feed_force_limit = 60\nguide_length = 1.2\n\n" +
         repeated(
             "[[section]]\nconstant_length = 0.4\nbend_limit = 6.28\nlinks = 40\nradius = 0.01\n"
             "mass = 0.1257\nbending_stiffness = 0.05\ndamping_time = 0.2\nbend_gain = 0\n\n",
             3) +
         "[controller]\nplugin = \"tendril.contact_plan\"\ntarget = \"target\"\n"
         "following_tolerance = 0.15   # the free end swings after every push\n";
}

std::string world_text(const Task& task) {
  std::string world =
      "    <frame pos=\"0 -1.2 0\" euler=\"-90 0 0\">\n"
      "      <attach model=\"rod\" body=\"base\" prefix=\"rod_\"/>\n    </frame>\n";
  for (std::size_t i = 0; i < task.boxes.size(); ++i) {
    const Box& box = task.boxes[i];
    world += fmt::format(
        "    <geom name=\"box_{}\" type=\"box\" pos=\"{}\" euler=\"0 0 {:.6f}\" size=\"{}\" "
        "contype=\"2\" "
        "conaffinity=\"1\" priority=\"1\" friction=\"0.3\" rgba=\"0.42 0.48 0.58 1\"/>\n",
        i + 1, text(Vector3d(box.center.x(), box.center.y(), 0.0)),
        box.turn * 180.0 / std::numbers::pi, text(Vector3d(box.half.x(), box.half.y(), 0.03)));
  }
  world += fmt::format(
      "    <body name=\"target\" mocap=\"true\" pos=\"{}\">\n"
      "      <geom size=\"0.008\" rgba=\"0.95 0.35 0.15 0.6\" contype=\"0\" conaffinity=\"0\"/>\n"
      "    </body>\n",
      text(Vector3d(task.target.x(), task.target.y(), 0.0)));
  return world;
}

}  // namespace

std::vector<GeneratedFile> reach_around(RandomStream& draws, double difficulty) {
  const int contacts = draws.integer(1, kMaxContacts);
  const double room = 0.010 - 0.008 * difficulty;
  const Task task = find_task(draws, difficulty, contacts, room);
  return {
      {"reach_around.toml",
       fmt::format("# An elastic rod reaches a target among {} boxes. It takes {} contact{}: no "
                   "way with fewer exists, by\n"
                   "# exhaustive search. A way exists: an elastic rod at rest, fed with its tip "
                   "{:.1f} mm from all boxes.\n",
                   task.boxes.size(), contacts, contacts > 1 ? "s" : "", 1000.0 * room) +
           experiment(80.0, "") + check("tip error at the end", "tip_error_end", "max = 0.001") +
           check("force on the boxes", "wall_force_max", "max = 30") +
           check("finished", "status_end", "min = 1\nmax = 1")},
      {"scene.xml", scene_xml("reach_around", model_asset("rod"), world_text(task))},
      {"rod.toml", rod_text()}};
}

}  // namespace tendril::simulation::generate
