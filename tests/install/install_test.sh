#!/bin/sh
# A build is installed into an empty prefix and used from there: by a CMake project that knows nothing of the source
# tree, and, when the program was built, by running it elsewhere.
set -eu
if [ "${1:-}" = --help ] || [ $# -ne 4 ]; then
  echo "usage: install_test.sh BUILD_FOLDER LIBDIR MUJOCO_LIBRARY COMPILER_FLAGS   (the last two may be empty)"
  [ "${1:-}" = --help ] && exit 0 || exit 2
fi
build=$1 libdir=$2 mujoco_library=$3 flags=$4
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$build/tests/install/work prefix=$work/prefix
fail() { echo "install_test: $*" >&2; exit 1; }

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; fail "cmake --install failed"; }

# --- A consumer of every component that this build has, and of every header -------------------------
config=$prefix/$libdir/cmake/tendril
components="core"
for component in model recording plugin_host simulation rollout rendering; do
  [ ! -f "$config/tendril_$component.cmake" ] || components="$components;$component"
done
{
  (cd "$prefix/include" && find tendril -name '*.hpp') |
    sed -E 's,^tendril/((controllers|plugin|simulation|rendering)/),\1,'
} | sort | sed 's/.*/#include "&"/' >"$work/every_header.cpp"
for header in tendril/kinematics/section.hpp controllers/interface/controller.hpp; do
  grep -q "\"$header\"" "$work/every_header.cpp" || fail "$header is not installed"
done
if grep -rn "$root/\|$build/" "$config"; then
  fail "a CMake file of the prefix names the source or the build folder"
fi

cmake -S "$here/consumer" -B "$work/build" -Wno-dev --log-level=WARNING \
  -DCMAKE_PREFIX_PATH="$prefix" "-Dcomponents=$components" "-Dheaders=$work/every_header.cpp" \
  "-DMuJoCo_ROOT=${mujoco_library:+$(dirname "$mujoco_library")}" \
  "-DCMAKE_CXX_FLAGS=$flags" "-DCMAKE_C_FLAGS=$flags" >"$work/configure.log" ||
  { cat "$work/configure.log"; fail "the consumer does not configure"; }
cmake --build "$work/build" -j 2 >"$work/build.log" || { cat "$work/build.log"; fail "the consumer does not build"; }
(cd / && "$work/build/consumer") || fail "the consumer does not run"
if [ -x "$work/build/experiment" ]; then
  (unset TENDRIL_PLUGIN && cd / && "$work/build/experiment" "$prefix/share/tendril/scenes/reach/reach.toml") >"$work/experiment.log" 2>&1 ||
    { cat "$work/experiment.log"; fail "the consumer does not run an experiment"; }
  grep -q '^tip_error_max ' "$work/experiment.log" || fail "the experiment has no metrics"
fi

# --- The program from the prefix ---------------------------------------------------------------------
program=$prefix/bin/tendril
if [ -x "$program" ]; then
  cd "$work"
  unset TENDRIL_PLUGIN
  "$program" --version
  if ldd "$program" | grep "$root/.venv/"; then
    fail "the installed program needs the source tree"
  fi
  TENDRIL_PYTHON=/usr/bin/python3 "$program" doctor >"$work/doctor.log" 2>&1 || { cat "$work/doctor.log"; fail "tendril doctor"; }
  "$program" run "$prefix/share/tendril/scenes/reach/reach.xml" --duration 0.02 --out "$work/out" --no-report >"$work/run.log" 2>&1 ||
    { cat "$work/run.log"; fail "the installed program does not run an installed scene"; }
  [ -s "$work/out/summary.json" ] || fail "no summary.json"
  "$program" run --plugin "$work/build/libmy_controller.so" "$root/apps/examples/circle.xml" --duration 0.02 --out "$work/circle" \
    --no-report >"$work/circle.log" 2>&1 || { cat "$work/circle.log"; fail "a controller built outside does not run"; }
fi
echo "install_test: components $components: fine"
