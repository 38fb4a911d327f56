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
refuse 'mujoco|GLFW|EGL|GL/' tendril controllers python
refuse 'controllers/|plugin/|apps/' tendril
refuse 'plugin/|apps/' controllers
refuse 'apps/' plugin
refuse 'GLFW|EGL|GL/' plugin

# allow FOLDER OTHER...: a folder of tendril/ may include these others (and itself), nothing else of tendril/
allow() {
  folder=$1
  known=$(echo "$@" | tr ' ' '|')
  if grep -rnE --include='*.hpp' --include='*.cpp' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"tendril/[a-z_]+/' "tendril/$folder" |
      grep -vE "\"tendril/($known)/"; then
    echo "layers_test: tendril/$folder must not include the above"
    wrong=1
  fi
}
mathematics="kinematics ik geometry path contact rod avoidance snake mobile"
allow kinematics
allow ik kinematics
allow geometry kinematics
allow path kinematics
allow contact
allow rod contact
allow avoidance kinematics ik geometry contact path
allow snake kinematics path
allow mobile kinematics ik geometry
allow model kinematics path snake mobile
allow recording
for folder in tendril/*/; do
  case " $mathematics model recording " in
    *" $(basename "$folder") "*) ;;
    *) echo "layers_test: $folder is in no layer"; wrong=1 ;;
  esac
done
for folder in $mathematics; do
  refuse 'toml|fmt/|hdf5|H5|CLI/|nlohmann|spdlog' "tendril/$folder"
done
refuse 'toml|hdf5|H5|CLI/|nlohmann|spdlog' controllers
# fmt makes their messages, in sources only: who includes their headers needs nothing of it
if grep -rn --include='*.hpp' '#include <fmt/' controllers; then
  echo "layers_test: headers of controllers must not include fmt"
  wrong=1
fi

# link libraries: only what stands above the plugin folder may name MuJoCo
if grep -niE 'mujoco::|find_package\(mujoco' tendril/CMakeLists.txt tendril/*/CMakeLists.txt controllers/CMakeLists.txt; then
  echo "layers_test: tendril/ and controllers/ must not link MuJoCo"
  wrong=1
fi
[ "$wrong" -eq 0 ] && echo "layers_test: fine"
exit "$wrong"
