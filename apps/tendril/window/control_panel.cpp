#include "apps/tendril/window/control_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "apps/tendril/window/fault_menu.hpp"
#include "simulation/scene/scene_robot.hpp"
#include "tendril/model/continuum/mjcf.hpp"

namespace tendril {
namespace {

constexpr int kDarkTheme = 0, kTightSpacing = 1;
constexpr std::size_t kMaxSliders = 120;  // of a section: the engine's panel has room for 200 items
constexpr int kMaxServos = mjMAXUIMULTI;  // of a list to select from
constexpr int kWhilePaused = 2;           // state of an item that the predicate decides

/// The engine's dark theme in the colors of the plots.
mjuiThemeColor colors() {
  mjuiThemeColor theme = mjui_themeColor(kDarkTheme);
  const auto set = [](std::initializer_list<float*> places, std::array<float, 3> color) {
    for (float* const place : places) std::copy(color.begin(), color.end(), place);
  };
  set({theme.master, theme.sectpane}, {0.08F, 0.10F, 0.13F});
  set({theme.secttitle, theme.separator}, {0.19F, 0.24F, 0.30F});
  set({theme.secttitle2, theme.separator2}, {0.13F, 0.17F, 0.22F});
  set({theme.slider}, {0.14F, 0.22F, 0.30F});
  set({theme.slider2}, {0.22F, 0.45F, 0.65F});
  set({theme.select, theme.select2}, {0.20F, 0.28F, 0.36F});
  set({theme.check, theme.radio}, {0.25F, 0.50F, 0.45F});
  set({theme.button}, {0.45F, 0.60F, 0.75F});
  set({theme.thumb}, {0.35F, 0.38F, 0.42F});
  return theme;
}

mjuiDef definition(int type, const std::string& name, void* data, const std::string& other,
                   int state = 1) {
  mjuiDef def{};
  def.type = type;
  mju_strncpy(def.name, name.c_str(), sizeof def.name);
  def.state = state;
  def.pdata = data;
  mju_strncpy(def.other, other.c_str(), sizeof def.other);
  return def;
}

std::string name_of(const mjModel& model, mjtObj type, int id) {
  const char* const name = mj_id2name(&model, type, id);
  return name != nullptr ? name : "";
}

struct Limits {
  double low, high;
};

/// Returns the limits of a control, or of the joint that it drives.
Limits control_limits(const mjModel& model, int actuator) {
  if (model.actuator_ctrllimited[actuator] != 0)
    return {model.actuator_ctrlrange[2 * actuator], model.actuator_ctrlrange[2 * actuator + 1]};
  const int joint = model.actuator_trnid[2 * actuator];
  if (model.actuator_trntype[actuator] == mjTRN_JOINT && joint >= 0 &&
      model.jnt_limited[joint] != 0)
    return {model.jnt_range[2 * joint], model.jnt_range[2 * joint + 1]};
  return {-1.0, 1.0};
}

/// Tells whether an actuator drives a hinge, or a tendon that is a sum of hinges; with lever arms
/// it is a length.
bool rotates(const mjModel& model, int actuator) {
  int joint = model.actuator_trnid[2 * actuator];
  if (model.actuator_trntype[actuator] == mjTRN_TENDON) {
    const int first = model.tendon_adr[joint];
    const bool sums =
        model.wrap_type[first] == mjWRAP_JOINT && std::abs(model.wrap_prm[first]) == 1.0;
    joint = sums ? model.wrap_objid[first] : -1;
  } else if (model.actuator_trntype[actuator] != mjTRN_JOINT) {
    return false;
  }
  return joint >= 0 && model.jnt_type[joint] == mjJNT_HINGE;
}

/// Returns the SI unit of a control; empty where it is not known.
std::string control_unit(const mjModel& model, int actuator) {
  const int kind = model.actuator_trntype[actuator];
  if (kind != mjTRN_JOINT && kind != mjTRN_TENDON) return "";
  const bool is_pressure =
      mj_name2id(&model, mjOBJ_SENSOR,
                 names::chamber_pressure(name_of(model, mjOBJ_ACTUATOR, actuator)).c_str()) >= 0 ||
      (kind == mjTRN_TENDON && model.actuator_gaintype[actuator] == mjGAIN_AFFINE);
  if (is_pressure) return "Pa";
  if (std::abs(model.actuator_gear[6 * actuator]) != 1.0) return "";
  const mjtNum* const bias = model.actuator_biasprm + mjNBIAS * actuator;
  const bool is_servo = model.actuator_biastype[actuator] == mjBIAS_AFFINE;
  const bool angular = rotates(model, actuator);
  if (is_servo && bias[1] != 0.0) return angular ? "rad" : "m";
  if (is_servo && bias[2] != 0.0) return angular ? "rad/s" : "m/s";
  return angular ? "N m" : "N";
}

/// "s2 bend x" of a section's or a link's coordinate, "s2_x" or "s2_l3_x"; other names as they are.
std::string shown_name(const std::string& name) {
  int section = 0, link = 0, length = 0;
  if (std::sscanf(name.c_str(), "s%d_l%d_%n", &section, &link, &length) < 2 || length == 0) {
    length = 0;
    if (std::sscanf(name.c_str(), "s%d_%n", &section, &length) < 1 || length == 0) return name;
  }
  const std::string_view kind = std::string_view(name).substr(static_cast<std::size_t>(length));
  if (kind == "x" || kind == "y") return fmt::format("s{} bend {}", section, kind);
  if (kind == "z") return fmt::format("s{} length", section);
  if (kind == "twist") return fmt::format("s{} twist", section);
  return name;
}

}  // namespace

ControlPanel::ControlPanel(simulation::LiveRun& run, mjrContext& context, Actions actions)
    : run_(run), context_(context), actions_(std::move(actions)) {
  ui_.spacing = mjui_themeSpacing(kTightSpacing);
  ui_.color = colors();
  ui_.rectid = 1;
  ui_.userdata = this;
  ui_.predicate = [](int, void* self) {
    return static_cast<const ControlPanel*>(self)->can_move_joints_;
  };
  state_.nrect = 2;
  find_groups();
  for (const char* const title : {"Run", "Faults", "Commands", "Joints"}) {
    const mjuiDef section[] = {definition(mjITEM_SECTION, title, nullptr, "", mjSECT_OPEN),
                               definition(mjITEM_END, "", nullptr, "")};
    mjui_add(&ui_, section);
  }
  add_run();
  add_faults();
  add_sliders(kCommands, commands_, true);
  add_sliders(kJoints, joints_, false);
  lay_out();
}

void ControlPanel::find_groups() {
  const mjModel& model = run_.model();
  const simulation::RobotBodies robots(model);
  for (const simulation::RobotBodies::Robot& robot : robots.robots()) {
    Group group;
    group.names = robot.names;
    group.name = robot.names.title();
    group.base = robot.base;
    group.has_controller = simulation::find_controller(model, robot.names) >= 0;
    groups_.push_back(std::move(group));
  }
  groups_.emplace_back().name = "Scene";
  // The robot with the longest prefix and suffix that fit; without any, the scene.
  const auto group_of = [&](const std::string& name) -> Group& {
    Group* best = &groups_.back();
    for (Group& group : groups_) {
      if (group.base != 0 && group.names.element(name) &&
          (best->base == 0 || group.names.label().size() > best->names.label().size()))
        best = &group;
    }
    return *best;
  };
  for (int i = 0; i < model.nactuator; ++i) {
    const std::string name = name_of(model, mjOBJ_ACTUATOR, i);
    Group& group = group_of(name);
    for (int k = 0; k < model.actuator_ctrlnum[i]; ++k)
      group.controls.push_back({model.actuator_ctrladr[i] + k, i});
    if (!name.empty() &&
        std::count(group.servos.begin(), group.servos.end(), '\n') < kMaxServos - 1)
      group.servos += (group.servos.empty() ? "" : "\n") + name;
  }
  for (int i = 0; i < model.njnt; ++i) {
    if (model.jnt_type[i] == mjJNT_SLIDE || model.jnt_type[i] == mjJNT_HINGE)
      group_of(name_of(model, mjOBJ_JOINT, i)).joints.push_back(i);
  }
  std::erase_if(groups_, [](const Group& group) {
    return group.base == 0 && group.controls.empty() && group.joints.empty();
  });
}

// ---- sections

void ControlPanel::add_run() {
  ui_.sect[kRun].nitem = 0;
  recording_shown_ = run_.recorded_since().has_value();
  const mjuiDef items[] = {
      definition(mjITEM_BUTTON, recording_shown_ ? "End recording  (R)" : "Record  (R)", nullptr,
                 ""),
      definition(mjITEM_END, "", nullptr, "")};
  mjui_addToSection(&ui_, kRun, items);
}

void ControlPanel::add_faults() {
  ui_.sect[kFaults].nitem = 0;
  std::string robots;
  for (const Group& group : groups_) robots += (robots.empty() ? "" : "\n") + group.name;
  const std::string& servos =
      groups_.empty() ? robots : groups_[static_cast<std::size_t>(robot_)].servos;
  std::vector<mjuiDef> items;
  if (groups_.size() > 1) items.push_back(definition(mjITEM_SELECT, "Robot", &robot_, robots));
  items.push_back(definition(mjITEM_SELECT, "Fault", &kind_, fault_kinds()));
  if (!servos.empty()) items.push_back(definition(mjITEM_SELECT, "Servo", &servo_, servos));
  items.push_back(definition(mjITEM_RADIOLINE, "Strength", &strength_, "weak\nmedium\nstrong"));
  items.push_back(definition(mjITEM_BUTTON, "Inject", nullptr, ""));
  if (!injected_.empty()) items.push_back(definition(mjITEM_BUTTON, "Take back all", nullptr, ""));
  for (const std::string& text : injected_)
    items.push_back(definition(mjITEM_STATIC, "", nullptr, text));
  items.push_back(definition(mjITEM_END, "", nullptr, ""));
  mjui_addToSection(&ui_, kFaults, items.data());
}

ControlPanel::Slider ControlPanel::slider_of_control(const Group& group,
                                                     const Group::Control& control) const {
  const mjModel& model = run_.model();
  std::string name = name_of(model, mjOBJ_ACTUATOR, control.actuator);
  const std::string unit = control_unit(model, control.actuator);
  if (const auto element = group.names.element(name)) name = std::string(*element);
  if (name.empty()) name = fmt::format("control {}", control.address);
  const Limits range = control_limits(model, control.actuator);
  return {(group.base != 0 ? shown_name(name) : name) + (unit.empty() ? "" : ", " + unit),
          range.low,
          range.high,
          {{control.address, range.high - range.low}}};
}

ControlPanel::Slider ControlPanel::slider_of_joint(const Group& group, int joint) const {
  const mjModel& model = run_.model();
  std::string name = name_of(model, mjOBJ_JOINT, joint);
  if (const auto element = group.names.element(name)) name = std::string(*element);
  if (name.empty()) name = fmt::format("joint {}", joint);
  const bool slides = model.jnt_type[joint] == mjJNT_SLIDE;
  const bool is_limited = model.jnt_limited[joint] != 0;
  const double reach = slides ? 1.0 : mjPI;
  const double stiffness = model.jnt_stiffness[joint];
  // Of one section, links bend as one moment bends them.
  return {(group.base != 0 ? shown_name(name) : name) + (slides ? ", m" : ", rad"),
          is_limited ? model.jnt_range[2 * joint] : -reach,
          is_limited ? model.jnt_range[2 * joint + 1] : reach,
          {{joint, stiffness > 0.0 ? 1.0 / stiffness : 1.0}}};
}

/// Joins a slider to the one of its section, if there is one from `first` on.
void ControlPanel::add_part(std::vector<Slider>& sliders, std::size_t first, Slider slider) {
  const auto same =
      std::find_if(sliders.begin() + static_cast<std::ptrdiff_t>(first), sliders.end(),
                   [&](const Slider& other) { return other.name == slider.name; });
  if (same == sliders.end()) {
    sliders.push_back(std::move(slider));
    return;
  }
  same->parts.push_back(slider.parts.front());
  same->low += slider.low;
  same->high += slider.high;
}

/// Joints of a section have the range of its command; without one, hinges that of a whole turn.
void ControlPanel::limit_joints() {
  for (Slider& slider : joints_) {
    if (slider.parts.size() < 2) continue;
    const auto same = std::find_if(commands_.begin(), commands_.end(),
                                   [&](const Slider& c) { return c.name == slider.name; });
    const bool turns = run_.model().jnt_type[slider.parts.front().index] == mjJNT_HINGE;
    const double most = turns ? 2.0 * mjPI : slider.high;
    slider.low = same != commands_.end() ? same->low : std::max(slider.low, -most);
    slider.high = same != commands_.end() ? same->high : std::min(slider.high, most);
  }
}

/// One for each command or joint of a robot, and for those of a section's links one of each kind.
void ControlPanel::add_sliders(Section section, std::vector<Slider>& sliders, bool commands) {
  std::vector<std::size_t> first;  // of each group
  for (const Group& group : groups_) {
    first.push_back(sliders.size());
    if (commands) {
      for (const Group::Control& control : group.controls)
        add_part(sliders, first.back(), slider_of_control(group, control));
    } else {
      for (const int joint : group.joints)
        add_part(sliders, first.back(), slider_of_joint(group, joint));
    }
  }
  first.push_back(sliders.size());
  if (!commands) limit_joints();

  std::vector<mjuiDef> items;
  std::vector<int> numbers;  // of sliders; -1: others
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    if (first[g] == first[g + 1]) continue;
    items.push_back(definition(mjITEM_SEPARATOR, group.name, nullptr, ""));
    numbers.push_back(-1);
    if (commands && group.has_controller) {
      items.push_back(definition(mjITEM_CHECKINT, "Controller", &group.controller_drives, ""));
      numbers.push_back(-1);
    }
    for (std::size_t i = first[g]; i < first[g + 1] && items.size() <= kMaxSliders; ++i) {
      Slider& slider = sliders[i];
      items.push_back(definition(mjITEM_SLIDERNUM, slider.name, &slider.value,
                                 fmt::format("{:.6g} {:.6g}", slider.low, slider.high),
                                 commands ? 1 : kWhilePaused));
      numbers.push_back(static_cast<int>(i));
    }
  }
  items.push_back(definition(mjITEM_END, "", nullptr, ""));
  mjui_addToSection(&ui_, section, items.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) ui_.sect[section].item[i].userid = numbers[i];
}

void ControlPanel::lay_out() {
  mjui_resize(&ui_, &context_);
  mjr_addAux(ui_.auxid, ui_.width, ui_.maxheight, ui_.spacing.samples, &context_);
  mjui_update(-1, -1, &ui_, &state_, &context_);
}

// ---- what happens

void ControlPanel::draw(mjrRect window, bool paused) {
  const mjrRect place{window.width - ui_.width, 0, ui_.width, window.height};
  const bool moved = place.left != state_.rect[1].left || place.height != state_.rect[1].height;
  state_.rect[0] = window;
  state_.rect[1] = place;
  if (recording_shown_ != run_.recorded_since().has_value()) {
    add_run();
    lay_out();
  }
  if (injected_.size() > run_.injected().size()) {  // a reset has taken them back
    injected_.clear();
    add_faults();
    lay_out();
  }
  if (moved) mjui_resize(&ui_, &context_);
  const int could_move = std::exchange(can_move_joints_, paused && run_.stopped().empty() ? 1 : 0);
  const bool all = moved || could_move != can_move_joints_;
  for (Group& group : groups_) {
    bool by_hand = false;
    for (const Group::Control& c : group.controls) {
      simulation::LiveRun::Control& control = run_.controls[static_cast<std::size_t>(c.address)];
      if (!control.by_hand) control.command = run_.data().ctrl[c.address];
      by_hand = by_hand || control.by_hand;
    }
    group.controller_drives = by_hand ? 0 : 1;
  }
  const auto show = [](Slider& slider, double value) {
    constexpr double kRounding = 1e-6;  // of the range
    slider.value = std::abs(value) < kRounding * (slider.high - slider.low) ? 0.0 : value;
  };
  for (Slider& slider : commands_) show(slider, commanded(slider));
  for (Slider& slider : joints_) show(slider, position(slider));
  if (all) {
    mjui_update(-1, -1, &ui_, &state_, &context_);
  } else {
    mjui_update(kCommands, -1, &ui_, &state_, &context_);
    mjui_update(kJoints, -1, &ui_, &state_, &context_);
  }
  mjui_render(&ui_, &state_, &context_);
}

bool ControlPanel::on_mouse(mjtEvent type, double x, double y, mjtButton button, double scroll) {
  state_.type = type;
  state_.dx = x - state_.x;
  state_.dy = y - state_.y;
  state_.x = x;
  state_.y = y;
  state_.sy = scroll;
  state_.mouserect = x >= state_.rect[1].left ? 1 : 0;
  if (type == mjEVENT_PRESS) {
    state_.button = state_.dragbutton = button;
    state_.dragrect = state_.mouserect;
  }
  const bool presses = type == mjEVENT_PRESS || (type == mjEVENT_MOVE && state_.dragrect == 1);
  state_.left = presses && state_.dragbutton == mjBUTTON_LEFT ? 1 : 0;
  state_.right = presses && state_.dragbutton == mjBUTTON_RIGHT ? 1 : 0;
  const bool ours = state_.dragrect == 1 ||
                    (state_.mouserect == 1 && state_.dragrect == 0 && type == mjEVENT_SCROLL);
  if (ours) {
    if (const mjuiItem* const item = mjui_event(&ui_, &state_, &context_)) changed(*item);
  }
  if (type == mjEVENT_RELEASE) state_.dragrect = state_.dragbutton = 0;
  return ours;
}

void ControlPanel::changed(const mjuiItem& item) {
  try {
    switch (item.sectionid) {
      case kRun:
        actions_.record();
        break;
      case kFaults:
        if (item.type == mjITEM_SELECT && item.pdata == &robot_) {
          servo_ = 0;
        } else if (item.type == mjITEM_BUTTON && std::string_view(item.name) == "Inject") {
          inject();
        } else if (item.type == mjITEM_BUTTON) {
          recorded_through([&] { run_.take_back(); });
          injected_.clear();
        } else {
          return;
        }
        add_faults();
        lay_out();
        break;
      case kCommands:
        for (Group& group : groups_) {
          if (item.pdata == &group.controller_drives)
            drive_by_hand(group, group.controller_drives == 0);
        }
        if (item.type == mjITEM_SLIDERNUM)
          command(commands_[static_cast<std::size_t>(item.userid)]);
        break;
      case kJoints:
        move(joints_[static_cast<std::size_t>(item.userid)]);
        break;
      default:
        break;
    }
  } catch (const std::exception& error) {
    actions_.tell(error.what());
  }
}

/// Adds to each part of a slider that has been moved its fraction of the change.
template <class Add>
void ControlPanel::distribute(const Slider& slider, double before, const Add& add) {
  double sum = 0.0;
  for (const Slider::Part& part : slider.parts) sum += part.fraction;
  for (const Slider::Part& part : slider.parts)
    add(part.index, (slider.value - before) * part.fraction / sum);
}

double ControlPanel::commanded(const Slider& slider) const {
  double sum = 0.0;
  for (const Slider::Part& part : slider.parts)
    sum += run_.controls[static_cast<std::size_t>(part.index)].command;
  return sum;
}

double ControlPanel::position(const Slider& slider) const {
  double sum = 0.0;
  for (const Slider::Part& part : slider.parts)
    sum += run_.data().qpos[run_.model().jnt_qposadr[part.index]];
  return sum;
}

void ControlPanel::command(const Slider& slider) {
  distribute(slider, commanded(slider), [&](int address, double change) {
    run_.controls[static_cast<std::size_t>(address)].command += change;
  });
  for (const Group& group : groups_) {
    if (std::any_of(group.controls.begin(), group.controls.end(), [&](const Group::Control& c) {
          return c.address == slider.parts.front().index;
        }))
      drive_by_hand(group, true);
  }
}

void ControlPanel::move(const Slider& slider) {
  const mjModel& model = run_.model();
  mjData& data = run_.data();
  distribute(slider, position(slider), [&](int joint, double change) {
    data.qpos[model.jnt_qposadr[joint]] += change;
    data.qvel[model.jnt_dofadr[joint]] = 0.0;
  });
  run_.refresh();
}

/// Its controls stay as they are until they are moved or given back.
void ControlPanel::drive_by_hand(const Group& group, bool by_hand) {
  for (const Group::Control& control : group.controls)
    run_.controls[static_cast<std::size_t>(control.address)].by_hand = by_hand;
}

/// A recording that the change ends continues in the next file.
template <class Change>
void ControlPanel::recorded_through(const Change& change) {
  const bool records = run_.recorded_since().has_value();
  change();
  if (records && !run_.recorded_since()) actions_.record();
}

void ControlPanel::inject() {
  FaultChoice choice{.prefix = {}, .kind = kind_, .servo = {}, .strength = strength_};
  if (!groups_.empty()) {
    const Group& group = groups_[static_cast<std::size_t>(robot_)];
    choice.prefix = group.names.label();
    choice.base = group.base;
    std::string_view servos = group.servos;
    for (int i = 0; i < servo_; ++i) servos.remove_prefix(servos.find('\n') + 1);
    choice.servo = servos.substr(0, servos.find('\n'));
  }
  const ChosenFault fault = chosen_fault(run_.model(), choice);
  recorded_through([&] { run_.inject(fault.toml); });
  injected_.push_back(groups_.size() > 1
                          ? groups_[static_cast<std::size_t>(robot_)].name + ": " + fault.text
                          : fault.text);
  actions_.tell("Injected: " + injected_.back());
}

}  // namespace tendril
