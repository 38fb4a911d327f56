#include "apps/tendril/control_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "apps/host/engine/scene.hpp"
#include "apps/tendril/fault_menu.hpp"

namespace tendril {
namespace {

constexpr int kDarkTheme = 0, kTightSpacing = 1;
constexpr std::size_t kMostSliders = 120;  // of a section: the engine's panel has room for 200 items
constexpr int kMostServos = mjMAXUIMULTI;  // of a list to select from
constexpr int kWhilePaused = 2;  // state of an item that the predicate decides

/// The engine's dark theme in the colours of the plots.
mjuiThemeColor colours() {
  mjuiThemeColor theme = mjui_themeColor(kDarkTheme);
  const auto set = [](std::initializer_list<float*> places, std::array<float, 3> colour) {
    for (float* const place : places) std::copy(colour.begin(), colour.end(), place);
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

std::string range_text(double low, double high) { return fmt::format("{:.6g} {:.6g}", low, high); }

/// Of a control: what limits it, or the joint that it drives.
std::string control_range(const mjModel& model, int actuator) {
  if (model.actuator_ctrllimited[actuator] != 0)
    return range_text(model.actuator_ctrlrange[2 * actuator],
                      model.actuator_ctrlrange[2 * actuator + 1]);
  const int joint = model.actuator_trnid[2 * actuator];
  if (model.actuator_trntype[actuator] == mjTRN_JOINT && joint >= 0 &&
      model.jnt_limited[joint] != 0)
    return range_text(model.jnt_range[2 * joint], model.jnt_range[2 * joint + 1]);
  return "-1 1";
}

}  // namespace

ControlPanel::ControlPanel(host::LiveRun& run, mjrContext& context, Actions actions)
    : run_(run), context_(context), actions_(std::move(actions)) {
  ui_.spacing = mjui_themeSpacing(kTightSpacing);
  ui_.color = colours();
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
  add_commands();
  add_joints();
  lay_out();
}

void ControlPanel::find_groups() {
  const mjModel& model = run_.model();
  const auto controllers = host::controllers_of(model);
  const host::SceneRobots robots(model);
  for (const host::SceneRobots::Robot& robot : robots.robots()) {
    Group group;
    group.prefix = robot.prefix;
    group.name = robot.name();
    group.base = robot.base;
    group.has_controller = std::any_of(controllers.begin(), controllers.end(),
                                       [&](const auto& c) { return c.prefix == robot.prefix; });
    groups_.push_back(std::move(group));
  }
  groups_.emplace_back().name = "Scene";
  // The robot with the longest prefix that fits; without any, the scene.
  const auto group_of = [&](const std::string& name) -> Group& {
    Group* best = &groups_.back();
    for (Group& group : groups_) {
      if (group.base != 0 && name.starts_with(group.prefix) &&
          (best->base == 0 || group.prefix.size() > best->prefix.size()))
        best = &group;
    }
    return *best;
  };
  for (int i = 0; i < model.nactuator; ++i) {
    const std::string name = name_of(model, mjOBJ_ACTUATOR, i);
    Group& group = group_of(name);
    for (int k = 0; k < model.actuator_ctrlnum[i]; ++k)
      group.controls.push_back({model.actuator_ctrladr[i] + k, i});
    if (!name.empty() && std::count(group.servos.begin(), group.servos.end(), '\n') < kMostServos - 1)
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
  recording_shown_ = run_.recording();
  const mjuiDef items[] = {
      definition(mjITEM_BUTTON, recording_shown_ ? "End recording  (R)" : "Record  (R)", nullptr, ""),
      definition(mjITEM_END, "", nullptr, "")};
  mjui_addToSection(&ui_, kRun, items);
}

void ControlPanel::add_faults() {
  ui_.sect[kFaults].nitem = 0;
  std::string robots;
  for (const Group& group : groups_) robots += (robots.empty() ? "" : "\n") + group.name;
  const std::string& servos = groups_.empty() ? robots : groups_[static_cast<std::size_t>(robot_)].servos;
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

void ControlPanel::add_commands() {
  const mjModel& model = run_.model();
  std::vector<mjuiDef> items;
  std::vector<int> numbers;  // of the groups of check boxes, and of the controls of sliders
  for (Group& group : groups_) {
    if (group.controls.empty()) continue;
    items.push_back(definition(mjITEM_SEPARATOR, group.name, nullptr, ""));
    numbers.push_back(-1);
    if (group.has_controller) {
      items.push_back(definition(mjITEM_CHECKINT, "Controller", &group.controller_drives, ""));
      numbers.push_back(-1);
    }
    for (const Group::Control& control : group.controls) {
      if (items.size() > kMostSliders) break;
      std::string name = name_of(model, mjOBJ_ACTUATOR, control.actuator);
      if (name.starts_with(group.prefix)) name.erase(0, group.prefix.size());
      if (name.empty()) name = fmt::format("control {}", control.address);
      items.push_back(definition(mjITEM_SLIDERNUM, name,
                                 &run_.controls[static_cast<std::size_t>(control.address)].command,
                                 control_range(model, control.actuator)));
      numbers.push_back(control.address);
    }
  }
  items.push_back(definition(mjITEM_END, "", nullptr, ""));
  mjui_addToSection(&ui_, kCommands, items.data());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    ui_.sect[kCommands].item[i].userid = numbers[i];
}

void ControlPanel::add_joints() {
  const mjModel& model = run_.model();
  ui_.sect[kJoints].nitem = 0;
  qpos_shown_ = run_.data().qpos;
  std::vector<mjuiDef> items;
  std::vector<int> numbers;
  for (const Group& group : groups_) {
    if (group.joints.empty()) continue;
    items.push_back(definition(mjITEM_SEPARATOR, group.name, nullptr, ""));
    numbers.push_back(-1);
    for (const int joint : group.joints) {
      if (items.size() > kMostSliders) break;
      std::string name = name_of(model, mjOBJ_JOINT, joint);
      if (name.starts_with(group.prefix)) name.erase(0, group.prefix.size());
      if (name.empty()) name = fmt::format("joint {}", joint);
      const bool slides = model.jnt_type[joint] == mjJNT_SLIDE;
      const std::string range =
          model.jnt_limited[joint] != 0
              ? range_text(model.jnt_range[2 * joint], model.jnt_range[2 * joint + 1])
              : range_text(slides ? -1.0 : -mjPI, slides ? 1.0 : mjPI);
      items.push_back(definition(mjITEM_SLIDERNUM, name,
                                 run_.data().qpos + model.jnt_qposadr[joint], range, kWhilePaused));
      numbers.push_back(joint);
    }
  }
  items.push_back(definition(mjITEM_END, "", nullptr, ""));
  mjui_addToSection(&ui_, kJoints, items.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) ui_.sect[kJoints].item[i].userid = numbers[i];
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
  if (recording_shown_ != run_.recording()) {
    add_run();
    lay_out();
  }
  if (injected_.size() > run_.injected().size()) {  // a reset has taken them back
    injected_.clear();
    add_faults();
    lay_out();
  }
  if (qpos_shown_ != run_.data().qpos) {
    add_joints();
    lay_out();
  }
  if (moved) mjui_resize(&ui_, &context_);
  const int could_move = std::exchange(can_move_joints_, paused && run_.stopped().empty() ? 1 : 0);
  const bool all = moved || could_move != can_move_joints_;
  for (Group& group : groups_) {
    bool by_hand = false;
    for (const Group::Control& c : group.controls) {
      host::LiveRun::Control& control = run_.controls[static_cast<std::size_t>(c.address)];
      if (!control.by_hand) control.command = run_.data().ctrl[c.address];
      by_hand = by_hand || control.by_hand;
    }
    group.controller_drives = by_hand ? 0 : 1;
  }
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
  const bool ours =
      state_.dragrect == 1 || (state_.mouserect == 1 && state_.dragrect == 0 && type == mjEVENT_SCROLL);
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
          for (const Group::Control& control : group.controls)
            if (item.type == mjITEM_SLIDERNUM && item.userid == control.address)
              drive_by_hand(group, true);
        }
        break;
      case kJoints:
        run_.data().qvel[run_.model().jnt_dofadr[item.userid]] = 0.0;
        run_.refresh();
        break;
      default:
        break;
    }
  } catch (const std::exception& error) {
    actions_.tell(error.what());
  }
}

/// Its controls stay as they are until they are moved or given back.
void ControlPanel::drive_by_hand(const Group& group, bool by_hand) {
  for (const Group::Control& control : group.controls)
    run_.controls[static_cast<std::size_t>(control.address)].by_hand = by_hand;
}

/// A recording that the change ends goes on in the next file.
template <class Change>
void ControlPanel::recorded_through(const Change& change) {
  const bool records = run_.recording();
  change();
  if (records && !run_.recording()) actions_.record();
}

void ControlPanel::inject() {
  FaultChoice choice{.prefix = {}, .kind = kind_, .servo = {}, .strength = strength_};
  if (!groups_.empty()) {
    const Group& group = groups_[static_cast<std::size_t>(robot_)];
    choice.prefix = group.prefix;
    choice.base = group.base;
    std::string_view servos = group.servos;
    for (int i = 0; i < servo_; ++i) servos.remove_prefix(servos.find('\n') + 1);
    choice.servo = servos.substr(0, servos.find('\n'));
  }
  const ChosenFault fault = chosen_fault(run_.model(), choice);
  recorded_through([&] { run_.inject(fault.toml); });
  injected_.push_back(groups_.size() > 1 ? groups_[static_cast<std::size_t>(robot_)].name + ": " + fault.text
                                         : fault.text);
  actions_.tell("Injected: " + injected_.back());
}

}  // namespace tendril
