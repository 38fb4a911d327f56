// One header of each part that a wheel has; of an installation install_test includes all.
#include "controllers/interface/mobile_controller.hpp"
#include "plugin/controller_plugin.hpp"
#include "tendril/avoidance/arm_path_planner.hpp"
#include "tendril/model/robot_mjcf.hpp"
