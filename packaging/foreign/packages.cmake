# The libraries of a build for another system, in the place of Debian's packages of CMake, which name Debian's archives:
# headers of scripts/sysroot, and fmt and pugixml as headers. Included by CMake at its first project().

# tendril_headers(<package> <target> [<definition>...])
function(tendril_headers package target)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${TENDRIL_SYSROOT}/include" INTERFACE_COMPILE_DEFINITIONS "${ARGN}")
  set_property(GLOBAL APPEND PROPERTY tendril_headers ${package})
endfunction()
tendril_headers(Eigen3 Eigen3::Eigen)
tendril_headers(fmt fmt::fmt FMT_HEADER_ONLY)
tendril_headers(tomlplusplus tomlplusplus::tomlplusplus)
tendril_headers(nlohmann_json nlohmann_json::nlohmann_json)
tendril_headers(CLI11 CLI11::CLI11)
tendril_headers(pugixml pugixml::pugixml PUGIXML_HEADER_ONLY)
tendril_headers(ZLIB ZLIB::ZLIB)
tendril_headers(HDF5 hdf5::hdf5)
file(GLOB tendril_zlib ${TENDRIL_SYSROOT}/lib/libz.*)
set_property(TARGET ZLIB::ZLIB PROPERTY INTERFACE_LINK_LIBRARIES ${tendril_zlib})
set_property(TARGET hdf5::hdf5 PROPERTY INTERFACE_LINK_LIBRARIES ${TENDRIL_SYSROOT}/lib/libhdf5.a ZLIB::ZLIB)

macro(tendril_find_headers method package)
  get_property(tendril_found GLOBAL PROPERTY tendril_headers)
  if(${package} IN_LIST tendril_found)
    set(${package}_FOUND TRUE)
  endif()
endmacro()
cmake_language(SET_DEPENDENCY_PROVIDER tendril_find_headers SUPPORTED_METHODS FIND_PACKAGE)
