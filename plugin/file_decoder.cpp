#include "plugin/file_decoder.hpp"

#include <mujoco/mujoco.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "plugin/controller_plugin.hpp"
#include "plugin/robot_cache.hpp"
#include "tendril/model/robot_mjcf.hpp"

namespace tendril {
namespace {

int can_decode(const mjResource* resource) noexcept {
  return std::string_view(resource->name).ends_with(".toml");
}

mjSpec* decode(mjResource* resource, const mjVFS* vfs, char* error, int error_size) noexcept {
  const auto report = [&](const char* what) {
    if (error && error_size > 0)
      std::snprintf(error, static_cast<std::size_t>(error_size), "tendril: %s", what);
  };
  try {
    const void* buffer = nullptr;
    const auto size = mju_readResource(resource, &buffer);
    if (size < 0) {
      report((std::string(resource->name) + ": cannot be read").c_str());
      return nullptr;
    }
    const std::string_view text(static_cast<const char*>(buffer), static_cast<std::size_t>(size));
    // A caller that has read the file passes on its description.
    if (text.starts_with('<'))
      return mj_parseXMLString(std::string(text).c_str(), vfs, error, error_size);
    const ModelDescription model = parse_model(text, resource->name);
    std::vector<std::string> sensors;
    if (const auto robot = as_robot(model)) {
      remember_robot(*robot);
      sensors = sensor_names(controller_of(*robot).plugin);
    }
    return mj_parseXMLString(model_mjcf(model, sensors).c_str(), vfs, error, error_size);
  } catch (const std::exception& exception) {
    report(exception.what());
  } catch (...) {
    report("unknown error");
  }
  return nullptr;
}

}  // namespace

void register_file_decoder() {
  mjpDecoder decoder;
  mjp_defaultDecoder(&decoder);
  decoder.content_type = "model/x-tendril+toml";
  decoder.extension = ".toml";
  decoder.can_decode = can_decode;
  decoder.decode = decode;
  mjp_registerDecoder(&decoder);
}

}  // namespace tendril
