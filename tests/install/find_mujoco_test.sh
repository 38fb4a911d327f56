#!/bin/sh
# cmake/FindMuJoCo.cmake against every layout that MuJoCo comes in, and against versions that it must refuse.
set -eu
if [ "${1:-}" = --help ] || [ $# -ne 3 ]; then
  echo "usage: find_mujoco_test.sh WORK_FOLDER MUJOCO_INCLUDE_FOLDER MUJOCO_LIBRARY"
  [ "${1:-}" = --help ] && exit 0 || exit 2
fi
work=$1 include=$2 library=$3
module_folder=$(cd "$(dirname "$0")/../../cmake" && pwd)
version=$(sed -n 's/^mujoco-core==//p' "$module_folder/../scripts/requirements.txt")
wrong=0
rm -rf "$work"
mkdir -p "$work"
unset MuJoCo_ROOT

# --- A project that looks for MuJoCo and calls it ----------------------------------------------------
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(find_mujoco LANGUAGES C)
list(APPEND CMAKE_MODULE_PATH ${module_folder})
find_package(MuJoCo ${version} REQUIRED)
message(STATUS "library ${MuJoCo_LIBRARY}")
add_executable(version version.c)
target_link_libraries(version PRIVATE MuJoCo::MuJoCo)
CMAKE
cat >"$work/project/version.c" <<'C'
#include <mujoco/mujoco.h>
#include <stdio.h>
int main(void) {
  printf("%d\n", mj_version());
  return mj_version() == mjVERSION_HEADER ? 0 : 1;
}
C

configure() {  # NAME ROOT [PROJECT]: log in NAME.log
  cmake -S "${3:-$work/project}" -B "$work/build_$1" "-Dmodule_folder=$module_folder" ${2:+"-DMuJoCo_ROOT=$2"} \
    "-Dversion=$version" >"$work/$1.log" 2>&1
}
say_wrong() { cat "$work/$1.log"; echo "find_mujoco_test: $1: $2"; wrong=1; }

finds() {  # NAME ROOT FOLDER_OF_LIBRARY [PROJECT]: configures, uses that library, builds and runs
  if ! configure "$1" "$2" "${4:-}"; then say_wrong "$1" "is not found"; return; fi
  if ! grep -q "library $3/libmujoco.so" "$work/$1.log"; then say_wrong "$1" "another library than in $3"; return; fi
  if ! cmake --build "$work/build_$1" >>"$work/$1.log" 2>&1; then say_wrong "$1" "does not link"; return; fi
  if ! "$work/build_$1/version" >>"$work/$1.log" 2>&1; then say_wrong "$1" "does not run"; return; fi
  echo "$1: found"
}
refuses() {  # NAME ROOT TEXT [PROJECT]: configuring fails and says TEXT
  if configure "$1" "$2" "${4:-}"; then say_wrong "$1" "was accepted"; return; fi
  # CMake wraps its messages.
  if ! tr -s ' \n' ' ' <"$work/$1.log" | grep -qF "$3"; then say_wrong "$1" "does not say '$3'"; return; fi
  echo "$1: refused"
}

fake_archive() {  # FOLDER HEADER_NUMBER LIBRARY_SUFFIX: layout of an official archive, header changed
  mkdir -p "$1/lib" "$1/include"
  cp -r "$include/mujoco" "$1/include/"
  sed -i "s/^\(#define[[:space:]]*mjVERSION_HEADER[[:space:]]*\)[0-9]*/\1$2/" "$1/include/mujoco/mujoco.h"
  ln -s "$library" "$1/lib/libmujoco.so.$3"
  ln -s "libmujoco.so.$3" "$1/lib/libmujoco.so"
}

# --- Where it must be found ---------------------------------------------------------------------------
fake_archive "$work/archive" "$(echo "$version" | awk -F. '{ printf "%d", $1 * 1000000 + $2 * 1000 + $3 }')" "$version"
finds archive "$work/archive" "$work/archive/lib"

case $library in
*/site-packages/mujoco/*)
  package=$(dirname "$library")
  finds wheel_package "$package" "$package"
  finds site_packages "$(dirname "$package")" "$package"
  # A project whose .venv holds the wheel; the project's own folder is all that it goes by.
  cp -r "$work/project" "$work/project_with_venv"
  folder=$work/project_with_venv/.venv/lib/python3.11/site-packages
  mkdir -p "$folder"
  ln -s "$package" "$folder/mujoco"
  finds venv "" "$folder/mujoco" "$work/project_with_venv"
  ;;
esac

# --- What must be refused -----------------------------------------------------------------------------
fake_archive "$work/archive_4_0_0" 4000000 4.0.0
refuses version_4_0_0 "$work/archive_4_0_0" "is refused: its sparse Newton solver uses a wrong factor"
fake_archive "$work/archive_3" 337 3.3.7
refuses version_3 "$work/archive_3" "Found unsuitable version \"3.3.7\", but required is at least \"$version\""
refuses version_3_what_to_do "$work/archive_3" "set MuJoCo_ROOT to a MuJoCo $version archive"
mkdir "$work/nothing"
refuses empty_root "$work/nothing" "set MuJoCo_ROOT to a MuJoCo $version archive"
if [ -d "$work/project_with_venv" ]; then  # a root that was named is not passed over in silence
  refuses empty_root_beside_venv "$work/nothing" "set MuJoCo_ROOT" "$work/project_with_venv"
fi

exit "$wrong"
