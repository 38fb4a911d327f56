# find_package(tendril CONFIG [COMPONENTS model plugin_host]) in the Python package:
#
#     cmake -S . -B build -Dtendril_DIR=$(python -m tendril --cmake-dir)
#
# Defines tendril::core, estimation, planning, snake, mobile, control, model, binding, drive and tendril::plugin_host:
# headers and a shared library, for Eigen 3.4. plugin_host also has the library of the program, and the MuJoCo next to
# the package.
include(CMakeFindDependencyMacro)
find_dependency(Eigen3 3.4)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH _tendril_package)
cmake_path(GET _tendril_package PARENT_PATH _tendril_site)
set(_tendril_targets core estimation planning snake mobile control model binding drive plugin_host)
foreach(_tendril_component ${tendril_FIND_COMPONENTS})
  if(_tendril_component IN_LIST _tendril_targets)
    set(tendril_${_tendril_component}_FOUND TRUE)
  elseif(tendril_FIND_REQUIRED_${_tendril_component})
    set(tendril_FOUND FALSE)
    set(tendril_NOT_FOUND_MESSAGE "component ${_tendril_component} is not in the Python package")
    return()
  endif()
endforeach()
if(TARGET tendril::core)
  return()
endif()
if(NOT TARGET MuJoCo::MuJoCo)
  file(STRINGS ${_tendril_package}/_version.py _tendril_engine REGEX "^mujoco_version")
  string(REGEX REPLACE "[^\"]*\"([^\"]*)\".*" "\\1" _tendril_engine "${_tendril_engine}")
  set(_tendril_engine_library libmujoco.so.${_tendril_engine})
  if(APPLE)
    set(_tendril_engine_library libmujoco.${_tendril_engine}.dylib)
  endif()
  add_library(MuJoCo::MuJoCo SHARED IMPORTED)
  set_target_properties(MuJoCo::MuJoCo PROPERTIES
    IMPORTED_LOCATION ${_tendril_site}/mujoco/${_tendril_engine_library}
    INTERFACE_INCLUDE_DIRECTORIES ${_tendril_site}/mujoco/include)
endif()
add_library(tendril::library SHARED IMPORTED)
set_target_properties(tendril::library PROPERTIES
  IMPORTED_LOCATION ${_tendril_package}/libtendril_core${CMAKE_SHARED_LIBRARY_SUFFIX}
  INTERFACE_INCLUDE_DIRECTORIES "${_tendril_package}/include;${_tendril_package}/include/tendril"
  INTERFACE_COMPILE_FEATURES cxx_std_20
  INTERFACE_LINK_LIBRARIES Eigen3::Eigen)
add_library(tendril::program SHARED IMPORTED)
set_target_properties(tendril::program PROPERTIES
  IMPORTED_LOCATION ${_tendril_package}/bin/libtendril_program${CMAKE_SHARED_LIBRARY_SUFFIX})
foreach(_tendril_target ${_tendril_targets})
  add_library(tendril::${_tendril_target} INTERFACE IMPORTED)
  set_target_properties(tendril::${_tendril_target} PROPERTIES INTERFACE_LINK_LIBRARIES tendril::library)
endforeach()
set_target_properties(tendril::plugin_host PROPERTIES
  INTERFACE_LINK_LIBRARIES "tendril::library;tendril::program;MuJoCo::MuJoCo")
