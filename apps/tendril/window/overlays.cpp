#include "apps/tendril/window/overlays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/tendril/window/check_text.hpp"
#include "apps/tendril/window/key_map.hpp"

namespace tendril {
namespace {

constexpr std::size_t kNamedContacts = 4;  // pairs of bodies in the list of contacts
constexpr int kBarMargin = 24, kBarHeight = 10, kBarBottom = 14;  // pixels

/// Two columns of text.
struct Table {
  std::string names, values;

  void add(std::string_view name, std::string_view value) {
    if (!names.empty()) {
      names += '\n';
      values += '\n';
    }
    names += name;
    values += value;
  }
  void draw(mjtGridPos place, const mjrRect& whole, const mjrContext& context) const {
    if (names.empty()) return;
    mjr_overlay(mjFONT_NORMAL, place, whole, names.c_str(), values.c_str(), &context);
  }
};

int width_of(const mjrContext& context, char c) {
  return context.charWidth[std::clamp(static_cast<int>(c), 0, 126)];
}

/// Returns the width of the longest line, in pixels.
int width_of(const mjrContext& context, const std::string& text) {
  int widest = 0, line = 0;
  for (const char c : text) {
    line = c == '\n' ? 0 : line + width_of(context, c);
    widest = std::max(widest, line);
  }
  return widest;
}

/// Wraps a text into lines that fit a width, in pixels: broken at spaces, long words anywhere.
std::string wrapped(const mjrContext& context, const std::string& text, int width) {
  const int most = std::min(width - 2 * context.charHeight, 70 * width_of(context, 'n'));
  std::string out, word;
  int column = 0;
  const auto put = [&] {
    const int size = width_of(context, word);
    if (column > 0 && column + size > most) {
      out.back() = '\n';  // the space before the word
      column = 0;
    }
    for (const char c : word) {
      if (column > 0 && column + width_of(context, c) > most) {
        out += '\n';
        column = 0;
      }
      out += c;
      column += width_of(context, c);
    }
    word.clear();
  };
  for (const char c : text) {
    if (c != ' ' && c != '\n') {
      word += c;
      continue;
    }
    put();
    out += c;
    column = c == '\n' ? 0 : column + width_of(context, c);
  }
  put();
  return out;
}

// ---- numbers

std::string speed_text(double speed) {
  return speed >= 1.0 ? fmt::format("{:g} x", speed) : fmt::format("1/{:g} x", 1.0 / speed);
}

const char* status_text(double status) {
  return to_string(static_cast<ControllerStatus>(std::clamp(status, 0.0, kStatusCount - 1.0)));
}

/// Returns the name of the geom, or of its body if it has none.
std::string geom_name(const mjModel& model, int geom) {
  if (const char* name = mj_id2name(&model, mjOBJ_GEOM, geom)) return name;
  const char* body = mj_id2name(&model, mjOBJ_BODY, model.geom_bodyid[geom]);
  return body != nullptr ? body : fmt::format("geom {}", geom);
}

struct NamedForce {
  std::string names;
  double force;  ///< sum of the normal forces [N]
};

/// The pairs of bodies that press most on each other.
std::vector<NamedForce> strongest_contacts(const mjModel& model, const mjData& d) {
  std::map<std::pair<int, int>, double> forces;
  for (int i = 0; i < d.ncon; ++i) {
    mjtNum force[6];
    mj_contactForce(&model, &d, i, force);
    if (d.contact[i].geom[0] < 0 || d.contact[i].geom[1] < 0) continue;
    forces[{d.contact[i].geom[0], d.contact[i].geom[1]}] += force[0];
  }
  std::vector<NamedForce> named;
  named.reserve(forces.size());
  for (const auto& [pair, force] : forces)
    named.push_back({geom_name(model, pair.first) + " - " + geom_name(model, pair.second), force});
  const std::size_t count = std::min(kNamedContacts, named.size());
  std::partial_sort(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(count), named.end(),
                    [](const NamedForce& a, const NamedForce& b) { return a.force > b.force; });
  named.resize(count);
  return named;
}

void add_robots(Table& table, const Session& s, const mjData& d) {
  const std::span<const simulation::RobotBodies::Robot> robots = s.drawn->robots.robots();
  for (const simulation::RobotBodies::Robot& robot : robots) {
    const auto value = [&](const char* name) {
      const int id = mj_name2id(&s.model(), mjOBJ_SENSOR, robot.names(name).c_str());
      return id < 0 ? std::nan("") : d.sensordata[s.model().sensor_adr[id]];
    };
    if (robots.size() > 1) table.add("Robot", robot.names.title());
    const double tip_error = value("tip_error"), status = value("status"),
                 progress = value("progress");
    if (!std::isnan(tip_error)) table.add("Tip error", fmt::format("{:.2f} mm", 1e3 * tip_error));
    if (!std::isnan(status)) table.add("Status", status_text(status));
    if (!std::isnan(progress)) table.add("Progress", fmt::format("{:.0f} %", 100.0 * progress));
  }
  if (robots.size() > 1) table.add("All", "");
}

void add_contacts(Table& table, const Session& s, const mjData& d) {
  const double force = s.source->signals().wall_force(d);
  if (!std::isnan(force)) table.add("Wall force", fmt::format("{:.2f} N", force));
  table.add("Contacts", fmt::format("{}", d.ncon));
  if (s.shown.scene.flags[mjVIS_CONTACTPOINT] == 0) return;
  for (const NamedForce& pair : strongest_contacts(s.model(), d))
    table.add(pair.names, fmt::format("{:.2f} N", pair.force));
}

void add_hands(Table& table, const Session& s, const mjData& d) {
  if (s.source->has_motions() && !s.source->motions_on()) table.add("Motions", "off (M)");
  if (const int body = s.mouse.selected(); body > 0) {
    const char* name = mj_id2name(&s.model(), mjOBJ_BODY, body);
    table.add("Selected", name != nullptr ? name : fmt::format("body {}", body));
  }
  if (s.mouse.pull_force() > 0.0) table.add("Pull", fmt::format("{:.2f} N", s.mouse.pull_force()));
  if (const auto since = s.source->recorded_since())
    table.add("Recording", fmt::format("{:.2f} s", d.time - *since));
  table.add("Help", "F1");
  if (s.panel && !s.shown.panel) table.add("Panel", "F3");
}

/// Draws the numbers at the upper left. Returns the width, in pixels.
int draw_numbers(Session& s, const mjrRect& whole) {
  const mjData& d = s.source->data();
  Table table;
  table.add("Time", fmt::format("{:.3f} s", d.time));
  const std::string real = s.paused ? ", paused" : fmt::format(", real {:.2g} x", s.measured_speed);
  table.add("Speed", speed_text(s.speed) + real);
  add_robots(table, s, d);
  add_contacts(table, s, d);
  add_hands(table, s, d);
  const mjrContext& context = s.drawn->context;
  table.draw(mjGRID_TOPLEFT, whole, context);
  return width_of(context, table.names) + width_of(context, table.values) +
         3 * context.charHeight;  // with margins
}

// ---- checks, help, bar

const char* verdict(const simulation::LiveCheck& live_check) {
  const simulation::Check& check = live_check.check;
  if (live_check.holds) return "ok";
  const bool too_high = check.metric.statistic == simulation::Statistic::Max && check.max &&
                        live_check.value > *check.max;
  const bool too_low = check.metric.statistic == simulation::Statistic::Min && check.min &&
                       live_check.value < *check.min;
  return too_high || too_low ? "failed" : "not yet";
}

/// The checks of the experiment, with their values so far.
void draw_checks(const Session& s, const mjrRect& whole) {
  Table table;
  for (const simulation::LiveCheck& check : s.source->checks())
    table.add(check.check.name, fmt::format("{}  ({})  {}", readable(check.value, check.unit),
                                            limits(check.check, check.unit), verdict(check)));
  table.draw(mjGRID_BOTTOMLEFT, whole, s.drawn->context);
}

void draw_help(const Session& s, const mjrRect& whole) {
  Table table;
  for (const KeyRow& row : key_rows())
    if (row.name != nullptr && applies(row, *s.source)) table.add(row.name, row.help);
  if (!s.drawn->centerlines.robots().empty()) {
    table.add(" \nYellow line", " \npath");
    table.add("Blue line", "planned centerline");
    table.add("Red line", "actual centerline");
  }
  table.draw(mjGRID_TOPRIGHT, whole, s.drawn->context);
}

void draw_time_bar(Session& s, const mjrRect& whole) {
  const auto [first, last] = *s.source->range();
  const double time = s.source->data().time;
  const mjrRect bar = time_bar(whole);
  const double fraction =
      last > first ? std::clamp((time - first) / (last - first), 0.0, 1.0) : 0.0;
  const int done = static_cast<int>(std::lround(fraction * bar.width));
  mjr_rectangle({0, 0, whole.width, 2 * kBarBottom + kBarHeight}, 0.08F, 0.10F, 0.13F, 0.75F);
  mjr_rectangle(bar, 0.35F, 0.38F, 0.42F, 1.0F);
  mjr_rectangle({bar.left, bar.bottom, done, kBarHeight}, 0.35F, 0.70F, 1.0F, 1.0F);
  constexpr int kKnob = 20;
  mjr_rectangle(
      {bar.left + done - kKnob / 4, kBarBottom + (kBarHeight - kKnob) / 2, kKnob / 2, kKnob}, 1.0F,
      1.0F, 1.0F, 1.0F);
  mjrRect above = whole;
  above.bottom = 2 * kBarBottom + kBarHeight;
  above.height = std::max(1, whole.height - above.bottom);
  mjr_overlay(mjFONT_NORMAL, mjGRID_BOTTOMLEFT, above, s.paused ? "Paused" : "Playing",
              fmt::format("{:.2f} / {:.2f} s", time, last).c_str(), &s.drawn->context);
}

/// @param area  next to the numbers
void draw_notice(const Session& s, const mjrRect& area) {
  if (s.window.time() >= s.notice_end) return;
  mjr_overlay(mjFONT_NORMAL, mjGRID_TOP, area,
              wrapped(s.drawn->context, s.notice, area.width).c_str(), nullptr, &s.drawn->context);
}

/// Why a simulation stopped; a recording only ends.
void draw_stop(const Session& s, const mjrRect& area) {
  const std::string stopped = s.source->stopped();
  if (stopped.empty() || !s.source->is_live()) return;
  const mjrContext& context = s.drawn->context;
  mjr_overlay(mjFONT_BIG, mjGRID_TOP, area, "\n\nThe simulation stopped", nullptr, &context);
  const std::string why = wrapped(context, stopped, area.width);
  mjr_overlay(mjFONT_NORMAL, mjGRID_TOP, area,
              fmt::format("\n\n\n\n\n\n{}\nBackspace: reset", why).c_str(), nullptr, &context);
}

}  // namespace

mjrRect time_bar(const mjrRect& whole) {
  return {kBarMargin, kBarBottom, std::max(1, whole.width - 2 * kBarMargin), kBarHeight};
}

bool is_on(const mjrRect& bar, double x, double y) {
  constexpr double kMargin = 10.0;
  return x >= bar.left - kMargin && x <= bar.left + bar.width + kMargin &&
         y >= bar.bottom - kMargin && y <= bar.bottom + bar.height + kMargin;
}

void draw_overlays(Session& s, const mjrRect& whole) {
  if (s.shown.plots && !s.shown.help)  // both need the right side
    s.plots.draw(*s.source, whole, s.drawn->context);
  if (s.source->range()) draw_time_bar(s, whole);
  mjrRect area = whole;
  if (s.shown.numbers) {
    area.left += draw_numbers(s, whole);
    draw_checks(s, whole);
  }
  if (s.shown.help) draw_help(s, whole);
  area.width -= area.left - whole.left;
  draw_notice(s, area);
  draw_stop(s, area);
}

}  // namespace tendril
