#pragma once

#include "controllers/interface/settings.hpp"

// Rows that the tables of all controllers which feed a robot along a path share. The defaults
// differ, since an arm in a tube, around a post or among obstacles is fed at the speed that suits
// it; a controller whose meaning differs gives its own words.

namespace tendril::setting {

constexpr SettingInfo speed(const char* default_value, const char* meaning = "of the feed") {
  return number("speed", "m/s", default_value, {0.0, 10.0, true}, meaning);
}
constexpr SettingInfo acceleration(const char* default_value, const char* meaning = "of the feed") {
  return number("acceleration", "m/s^2", default_value, {0.0, 1000.0, true}, meaning);
}
constexpr SettingInfo rate_limit(
    const char* default_value,
    const char* meaning = "largest bend rate of a section; the feed slows down to keep it") {
  return number("rate_limit", "rad/s", default_value, {0.0, 1000.0, true}, meaning);
}
constexpr SettingInfo start_delay(
    const char* default_value,
    const char* meaning = "time for the arm to come to rest before it is fed") {
  return number("start_delay", "s", default_value, kNotNegative, meaning);
}
constexpr SettingInfo jam_feed_force() {
  return number("jam_feed_force", "N", "", kPositive,
                "feed force at which the feed stops; default: 0.98 of the feed servo's limit");
}
constexpr SettingInfo jam_time(const char* default_value, const char* meaning) {
  return number("jam_time", "s", default_value, kNotNegative, meaning);
}

}  // namespace tendril::setting
