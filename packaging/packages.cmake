# The libraries that a wheel contains, in the place of Debian's packages of CMake, which name Debian's libraries.
# Included by CMake at its first project(), with
#   TENDRIL_LINUX    for Linux: libraries to link with, of older systems (packaging/linux)
#   TENDRIL_SYSROOT  for another system: all headers and archives (scripts/foreign_sysroot)

# tendril_headers(<package> <target> [<definition>...])
function(tendril_headers package target)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_DEFINITIONS ${ARGN})
  if(TENDRIL_SYSROOT)
    set_property(TARGET ${target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${TENDRIL_SYSROOT}/include)
  endif()
  set_property(GLOBAL APPEND PROPERTY tendril_headers ${package})
endfunction()

tendril_headers(fmt fmt::fmt)
tendril_headers(fmt fmt::fmt-header-only FMT_HEADER_ONLY)
tendril_headers(tomlplusplus tomlplusplus::tomlplusplus TOML_HEADER_ONLY=0)
if(TENDRIL_LINUX)
  # The loader of an older system leaves the constructors of a program to the program: shims.c.
  add_link_options(-L${TENDRIL_LINUX} LINKER:--exclude-libs,libstdc++_pic.a:libtendril_shims.a
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:--wrap=__libc_start_main>)
endif()
if(TENDRIL_SYSROOT)
  tendril_headers(Eigen3 Eigen3::Eigen)
  tendril_headers(nlohmann_json nlohmann_json::nlohmann_json)
  tendril_headers(CLI11 CLI11::CLI11)
  tendril_headers(pugixml pugixml::pugixml PUGIXML_HEADER_ONLY)
  tendril_headers(ZLIB ZLIB::ZLIB)
  tendril_headers(HDF5 hdf5::hdf5)
  file(GLOB tendril_zlib ${TENDRIL_SYSROOT}/lib/libz.*)
  add_library(zlib_file UNKNOWN IMPORTED GLOBAL)
  set_target_properties(zlib_file PROPERTIES IMPORTED_LOCATION "${tendril_zlib}")
  add_library(hdf5_file UNKNOWN IMPORTED GLOBAL)
  set_target_properties(hdf5_file PROPERTIES
    IMPORTED_LOCATION ${TENDRIL_SYSROOT}/lib/libhdf5.a INTERFACE_LINK_LIBRARIES zlib_file)
  set_property(TARGET ZLIB::ZLIB PROPERTY INTERFACE_LINK_LIBRARIES zlib_file)
  set_property(TARGET hdf5::hdf5 PROPERTY INTERFACE_LINK_LIBRARIES hdf5_file)
endif()

# fmt and toml++ are compiled here, after the languages are known.
function(tendril_compile_packages)
  foreach(package fmt tomlplusplus)
    add_library(tendril_${package} STATIC packaging/packages/${package}.cpp)
    target_compile_features(tendril_${package} PRIVATE cxx_std_20)
    target_compile_options(tendril_${package} PRIVATE -Os)  # each library that uses one has it
    set_property(TARGET tendril_${package} PROPERTY POSITION_INDEPENDENT_CODE ON)
    target_compile_definitions(tendril_${package} PRIVATE
      $<TARGET_PROPERTY:${package}::${package},INTERFACE_COMPILE_DEFINITIONS>)
    target_include_directories(tendril_${package} SYSTEM PRIVATE
      $<TARGET_PROPERTY:${package}::${package},INTERFACE_INCLUDE_DIRECTORIES>)
    set_property(TARGET ${package}::${package} PROPERTY INTERFACE_LINK_LIBRARIES tendril_${package})
  endforeach()
endfunction()
cmake_language(DEFER CALL tendril_compile_packages)

macro(tendril_find_headers method package)
  get_property(tendril_found GLOBAL PROPERTY tendril_headers)
  if(${package} IN_LIST tendril_found)
    set(${package}_FOUND TRUE)
  elseif(TENDRIL_SYSROOT AND ${package} STREQUAL Python AND TARGET Python::SABIModule)
    find_package(Python REQUIRED COMPONENTS Interpreter BYPASS_PROVIDER)
    set(Python_INCLUDE_DIRS ${Python_INCLUDE_DIR})
  endif()
endmacro()
cmake_language(SET_DEPENDENCY_PROVIDER tendril_find_headers SUPPORTED_METHODS FIND_PACKAGE)

if(TENDRIL_SYSROOT AND CMAKE_SYSTEM_NAME STREQUAL Windows)
  # With the compiler's libraries in it the wheel has no room for what -O3 adds everywhere. Inverse kinematics would
  # take a tenth longer with -O2.
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
  function(tendril_optimize_core)
    target_compile_options(tendril_core PRIVATE -O3)
    set_property(TARGET tendril_core PROPERTY DISABLE_PRECOMPILE_HEADERS ON)  # these are of -O2
  endfunction()
  cmake_language(DEFER CALL tendril_optimize_core)
  # Python's library of the stable ABI, for nanobind; a module's name has no version.
  foreach(target Module SABIModule)
    add_library(Python::${target} INTERFACE IMPORTED GLOBAL)
    set_property(TARGET Python::${target} PROPERTY INTERFACE_LINK_LIBRARIES ${TENDRIL_SYSROOT}/lib/libpython3.dll.a)
  endforeach()
  set(SKBUILD_SOSABI "")
  set(SKBUILD_SOABI cp311-win_amd64)
endif()
