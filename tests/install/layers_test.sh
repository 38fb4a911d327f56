#!/bin/sh
# The layers hold: a folder includes only those that the table below allows, no two folders include each other, and only
# what is above the plugin folder knows MuJoCo.
set -eu
if [ "${1:-}" = --help ] || [ $# -ne 1 ]; then
  echo "usage: layers_test.sh SOURCE_ROOT"
  [ "${1:-}" = --help ] && exit 0 || exit 2
fi
cd "$1"
wrong=0

# Each folder with those that it may include; a name with /* allows all folders below, and before the colon represents the
# folders that have no separate row (of each kind of robots). The folders of tendril/, controllers/
# and simulation/ include their own subfolders.
allowed='
tendril                : none
tendril/kinematics     : tendril
tendril/contact        : tendril tendril/geometry
tendril/ik             : tendril tendril/kinematics
tendril/geometry       : tendril tendril/kinematics
tendril/path           : tendril tendril/kinematics
tendril/estimation     : tendril tendril/kinematics
tendril/rod            : tendril tendril/kinematics tendril/geometry tendril/contact
tendril/snake          : tendril tendril/kinematics tendril/path
tendril/avoidance      : tendril tendril/kinematics tendril/ik tendril/geometry tendril/contact tendril/path
tendril/mobile         : tendril tendril/kinematics tendril/ik tendril/geometry
tendril/model          : tendril tendril/kinematics tendril/estimation tendril/path tendril/snake tendril/mobile tendril/system
tendril/system         : none
tendril/plan_file      : tendril tendril/kinematics tendril/geometry tendril/contact tendril/avoidance tendril/rod tendril/model
tendril/recording      : tendril tendril/system
links/dynamixel        : tendril tendril/model tendril/system
links/lerobot          :
links/dds              :
links/ros2_control     : tendril drive

controllers/interface  : tendril tendril/kinematics tendril/geometry tendril/contact tendril/mobile
controllers/watch      : tendril controllers/interface
controllers/*          : tendril tendril/* controllers/interface controllers/watch
controllers            : tendril controllers/*
binding                : tendril tendril/* controllers controllers/*
drive                  : tendril tendril/* controllers controllers/* binding
drive/dynamixel        : tendril tendril/model drive links/dynamixel
plugin                 : tendril tendril/* controllers controllers/* binding

simulation/files       : tendril tendril/model tendril/system
simulation/engine      : tendril tendril/model tendril/system controllers plugin
simulation/scene       : tendril tendril/* controllers controllers/* plugin simulation/engine simulation/files
simulation/experiment  : tendril tendril/* controllers controllers/* plugin simulation/engine simulation/scene
simulation/drive       : tendril tendril/model tendril/recording drive plugin simulation/engine simulation/scene simulation/experiment
simulation/rollout     : tendril tendril/model tendril/system tendril/recording drive plugin simulation/files simulation/engine
simulation/rollout     : simulation/scene simulation/experiment simulation/drive
simulation/families    : tendril tendril/* simulation/engine simulation/files simulation/experiment simulation/rollout
simulation/plan        : tendril tendril/* controllers/arm plugin simulation/scene
rendering              : tendril tendril/model tendril/system tendril/recording simulation/files simulation/engine
rendering              : simulation/scene simulation/rollout

apps/tendril/window    : tendril tendril/* simulation/* rendering
apps/tendril           : tendril tendril/* controllers/interface drive drive/* simulation/* rendering apps/tendril/window bench/published
apps/tendril           : links/dynamixel
apps/examples          : tendril/* controllers/interface plugin simulation/rollout
python/src             : tendril tendril/* controllers controllers/* binding drive plugin simulation/* rendering

bench/published        : tendril tendril/*
bench/peer_ik          : tendril/kinematics tendril/ik
bench                  : tendril tendril/* simulation/scene simulation/rollout tests/avoidance tests/rod tests/snake tests/support
'

# "FILE FOLDER INCLUDED_FOLDER" of every #include "..." of another folder
pairs=$(find tendril controllers binding drive links plugin simulation rendering apps python/src bench -name '*.[ch]pp' |
  xargs grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^".][^"]*/[^"]*"' | awk -F '"' '
    # a folder below tendril/X, links/X, controllers/X or simulation/X belongs to it
    function room(file) {
      sub("/[^/]*$", "", file)
      if (match(file, "^(tendril|links|controllers|simulation)/[^/]+")) file = substr(file, 1, RLENGTH)
      return file
    }
    {
      file = $1
      sub(":.*", "", file)
      if (room(file) != room($2)) print file, room(file), room($2)
    }')

refused=$(printf '%s\n' "$allowed" "-- pairs" "$pairs" | awk '
  /^-- pairs/ { in_pairs = 1; next }
  !in_pairs && NF > 1 { known[$1] = 1; for (i = 3; i <= NF; ++i) may[$1, $i] = 1; next }
  in_pairs && NF == 3 {
    above = $3
    sub("/[^/]*$", "/*", above)
    folder = $2
    if (!known[folder]) sub("/[^/]*$", "/*", folder)
    if (!known[folder]) print $1 ": " $2 " is not in the table"
    else if (!may[folder, $3] && !may[folder, above]) print $1 ": " $2 " must not include " $3
  }')
if [ -n "$refused" ]; then
  printf '%s\n' "$refused" "layers_test: folders include what the table does not allow"
  wrong=1
fi

# A folder without a row, although it includes nothing of others.
for folder in tendril/*/ links/*/ controllers/*/ simulation/*/; do
  case $allowed in
    *"
${folder%/} "*) ;;
    *"
${folder%/*/}/"'*'" "*) ;;
    *) echo "layers_test: $folder is in no layer"; wrong=1 ;;
  esac
done

if ! cycle=$(printf '%s\n' "$pairs" | awk 'NF == 3 { print $2, $3 }' | sort -u | tsort 2>&1 >/dev/null); then
  printf '%s\n' "$cycle" "layers_test: folders include each other"
  wrong=1
fi

# refuse PATTERN FOLDER...: no file of the folders may have an #include that matches
refuse() {
  pattern=$1
  shift
  if grep -rnE --include='*.hpp' --include='*.cpp' "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@"; then
    echo "layers_test: $* must not include the above"
    wrong=1
  fi
}
refuse 'mujoco|GLFW|EGL|GL/' tendril links controllers python
refuse 'GLFW|EGL|GL/' plugin simulation
for folder in kinematics ik geometry path estimation contact rod avoidance snake mobile; do
  refuse 'toml|fmt/|hdf5|H5|CLI/|nlohmann|spdlog' "tendril/$folder"
done
refuse 'toml|hdf5|H5|CLI/|nlohmann|spdlog' controllers
refuse 'Eigen' links
# the operating system is behind tendril/system, EGL in one file
outside=$(find tendril controllers binding drive links plugin simulation rendering apps python/src bench/published \
  -name '*.[ch]pp' ! -path 'tendril/system/posix/*' ! -path 'tendril/system/windows/*')
headers='(unistd|fcntl|dlfcn|link|poll|spawn|termios|netdb|signal|pwd|sched|pthread|dirent|glob|fnmatch|io|windows|winsock2)\.h'
for law in "$headers|sys/|csignal:tendril/system" "EGL|GL/:rendering/egl_context.cpp"; do
  if echo "$outside" | grep -v "^${law#*:}\$" | xargs grep -nE "^ *# *include *[<\"](${law%:*})"; then
    echo "layers_test: only ${law#*:} may include the above"
    wrong=1
  fi
done
if echo "$outside" | grep -v '^tendril/system/' | xargs grep -nE '_WIN32|__APPLE__|__linux__|"/proc/'; then
  echo "layers_test: only tendril/system may know the operating system"
  wrong=1
fi
# fmt makes their messages, in sources only: who includes their headers needs nothing of it
if grep -rn --include='*.hpp' '#include <fmt/' controllers; then
  echo "layers_test: headers of controllers must not include fmt"
  wrong=1
fi

# decompositions take seconds to compile, so they are in sources; what headers have of Eigen is parsed once
if grep -rnE --include='*.hpp' '#include <Eigen/(Dense|Eigen|QR|SVD|Sparse.*)>' tendril controllers plugin simulation rendering; then
  echo "layers_test: headers must not include decompositions of Eigen"
  wrong=1
fi

# link libraries: only what is above the plugin folder may name MuJoCo
if grep -niE 'mujoco::|find_package\(mujoco' tendril/CMakeLists.txt tendril/*/CMakeLists.txt links/*/CMakeLists.txt \
  controllers/CMakeLists.txt; then
  echo "layers_test: tendril/, links/ and controllers/ must not link MuJoCo"
  wrong=1
fi
[ "$wrong" -eq 0 ] && echo "layers_test: fine"
exit "$wrong"
