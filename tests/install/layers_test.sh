#!/bin/sh
# The layers hold: kinematics, IK, planning, controllers, model text and recordings do not know MuJoCo, and no lower
# layer includes a higher one.
set -eu
if [ "${1:-}" = --help ] || [ $# -ne 1 ]; then
  echo "usage: layers_test.sh SOURCE_ROOT"
  [ "${1:-}" = --help ] && exit 0 || exit 2
fi
cd "$1"
wrong=0

# refuse PATTERN FOLDER...: no file of the folders may have an #include that matches
refuse() {
  pattern=$1
  shift
  if grep -rnE --include='*.hpp' --include='*.cpp' "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@"; then
    echo "layers_test: $* must not include the above"
    wrong=1
  fi
}
refuse 'mujoco|GLFW|EGL|GL/' tendril controllers
refuse 'controllers/|plugin/|apps/' tendril
refuse 'plugin/|apps/' controllers
refuse 'apps/' plugin
refuse 'GLFW|EGL|GL/' plugin
refuse 'toml|fmt/|hdf5|H5|CLI/|nlohmann|spdlog' tendril/kinematics tendril/ik tendril/obstacles tendril/planning tendril/snake tendril/mobile controllers
refuse 'tendril/(planning|snake|mobile|mjcf|rollout)/' tendril/kinematics tendril/ik tendril/obstacles
refuse 'tendril/(ik|obstacles|planning|mobile|mjcf|rollout)/' tendril/snake
refuse 'tendril/snake/' tendril/planning
refuse 'tendril/(ik|obstacles)/' tendril/kinematics
refuse 'tendril/ik/' tendril/obstacles
refuse 'tendril/obstacles/' tendril/ik
refuse 'tendril/mobile/' tendril/planning tendril/obstacles
refuse 'tendril/(planning|snake)/' tendril/mobile
refuse 'tendril/(mjcf|rollout)/' tendril/planning tendril/mobile controllers

# link libraries: only what stands above the plugin folder may name MuJoCo
if grep -niE 'mujoco::|find_package\(mujoco' tendril/CMakeLists.txt tendril/*/CMakeLists.txt controllers/CMakeLists.txt; then
  echo "layers_test: tendril/ and controllers/ must not link MuJoCo"
  wrong=1
fi
[ "$wrong" -eq 0 ] && echo "layers_test: fine"
exit "$wrong"
