# Files installed by `cmake --install`. One CMake component for each set of dependencies:
#   core            tendril::core, estimation, planning, snake, mobile, control  Eigen
#   system          tendril::system                                  nothing
#   model           tendril::model, binding, drive                   system + Eigen, toml++, fmt
#   rollout_blocks  tendril::rollout_blocks                          zlib
#   recording       tendril::recording                               + HDF5
#   plugin_host     tendril::plugin_host                             model + MuJoCo
#   simulation      tendril::simulation                              plugin_host, rollout_blocks + JSON, pugixml
#   rollout         tendril::rollout, plan_file                      simulation, recording
#   rendering       tendril::rendering, offscreen                    rollout
# and the program, libtendril.so, models and scenes. A build without MuJoCo installs the targets that it has.

# tendril_install_data(<folder> <component>): models and scenes; the component may be empty. The wheel has no plain
# models, which `tendril model --plain` writes.
function(tendril_install_data folder component)
  set(left_out "")
  if(component)
    set(component COMPONENT ${component})
    set(left_out REGEX "/models/.*\\.xml$" EXCLUDE)
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/models ${PROJECT_SOURCE_DIR}/scenes DESTINATION ${folder} ${component}
    FILES_MATCHING ${left_out} PATTERN "*.toml" PATTERN "*.xml" PATTERN "*.csv" PATTERN "*.plan" PATTERN "*.md")
endfunction()

if(NOT TENDRIL_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)
set(tendril_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tendril)

# tendril_install_libraries(<component> <header root> <library>...)
# Headers keep their path relative to the source root under <header root>: those outside the folder tendril/ are
# installed below include/tendril, so that the project has one include folder in a prefix.
function(tendril_install_libraries component header_root)
  install(TARGETS ${ARGN} EXPORT tendril_${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${header_root})
endfunction()
set(include ${CMAKE_INSTALL_INCLUDEDIR})
tendril_install_libraries(core ${include} tendril_core tendril_estimation tendril_planning tendril_snake tendril_mobile)
tendril_install_libraries(core ${include}/tendril tendril_control)
set(components core)
if(TARGET tendril_model)
  tendril_install_libraries(model ${include} tendril_model)
  tendril_install_libraries(model ${include}/tendril tendril_binding tendril_drive)
  tendril_install_libraries(system ${include} tendril_system)
  list(APPEND components system model)
endif()
if(TARGET tendril_recording)
  tendril_install_libraries(rollout_blocks ${include} tendril_rollout_blocks)
  tendril_install_libraries(recording ${include} tendril_recording)
  list(APPEND components rollout_blocks recording)
endif()
if(TARGET tendril_plugin_host)
  tendril_install_libraries(plugin_host ${include}/tendril tendril_plugin_host)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindMuJoCo.cmake DESTINATION ${tendril_cmake_dir})
  list(APPEND components plugin_host)
endif()
if(TARGET tendril_simulation)
  tendril_install_libraries(simulation ${include}/tendril tendril_simulation)
  tendril_install_libraries(rollout ${include} tendril_plan_file)
  tendril_install_libraries(rollout ${include}/tendril tendril_rollout)
  tendril_install_libraries(rendering ${include}/tendril tendril_offscreen tendril_rendering)
  list(APPEND components simulation rollout rendering)
endif()
foreach(component ${components})
  install(EXPORT tendril_${component} NAMESPACE tendril:: DESTINATION ${tendril_cmake_dir})
endforeach()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tendrilConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/tendrilConfig.cmake
  INSTALL_DESTINATION ${tendril_cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/tendrilConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/tendrilConfig.cmake ${PROJECT_BINARY_DIR}/cmake/tendrilConfigVersion.cmake
  DESTINATION ${tendril_cmake_dir})

# MuJoCo of the source tree's .venv is installed with the program, which then does not need the tree; another one is
# found at its build-time path. (A program that loads libtendril.so has already loaded the engine and does not use the
# path.)
cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${MuJoCo_LIBRARY}" NORMALIZE mujoco_is_of_tree)
foreach(target tendril tendril_plugin)
  if(TARGET ${target} AND NOT mujoco_is_of_tree)
    cmake_path(GET MuJoCo_LIBRARY PARENT_PATH mujoco_folder)
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${mujoco_folder})
  endif()
endforeach()
if(TARGET tendril AND mujoco_is_of_tree)
  install(FILES ${MuJoCo_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET tendril_plugin)
  install(TARGETS tendril_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
tendril_install_data(${CMAKE_INSTALL_DATADIR}/tendril "")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tendril)
