#include "tendril/recording/rollout_blocks.hpp"

#include <algorithm>

namespace tendril {
namespace {

constexpr std::size_t kBlockRows = format::kRowsPerChunk;
constexpr std::size_t kContactsReserved = 16;  // per row; more make a block grow once

struct FieldSource {
  const char* name;
  std::span<const double> RolloutRow::*values;
};

// The order of format::fields.
constexpr std::array<FieldSource, format::kFieldCount> kSources = {{
    {"qpos", &RolloutRow::qpos},
    {"qvel", &RolloutRow::qvel},
    {"ctrl", &RolloutRow::ctrl},
    {"act", &RolloutRow::act},
    {"sensordata", &RolloutRow::sensordata},
    {"plugin_state", &RolloutRow::plugin_state},
    {"mocap_pos", &RolloutRow::mocap_pos},
    {"mocap_quat", &RolloutRow::mocap_quat},
}};

}  // namespace

RowBlock::RowBlock(std::string file, const RolloutLayout& layout)
    : file_(std::move(file)), state_size_(static_cast<std::size_t>(layout.nintegration)) {
  if (layout.integration_interval < 1)
    throw RolloutError(file_ + ": integration_interval = " +
                       std::to_string(layout.integration_interval) + ", must be >= 1");
  const auto fields = format::fields(layout);
  step_.resize(kBlockRows);
  time_.resize(kBlockRows);
  step_time_us_.resize(kBlockRows);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    widths_[i] = fields[i].width();
    fields_[i].resize(kBlockRows * widths_[i]);
  }
  contact_count_.resize(kBlockRows);
  contacts_.reserve(kBlockRows * kContactsReserved);
  const std::size_t states = kBlockRows / static_cast<std::size_t>(layout.integration_interval) + 1;
  integration_rows_.reserve(states);
  integration_.reserve(states * state_size_);
}

void RowBlock::append(const RolloutRow& row) {
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    const std::size_t size = (row.*kSources[i].values).size();
    if (size != widths_[i])
      throw RolloutError(file_ + ": row " + std::to_string(row.step) + ": " + kSources[i].name +
                         " has " + std::to_string(size) + " values, must have " +
                         std::to_string(widths_[i]));
  }
  const std::size_t state_size = row.integration_state.size();
  if (state_size != 0 && state_size != state_size_)
    throw RolloutError(file_ + ": row " + std::to_string(row.step) + ": integration_state has " +
                       std::to_string(state_size) + " values, must have 0 or " +
                       std::to_string(state_size_));

  const std::size_t i = rows_;
  step_[i] = row.step;
  time_[i] = row.time;
  step_time_us_[i] = row.step_time_us;
  for (std::size_t k = 0; k < kSources.size(); ++k) {
    const std::span<const double> values = row.*kSources[k].values;
    std::copy(values.begin(), values.end(), fields_[k].data() + i * values.size());
  }
  contact_count_[i] = static_cast<std::int32_t>(row.contacts.size());
  contacts_.insert(contacts_.end(), row.contacts.begin(), row.contacts.end());
  if (state_size != 0) {
    integration_rows_.push_back(i);
    integration_.insert(integration_.end(), row.integration_state.begin(),
                        row.integration_state.end());
  }
  ++rows_;
}

void RowBlock::clear() {
  rows_ = 0;
  contacts_.clear();
  integration_rows_.clear();
  integration_.clear();
}

void BlockWriter::ContactChunk::add(const ContactRow& contact) {
  geom1[count] = contact.geom1;
  geom2[count] = contact.geom2;
  distance[count] = contact.distance;
  std::copy_n(contact.position, 3, position[count].begin());
  std::copy_n(contact.force, 3, force[count].begin());
  ++count;
}

void BlockWriter::ContactChunk::start_next() {
  const std::size_t used = count;
  count = 0;
  in_file = false;
  std::fill_n(geom1.begin(), used, 0);
  std::fill_n(geom2.begin(), used, 0);
  std::fill_n(distance.begin(), used, 0.0);
  std::fill_n(position.begin(), used, std::array<double, 3>{});
  std::fill_n(force.begin(), used, std::array<double, 3>{});
}

BlockWriter::BlockWriter(const RolloutLayout& layout, ColumnFile& file)
    : file_(file),
      columns_(format::columns(layout)),
      contact_start_(kBlockRows),
      integration_row_chunk_(format::kIntegrationsPerChunk) {}

void BlockWriter::write(RowBlock& block) {
  write_contacts(block);
  write_rows(block);
  write_integration(block);
  rows_ += block.rows_;
  file_.commit(static_cast<std::int64_t>(rows_));
}

void BlockWriter::put(std::size_t column, std::uint64_t first_row, std::span<const std::byte> bytes,
                      bool compress) {
  const std::size_t elements = columns_[column].elements();
  if (elements == 0) return;
  file_.write_chunk(column, first_row,
                    compress ? encoder_.encode(bytes, elements, columns_[column].element_size())
                             : BytePlaneEncoder::Chunk{bytes, BytePlaneEncoder::kUnfiltered});
}

void BlockWriter::write_rows(RowBlock& block) {
  const std::size_t used = block.rows_;
  const auto put_rows = [&](std::size_t column, auto& values, std::size_t width) {
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(used * width), values.end(), 0);
    file_.set_rows(column, rows_ + used);
    put(column, rows_, std::as_bytes(std::span(values)), true);
  };
  put_rows(0, block.step_, 1);
  put_rows(1, block.time_, 1);
  put_rows(2, block.step_time_us_, 1);
  for (std::size_t i = 0; i < block.widths_.size(); ++i)
    put_rows(format::kFieldColumns + i, block.fields_[i], block.widths_[i]);
  auto next = static_cast<std::int64_t>(contacts_ - block.contacts_.size());
  for (std::size_t i = 0; i < used; ++i) {
    contact_start_[i] = next;
    next += block.contact_count_[i];
  }
  put_rows(format::kContactRowColumns, contact_start_, 1);
  put_rows(format::kContactRowColumns + 1, block.contact_count_, 1);
}

void BlockWriter::write_contacts(const RowBlock& block) {
  if (block.contacts_.empty()) return;
  for (std::size_t column = format::kContactColumns; column < format::kIntegrationColumns; ++column)
    file_.set_rows(column, contacts_ + block.contacts_.size());
  for (const ContactRow& contact : block.contacts_) {
    contact_chunk_.add(contact);
    ++contacts_;
    if (contact_chunk_.count == ContactChunk::kSize) {
      put_contact_chunk();
      contact_chunk_.start_next();
    }
  }
  if (contact_chunk_.count > 0) put_contact_chunk();
}

void BlockWriter::put_contact_chunk() {
  ContactChunk& chunk = contact_chunk_;
  const std::uint64_t first = contacts_ - chunk.count;
  const bool compress = chunk.count == ContactChunk::kSize && !chunk.in_file;
  std::size_t column = format::kContactColumns;
  const auto put_next = [&](const auto& values) {
    put(column++, first, std::as_bytes(std::span(values)), compress);
  };
  put_next(chunk.geom1);
  put_next(chunk.geom2);
  put_next(chunk.distance);
  put_next(chunk.position);
  put_next(chunk.force);
  chunk.in_file = true;
}

void BlockWriter::write_integration(const RowBlock& block) {
  if (block.integration_rows_.empty()) return;
  constexpr std::size_t kState = format::kIntegrationColumns, kRow = kState + 1;
  for (const std::size_t column : {kState, kRow})
    file_.set_rows(column, integrations_ + block.integration_rows_.size());
  const auto put_row_numbers = [&] {  // the chunk that holds that of the newest state
    const std::uint64_t first = (integrations_ - 1) / format::kIntegrationsPerChunk;
    put(kRow, first * format::kIntegrationsPerChunk,
        std::as_bytes(std::span(integration_row_chunk_)), false);
  };
  for (std::size_t i = 0; i < block.integration_rows_.size(); ++i) {
    const auto state =
        std::span(block.integration_).subspan(i * block.state_size_, block.state_size_);
    put(kState, integrations_, std::as_bytes(state), true);
    integration_row_chunk_[integrations_ % format::kIntegrationsPerChunk] =
        static_cast<std::int64_t>(rows_ + block.integration_rows_[i]);
    ++integrations_;
    if (integrations_ % format::kIntegrationsPerChunk == 0) put_row_numbers();
  }
  if (integrations_ % format::kIntegrationsPerChunk != 0) put_row_numbers();
}

}  // namespace tendril
