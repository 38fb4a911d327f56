#include "simulation/experiment/run_recorder.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace tendril::simulation {
namespace {

RolloutLayout layout_of(const mjModel& model) {
  RolloutLayout layout;
  layout.nq = static_cast<int>(model.nq);
  layout.nv = static_cast<int>(model.nv);
  layout.nu = static_cast<int>(model.nu);
  layout.na = static_cast<int>(model.na);
  layout.nsensordata = static_cast<int>(model.nsensordata);
  layout.npluginstate = static_cast<int>(model.npluginstate);
  layout.nmocap = static_cast<int>(model.nmocap);
  layout.nintegration = mj_stateSize(&model, mjSTATE_INTEGRATION);
  return layout;
}

std::vector<std::byte> mjb(const mjModel& model) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(mj_sizeModel(&model)));
  mj_saveModel(&model, nullptr, bytes.data(), static_cast<mjtSize>(bytes.size()));
  return bytes;
}

}  // namespace

RunRecorder::RunRecorder(const mjModel& model, const RolloutAttributes& attributes,
                         const OpenRecording& open)
    : model_(model), layout_(layout_of(model_)), sink_(open(layout_, attributes, mjb(model_))) {
  integration_.resize(static_cast<std::size_t>(layout_.nintegration));
  contacts_.reserve(1024);
}

void RunRecorder::append(const mjData& data, long step, double step_time_us) {
  contacts_.clear();
  for (int i = 0; i < data.ncon && step > 0; ++i) {
    const mjContact& contact = data.contact[i];
    mjtNum force[6];
    mj_contactForce(&model_, &data, i, force);
    ContactRow& row = contacts_.emplace_back();
    row.geom1 = contact.geom[0];
    row.geom2 = contact.geom[1];
    row.distance = contact.dist;
    std::copy_n(contact.pos, 3, row.position);
    std::copy_n(force, 3, row.force);
  }
  const bool full = step % layout_.integration_interval == 0;
  if (full) mj_getState(&model_, &data, integration_.data(), mjSTATE_INTEGRATION);
  const auto view = [](const mjtNum* values, int count) {
    return std::span<const double>(values, static_cast<std::size_t>(count));
  };
  sink_->append({.step = step,
                 .time = data.time,
                 .step_time_us = step_time_us,
                 .qpos = view(data.qpos, layout_.nq),
                 .qvel = view(data.qvel, layout_.nv),
                 .ctrl = view(data.ctrl, layout_.nu),
                 .act = view(data.act, layout_.na),
                 .sensordata = view(data.sensordata, layout_.nsensordata),
                 .plugin_state = view(data.plugin_state, layout_.npluginstate),
                 .mocap_pos = view(data.mocap_pos, 3 * layout_.nmocap),
                 .mocap_quat = view(data.mocap_quat, 4 * layout_.nmocap),
                 .contacts = contacts_,
                 .integration_state =
                     full ? std::span<const double>(integration_) : std::span<const double>()});
}

}  // namespace tendril::simulation
