# FindMuJoCo
# ----------
# Finds MuJoCo 4 from the `mujoco-core` Python wheel, an official archive, or an installation from source.
#
# Searches MuJoCo_ROOT (CMake or environment variable); if it is not set, the virtual environment of the project
# (.venv, created by scripts/setup). MuJoCo_ROOT may name the wheel's package folder (`.../site-packages/mujoco`),
# the `site-packages` folder above it, an unpacked archive, or an install prefix.
#
# Defines MuJoCo::MuJoCo, MuJoCo_VERSION, MuJoCo_LIBRARY, MuJoCo_INCLUDE_DIR.
# Version 4.0.0 is refused: its sparse Newton factor is wrong.

set(_mujoco_wheels "")
if(NOT MuJoCo_ROOT AND "$ENV{MuJoCo_ROOT}" STREQUAL "")
  file(GLOB _mujoco_wheels LIST_DIRECTORIES true
    "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/mujoco")
endif()
find_path(MuJoCo_INCLUDE_DIR mujoco/mujoco.h
  HINTS ${MuJoCo_ROOT} $ENV{MuJoCo_ROOT}
  PATHS ${_mujoco_wheels}
  PATH_SUFFIXES include mujoco/include
  DOC "Folder that holds mujoco/mujoco.h")

if(MuJoCo_INCLUDE_DIR AND EXISTS "${MuJoCo_INCLUDE_DIR}/mujoco/mujoco.h")
  file(STRINGS "${MuJoCo_INCLUDE_DIR}/mujoco/mujoco.h" _mujoco_define
    REGEX "^#define[ \t]+mjVERSION_HEADER[ \t]+[0-9]+")
  string(REGEX REPLACE "[^0-9]*([0-9]+).*" "\\1" _mujoco_number "${_mujoco_define}")
  # Since 4.0: SUPERMAJOR * 1000000 + MAJOR * 1000 + MINOR_OR_PATCH; before: three digits.
  if(_mujoco_number GREATER 999999)
    math(EXPR _mujoco_a "${_mujoco_number} / 1000000")
    math(EXPR _mujoco_b "${_mujoco_number} / 1000 % 1000")
    math(EXPR _mujoco_c "${_mujoco_number} % 1000")
    set(MuJoCo_VERSION "${_mujoco_a}.${_mujoco_b}.${_mujoco_c}")
  elseif(_mujoco_number)
    math(EXPR _mujoco_a "${_mujoco_number} / 100")
    math(EXPR _mujoco_b "${_mujoco_number} / 10 % 10")
    math(EXPR _mujoco_c "${_mujoco_number} % 10")
    set(MuJoCo_VERSION "${_mujoco_a}.${_mujoco_b}.${_mujoco_c}")
  endif()
endif()

get_filename_component(_mujoco_prefix "${MuJoCo_INCLUDE_DIR}" DIRECTORY)
find_library(MuJoCo_LIBRARY
  NAMES "libmujoco.so.${MuJoCo_VERSION}" "mujoco.${MuJoCo_VERSION}" mujoco
  HINTS ${_mujoco_prefix} ${MuJoCo_ROOT} $ENV{MuJoCo_ROOT}
  PATHS ${_mujoco_wheels}
  PATH_SUFFIXES lib lib64 mujoco
  DOC "libmujoco")

set(_mujoco_reason
  "Run scripts/setup, or set MuJoCo_ROOT to a MuJoCo ${MuJoCo_FIND_VERSION} archive, install or wheel folder.")
if(MuJoCo_VERSION VERSION_EQUAL "4.0.0")
  message(FATAL_ERROR "MuJoCo 4.0.0 in ${MuJoCo_INCLUDE_DIR} is refused: its sparse Newton solver uses a wrong "
    "factor (wrong accelerations, divergence). ${_mujoco_reason}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MuJoCo
  REQUIRED_VARS MuJoCo_LIBRARY MuJoCo_INCLUDE_DIR
  VERSION_VAR MuJoCo_VERSION
  REASON_FAILURE_MESSAGE "${_mujoco_reason}")

if(MuJoCo_FOUND AND NOT TARGET MuJoCo::MuJoCo)
  add_library(MuJoCo::MuJoCo SHARED IMPORTED)
  set_target_properties(MuJoCo::MuJoCo PROPERTIES
    IMPORTED_LOCATION "${MuJoCo_LIBRARY}"
    IMPORTED_IMPLIB "${MuJoCo_LIBRARY}"  # on Windows
    INTERFACE_INCLUDE_DIRECTORIES "${MuJoCo_INCLUDE_DIR}")
endif()
mark_as_advanced(MuJoCo_INCLUDE_DIR MuJoCo_LIBRARY)
