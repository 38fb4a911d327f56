#include "drive/combined_link.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drive/robot_message.hpp"

namespace tendril {

CombinedLink::CombinedLink(const RobotPorts& ports, std::vector<Part> parts) {
  const std::size_t size = RobotMessage(ports).size();
  for (const RobotPorts::Channel& channel : ports.channels) {
    if (!channel.is_sensor) continue;
    widths_.push_back(static_cast<std::size_t>(channel.width));
    sensor_numbers_ += widths_.back();
  }
  counts_ = ports.reading_count + widths_.size();
  target_ = counts_ + ports.actuators.size();
  merged_.assign(size, std::numeric_limits<double>::quiet_NaN());
  std::fill_n(merged_.begin() + static_cast<std::ptrdiff_t>(ports.reading_count), widths_.size(),
              0.0);
  for (Part& part : parts)
    sources_.push_back({.part = std::move(part),
                        .message = std::vector<double>(size),
                        .counts = std::vector<double>(widths_.size(), 0.0)});
}

bool CombinedLink::send(Order order, double time, std::span<const double> commands) noexcept {
  bool is_sent = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const bool taken = sources_[i].part.link->send(order, time, commands);
    if (i == 0) is_sent = taken;
  }
  return is_sent;
}

void CombinedLink::take(Source& source, bool has_actuators) noexcept {
  const std::size_t first_count = counts_ - widths_.size();
  std::size_t at = 0;
  for (std::size_t i = 0; i < widths_.size(); at += widths_[i++]) {
    const double count = source.message[first_count + i];
    if (!(count > source.counts[i])) continue;
    source.counts[i] = count;
    merged_[first_count + i] += 1.0;
    std::copy_n(source.message.data() + at, widths_[i], merged_.data() + at);
  }
  const auto copy = [&](std::size_t begin, std::size_t end) {
    std::copy(source.message.data() + begin, source.message.data() + end, merged_.data() + begin);
  };
  if (has_actuators) {
    copy(sensor_numbers_, first_count);
    copy(counts_, target_);
  }
  if (std::isfinite(source.message[target_])) copy(target_, merged_.size());
}

bool CombinedLink::receive(std::span<double> message) noexcept {
  bool is_new = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (!source.part.link->receive(source.message)) continue;
    source.is_heard = true;
    take(source, i == 0);
    is_new = is_new || i == 0;
  }
  if (is_new) std::ranges::copy(merged_, message.begin());
  return is_new;
}

std::string CombinedLink::summary() const {
  std::string text;
  for (const Source& source : sources_) {
    if (!text.empty()) text += "\n";
    text += source.part.link->summary();
  }
  return text;
}

std::string CombinedLink::problem() const {
  for (const Source& source : sources_)
    if (std::string why = source.part.link->problem(); !why.empty()) return why;
  for (const Source& source : sources_)
    if (!source.is_heard) return source.part.name + ": nothing has come from there";
  return {};
}

bool CombinedLink::has_failed() const noexcept {
  return std::ranges::any_of(sources_,
                             [](const Source& source) { return source.part.link->has_failed(); });
}

void CombinedLink::begin() {
  for (Source& source : sources_) source.part.link->begin();
}

void CombinedLink::finish() {
  for (Source& source : sources_) source.part.link->finish();
}

}  // namespace tendril
