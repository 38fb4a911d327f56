#include "plugin/instance.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "plugin/bind_robot.hpp"
#include "plugin/robot_cache.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril {
namespace {

Settings::Texts config_texts(const mjModel* m, int instance, std::span<const SettingInfo> rows) {
  Settings::Texts values;
  for (const SettingInfo& row : rows) {
    if (const char* text = mj_getPluginConfig(m, instance, row.name); text && *text)
      values.emplace_back(row.name, text);
  }
  return values;
}

/// Refuses a second controller of the same robot, which would overwrite the commands of the first.
void require_only_controller(const InstanceContext& context) {
  const mjModel* m = context.model;
  for (int other = 0; other < m->nplugin; ++other) {
    const char* const robot =
        other == context.instance ? nullptr : mj_getPluginConfig(m, other, "robot");
    if (robot == nullptr || *robot == '\0' || robot_names(m, other) != context.names) continue;
    const char* const name = mj_id2name(m, mjOBJ_PLUGIN, other);
    throw ModelError("base " + context.names(names::kBase) + ": is driven by instance '" +
                     (name ? name : "") + "' too: must have one controller");
  }
}

std::shared_ptr<const RobotDescription> robot_of(const mjModel* m, int instance) {
  const auto config = [&](const char* name) {
    const char* text = mj_getPluginConfig(m, instance, name);
    return std::string(text ? text : "");
  };
  const std::string text = config("robot");
  if (text.empty()) throw ModelError("robot: missing: must be the text of a robot file");
  return cached_robot(text, config("arm"));
}

/// Configuration of an instance: everything from which it is constructed.
struct Configuration {
  Configuration(const mjModel* m, int instance, const ControllerKind& kind)
      : rows(all_settings(kind)),
        settings(rows, config_texts(m, instance, rows)),
        robot(robot_of(m, instance)),
        context{m, instance, kind, *robot, settings, robot_names(m, instance)} {}
  Configuration(const Configuration&) = delete;
  Configuration& operator=(const Configuration&) = delete;

  std::vector<SettingInfo> rows;
  Settings settings;
  std::shared_ptr<const RobotDescription> robot;
  InstanceContext context;
};

// ---- the controller, made or reused

/// All but the scene from which a controller is constructed: its configuration, and what its
/// context has from the model. Empty if it must not be reused.
std::string configuration_key(const Configuration& configuration) {
  const InstanceContext& context = configuration.context;
  if (!context.kind.reusable) return {};
  std::string key = context.kind.name;
  for (const SettingInfo& row : configuration.rows) {
    key += '\0';
    if (context.settings.has(row.name)) key += context.settings.text(row.name);
  }
  const auto add = [&key](const auto* numbers, std::size_t count) {
    key.append(reinterpret_cast<const char*>(numbers), count * sizeof *numbers);
  };
  const mjModel* m = context.model;
  const int base = context.require(mjOBJ_BODY, names::kBase);
  add(&m->opt.timestep, 1);
  add(&m->opt.integrator, 1);
  add(m->body_pos + 3 * base, 3);
  add(m->body_quat + 4 * base, 4);
  return key;
}

struct MadeController {
  std::unique_ptr<ModelScene> scene;  // with all that was asked for the controller
  std::unique_ptr<Controller> controller;
  std::optional<ControllerPool::Key> key;  // if it may be reused
};

MadeController controller_for(const Configuration& configuration) {
  const InstanceContext& context = configuration.context;
  const std::string key = configuration_key(configuration);
  if (!key.empty()) {
    for (SceneRecord& record : controller_pool().scenes(key)) {
      auto scene = std::make_unique<ModelScene>(context);
      if (!scene->answers_as(record)) continue;
      ControllerPool::Key full{key, std::move(record)};
      if (auto controller = controller_pool().take(full))
        return {std::move(scene), std::move(controller), std::move(full)};
    }
  }
  auto scene = std::make_unique<ModelScene>(context);
  auto controller = make_controller(context, *scene);
  std::optional<ControllerPool::Key> full;
  if (!key.empty()) full = {key, scene->record()};
  return {std::move(scene), std::move(controller), std::move(full)};
}

SensorReadings readings_of(const InstanceContext& context) {
  return {context.robot, context.model->opt.timestep,
          static_cast<std::uint64_t>(context.settings.integer("sensor_seed"))};
}

// ---- quantities

int width_of(const Quantity& quantity, const RobotDescription& robot) {
  return quantity.width == kPerCoordinate ? coordinate_count(robot) : quantity.width;
}

/// Position of a sensor's numbers among the values: first index and count. Models of earlier
/// recordings have sensors with old names.
std::pair<std::size_t, int> sensor_range(const mjModel* m, int instance, int sensor,
                                         const ControllerKind& kind,
                                         const RobotDescription& robot) {
  const std::string name = sensor_quantity(m, instance, sensor);
  std::size_t index = 0;
  std::string known;
  std::vector<std::string_view> names;
  for (const Quantity& quantity : all_quantities(kind)) {
    const int width = width_of(quantity, robot);
    const auto is_this = [&](std::string_view now) { return now == quantity.name; };
    if (is_this(name) || !present_name(name, is_this).empty()) return {index, width};
    index += static_cast<std::size_t>(width);
    known += (known.empty() ? "" : ", ") + std::string(quantity.name);
    names.emplace_back(quantity.name);
  }
  if (const auto reading = reading_range(robot, name))
    return {index + reading->first, reading->second};
  throw ModelError("sensor " + name + ": must be one of " + known + meant_text(name, names));
}

/// Tells whether a status says more of why the body does not do what is commanded.
bool is_more_specific(ControllerStatus status) {
  return status == ControllerStatus::Jammed || status == ControllerStatus::InvalidTarget ||
         status == ControllerStatus::Fault || status == ControllerStatus::Blocked ||
         status == ControllerStatus::NoContact;
}

}  // namespace

int Instance::state_size(const mjModel* m, int instance, const ControllerKind& kind) {
  const Configuration configuration(m, instance, kind);
  auto [scene, controller, key] = controller_for(configuration);
  const int size =
      controller->memory_size() + own_memory_size(configuration.context, *controller) + 1 +
      FollowingWatch(configuration.settings).layout().size() +
      SettlingWatch(configuration.settings).layout().size() +
      fault_memory_size(configuration.context) +
      (kind.is_built_in ? 0 : ArrivalWatch(configuration.settings, 1.0).layout().size()) +
      readings_of(configuration.context).layout().size();
  if (key) controller_pool().give(*std::move(key), std::move(controller));
  return size;
}

int Instance::sensor_dimension(const mjModel* m, int instance, int sensor,
                               const ControllerKind& kind) {
  const auto robot = robot_of(m, instance);
  if (is_drum_sensor(*robot, sensor_quantity(m, instance, sensor))) return 1;
  return sensor_range(m, instance, sensor, kind, *robot).second;
}

Instance::Instance(const mjModel* m, int instance, const ControllerKind& kind)
    : kind_(kind), state_address_(m->plugin_stateadr[instance]) {
  const Configuration configuration(m, instance, kind);
  require_only_controller(configuration.context);
  watch_.emplace(configuration.settings);
  settling_.emplace(configuration.settings);
  first_body_ = configuration.context.require(mjOBJ_BODY, names::kBase);
  end_body_ = first_body_ + 1;
  while (end_body_ < m->nbody && m->body_parentid[end_body_] >= first_body_) ++end_body_;
  MadeController made = controller_for(configuration);
  binding_ = bind_robot(configuration.context, std::move(made.controller), *made.scene);
  pool_key_ = std::move(made.key);
  controller_memory_ = layout_.part(binding_->controller().memory_layout());
  fault_ = layout_.flag();
  binding_memory_ = layout_.part(binding_->layout());
  watch_memory_ = layout_.part(watch_->layout());
  settling_memory_ = layout_.part(settling_->layout());
  readings_.emplace(readings_of(configuration.context));
  readings_->bind(m, configuration.context.names);
  drums_.emplace(m, configuration.context.names, *configuration.robot);
  arrived_ = std::make_unique<bool[]>(readings_->count());
  readings_memory_ = layout_.part(readings_->layout());
  if (const MemoryLayout* const faults = binding_->fault_layout())
    fault_memory_ = layout_.part(*faults);
  if (!kind.is_built_in) {
    arrival_.emplace(configuration.settings, binding_->length_scale());
    arrival_memory_ = layout_.part(arrival_->layout());
  }
  next_state_.assign(static_cast<std::size_t>(layout_.size()), 0.0);
  if (m->plugin_statenum[instance] != layout_.size()) {
    if (m->plugin_statenum[instance] == 0 && m->nmesh > 0)
      throw ModelError(
          "its plan depends on a mesh, which the engine does not have yet when it asks how much "
          "memory the plan needs: what the plan touches must be boxes, cylinders or capsules");
    throw ModelError(
        "the model was compiled with another configuration of this controller: recompile it");
  }
  for (const int actuator : binding_->actuators())
    controls_.push_back(m->actuator_ctrladr[actuator]);
  setpoints_.assign(controls_.size(), 0.0);

  std::size_t values = 0;
  for (const Quantity& quantity : all_quantities(kind))
    values += static_cast<std::size_t>(width_of(quantity, *configuration.robot));
  values_.assign(values + readings_->size(), 0.0);
  own_values_.assign(
      static_cast<std::size_t>(std::count_if(kind.quantities.begin(), kind.quantities.end(),
                                             [](const Quantity& q) { return q.is_own(); })),
      0.0);
  for (int i = 0; i < m->nsensor; ++i) {
    if (m->sensor_type[i] != mjSENS_PLUGIN || m->sensor_plugin[i] != instance) continue;
    if (is_drum_sensor(*configuration.robot, sensor_quantity(m, instance, i))) continue;
    const auto [value, width] = sensor_range(m, instance, i, kind, *configuration.robot);
    sensors_.push_back({value, m->sensor_adr[i], width});
  }
}

Settings::Texts Instance::settings(const mjModel* m, int instance, const ControllerKind& kind) {
  const Configuration configuration(m, instance, kind);
  Settings::Texts texts;
  for (const SettingInfo& row : configuration.rows) {
    const bool is_given = configuration.settings.has(row.name);
    texts.emplace_back(row.name, is_given ? std::string(configuration.settings.text(row.name))
                                          : default_text(row));
  }
  return texts;
}

Instance::~Instance() {
  if (pool_key_) controller_pool().give(*std::move(pool_key_), binding_->release_controller());
}

void Instance::reset(mjtNum* plugin_state) noexcept {
  fault_reported_ = loss_reported_ = false;
  lost_servo_ = -1;
  following_error_ = kUnknown;
  report_ = {};
  layout_.reset(next_state_);
  binding_->controller().reset(controller_memory_(std::span(next_state_)));
  std::copy(next_state_.begin(), next_state_.end(), plugin_state);
}

void Instance::resume(const mjData* d) noexcept {
  std::copy_n(state(d).begin(), next_state_.size(), next_state_.begin());
  for (const Sensor& sensor : sensors_)
    std::copy_n(d->sensordata + sensor.address, sensor.width,
                values_.begin() + static_cast<std::ptrdiff_t>(sensor.value));
}

void Instance::copy_scratch(const Instance& source) noexcept {
  fault_reported_ = source.fault_reported_;
  loss_reported_ = source.loss_reported_;
  lost_servo_ = source.lost_servo_;
  following_error_ = source.following_error_;
  binding_->copy_scratch(*source.binding_);
  report_ = source.report_;
  own_values_ = source.own_values_;
  report_.own = own_values_;
  next_state_ = source.next_state_;
  values_ = source.values_;
}

bool Instance::set_fault(const mjData* d) noexcept {
  std::copy_n(state(d).begin(), next_state_.size(), next_state_.begin());
  fault_(std::span(next_state_)) = true;
  binding_->forget_command();  // may hold the NaN that was the fault
  std::fill(own_values_.begin(), own_values_.end(), kUnknown);
  report_ = {.own = own_values_};
  report_.status = ControllerStatus::Fault;
  following_error_ = kUnknown;
  lost_servo_ = -1;
  fill_values();
  return !std::exchange(fault_reported_, true);
}

void Instance::compute(const mjModel* m, mjData* d) {
  const std::span<const double> state = this->state(d);
  std::copy(state.begin(), state.end(), next_state_.begin());
  const std::span<double> next(next_state_);
  std::fill(own_values_.begin(), own_values_.end(), 0.0);
  report_ = {.own = own_values_};
  if (fault_(state)) {
    set_fault(d);
    return;
  }
  if (!layout_.is_valid(state)) throw std::runtime_error("its memory in plugin_state is damaged");
  if (binding_->measure(m, d, binding_memory_(state))) {
    const std::span<bool> arrived(arrived_.get(), readings_->count());
    readings_->read(m, d, readings_memory_(state), readings_memory_(next), reading_values(),
                    arrived);
    const RobotBinding::Sensed sensed{reading_values(), arrived, binding_memory_(next)};
    if (remote_ != nullptr) {
      for (std::size_t i = 0; i < controls_.size(); ++i) setpoints_[i] = d->ctrl[controls_[i]];
      binding_->exchange(d, *remote_, sensed, drives_, setpoints_, report_);
    } else {
      binding_->update({controller_memory_(state), controller_memory_(next), fault_memory_(state),
                        fault_memory_(next)},
                       sensed, report_);
    }
    if (arrival_)
      arrival_->step(binding_->tip_and_target(), m->opt.timestep, arrival_memory_(state),
                     arrival_memory_(next), report_);
    if (remote_ == nullptr) {
      if (!binding_->command_is_finite())
        throw std::runtime_error("the controller's command is not finite");
      binding_->setpoints(binding_memory_(next), setpoints_);
    }
    write_controls(m, d);
    binding_->limit_friction(d, binding_memory_(state));
    const bool follows = watch_following(m, d);
    const bool swings =
        settling_->step(report_.arrived, binding_->tip_and_target(), m->opt.timestep,
                        settling_memory_(state), settling_memory_(next));
    if (lost_servo_ >= 0)
      report_.status = ControllerStatus::ServoLost;
    else if (!follows && !is_more_specific(report_.status))
      report_.status = ControllerStatus::NotFollowing;
    else if (swings && is_well(report_.status))
      report_.status = ControllerStatus::Swinging;
  } else {  // it has diverged, which the engine's own checks report too
    std::fill(own_values_.begin(), own_values_.end(), kUnknown);
    following_error_ = kUnknown;
    report_.status = ControllerStatus::NotFollowing;
  }
  fill_values();
}

bool Instance::set_remote_control(RemoteControl* remote) {
  const int count = binding_->drive_reading_count();
  if (count < 0) return false;
  drives_.assign(static_cast<std::size_t>(count), 0.0);
  remote_ = remote;
  return true;
}

void Instance::write_controls(const mjModel* m, mjData* d) noexcept {
  lost_servo_ = -1;
  const std::span<const int> actuators = binding_->actuators();
  for (std::size_t i = 0; i < controls_.size(); ++i) {
    mjtNum& control = d->ctrl[controls_[i]];
    const bool accepted = mju_isBad(setpoints_[i]) == 0;
    if (accepted)
      control = setpoints_[i];
    else if (mju_isBad(control) != 0)
      control = 0.0;
    if (lost_servo_ < 0 && !(accepted && can_be_driven(m, actuators[i])))
      lost_servo_ = actuators[i];
  }
}

bool Instance::watch_following(const mjModel* m, const mjData* d) noexcept {
  double of_tip = std::max(0.0, report_.deviation);  // 0 if it is not known
  if (report_.arrived) of_tip = std::max(of_tip, report_.tip_error / FollowingWatch::kLengthScale);
  const FollowingError error = binding_->following_error(last_touched_body(m, d));
  following_error_ = std::max(of_tip, error.counted);
  const double of_path = std::max(0.0, watch_->tolerance() * report_.path_excess);
  // A load on the tip bends the body, and the correction keeps the tip at its target.
  const bool is_there = report_.arrived && of_tip <= watch_->tolerance();
  return watch_->step(std::max(is_there ? of_tip : following_error_, of_path),
                      std::max({of_tip, of_path, error.of_all}), m->opt.timestep,
                      watch_memory_(state(d)), watch_memory_(std::span(next_state_)));
}

int Instance::newly_lost_servo() noexcept {
  return lost_servo_ < 0 || std::exchange(loss_reported_, true) ? -1 : lost_servo_;
}

int Instance::last_touched_body(const mjModel* m, const mjData* d) const noexcept {
  int last = 0;
  for (int i = 0; i < d->ncon; ++i) {
    if (d->contact[i].exclude != 0) continue;
    for (const int geom : d->contact[i].geom) {
      const int body = geom < 0 ? 0 : m->geom_bodyid[geom];
      if (body >= first_body_ && body < end_body_) last = std::max(last, body);
    }
  }
  return last;
}

void Instance::advance(const mjModel* m, mjData* d) noexcept {
  const std::span<double> next(next_state_);
  if (!fault_(next)) {
    binding_->end_step(m, d, binding_memory_(next));
    readings_->end_step(d, readings_memory_(next));
  }
  std::copy(next_state_.begin(), next_state_.end(), d->plugin_state + state_address_);
}

void Instance::fill_values() noexcept {
  double* out = values_.data();
  *out++ = static_cast<double>(report_.status);
  auto own = own_values_.begin();
  for (const Quantity& quantity : kind_.quantities)
    *out++ = quantity.is_own() ? *own++ : quantity.of(report_);
  for (const Quantity& quantity : claimed_quantities(kind_)) *out++ = quantity.of(report_);
  binding_->common_values(report_, out);
  values_[values_.size() - readings_->size() - 1] = following_error_;
}

void Instance::write_sensors(const mjModel* m, mjData* d) const noexcept {
  for (const Sensor& sensor : sensors_)
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(sensor.value), sensor.width,
                d->sensordata + sensor.address);
  drums_->write(m, d);
}

void Instance::visualize(const mjData* d, mjvScene* scene) const {
  binding_->draw(d, controller_memory_(state(d)), report_, scene);
}

}  // namespace tendril
