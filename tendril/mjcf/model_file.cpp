#include "tendril/mjcf/model_file.hpp"

#include "tendril/mjcf/continuum_model.hpp"
#include "tendril/mjcf/robot_file.hpp"
#include "tendril/mjcf/toml_fields.hpp"
#include "tendril/mjcf/tube_file.hpp"

namespace tendril {

std::string model_file_mjcf(std::string_view toml, const std::string& file_name) {
  const toml::table table = mjcf_detail::parse_toml(toml, file_name);
  if (table["kind"].value_or(std::string_view{}) == "tube")
    return tube_mjcf(parse_tube(toml, file_name));
  // parse_robot refuses every other kind, and says which there are.
  RobotDescription robot = parse_robot(toml, file_name);
  read_setting_files(robot, std::filesystem::path(file_name).parent_path());
  return continuum_mjcf(robot);
}

}  // namespace tendril
