# Warnings and sanitizers are INTERFACE targets; nothing is set globally.
add_library(tendril_warnings INTERFACE)
target_compile_options(tendril_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
  $<$<BOOL:${TENDRIL_WERROR}>:-Werror>)

# -ffp-contract=off: results are bit-identical for all instruction sets. On aarch64 Eigen asks a macro whether to fuse
# multiplications with additions. Without it, Eigen does so only in products of matrices whose three sizes have a sum of
# 20 or more.
# The other options: all code can become part of a plugin library, and all targets can share precompiled headers.
# In the Python package libraries share code, and linker scripts say what is visible.
set(visibility -fvisibility=hidden)
if(TENDRIL_BUILD_PYTHON)
  set(visibility -fvisibility=default -fno-semantic-interposition)
endif()
set(unfused "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(unfused -U__ARM_FEATURE_FMA)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    set(unfused "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/unfused.hpp>")
  endif()
endif()
add_library(tendril_codegen INTERFACE)
target_compile_options(tendril_codegen INTERFACE
  -ffp-contract=off ${unfused}
  -fPIC ${visibility} $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
if(TENDRIL_SANITIZE)
  # -O1: several times faster than -O0 and as strict. -g1: lines and functions, all that a sanitizer reports, compiled
  # in a quarter less time than with variables. In instrumented code g++ 12 reports false uses of uninitialized and
  # overlapping memory; release builds keep these warnings.
  target_compile_options(tendril_codegen INTERFACE
    -O1 -g1 -fsanitize=${TENDRIL_SANITIZE} -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_compile_options(tendril_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  target_link_options(tendril_codegen INTERFACE -fsanitize=${TENDRIL_SANITIZE})
endif()
if(TENDRIL_FUZZ)
  # Executions count. Undefined behavior that is cheap to notice is a trap, indices of the standard library are checked;
  # what must be seen in memory is seen in `dev`, which replays the inputs that a fuzzer keeps. Comparisons are not
  # traced: words are in dictionaries.
  target_compile_options(tendril_codegen INTERFACE
    -O2 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,undefined,float-cast-overflow
    -fno-sanitize=null,alignment,object-size,pointer-overflow,vptr,function
    -fsanitize-trap=undefined,float-cast-overflow -fno-sanitize-coverage=trace-cmp,stack-depth)
  target_compile_definitions(tendril_codegen INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# Objects of earlier builds, of any preset and any copy of the tree, are taken from ccache where it is installed.
option(TENDRIL_CCACHE "Compile through ccache if it is installed" ON)
find_program(TENDRIL_CCACHE_PROGRAM ccache)
if(TENDRIL_CCACHE AND TENDRIL_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the tree; precompiled headers are compared by content.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TENDRIL_CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(tendril_codegen INTERFACE -fpch-preprocess)
  endif()
endif()

if(WIN32)
  # tendril.dll, as other compilers name it
  set(CMAKE_SHARED_LIBRARY_PREFIX "")
  set(CMAKE_SHARED_MODULE_PREFIX "")
endif()

# Where libraries look for others: from their own folder.
set(tendril_origin "$ORIGIN")
if(APPLE)
  set(tendril_origin "@loader_path")
endif()

# tendril_exports(<target> <map>): what a library shows. <map> is a version script; the list for macOS is next to it.
function(tendril_exports name map)
  set(option --version-script=)
  if(APPLE)
    cmake_path(REPLACE_EXTENSION map exp)
    set(option -exported_symbols_list,)
  endif()
  target_link_options(${name} PRIVATE -Wl,${option}${map})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()

# tendril_link_without(<target> <library>...): not these static libraries of ours, whose headers the target has all the
# same: a library for Windows has them, and is linked before. The linker would take the data of a class from an archive
# all the same, and with them functions that are then defined twice.
function(tendril_link_without name)
  get_target_property(remaining ${name} LINK_LIBRARIES)
  set(seen "")
  set(options "")
  set(archives "")
  set(others "")
  while(remaining)
    list(POP_FRONT remaining library)
    string(REGEX REPLACE "^\\$<(LINK_ONLY|BUILD_INTERFACE):(.*)>$" "\\2" library "${library}")
    string(REGEX REPLACE "^tendril::" "tendril_" library "${library}")
    if(library IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${library}")
    if(library MATCHES "^-Wl,")
      list(APPEND options "${library}")
      continue()
    endif()
    set(type "")
    if(library MATCHES "^tendril_[a-z_]+$" AND TARGET ${library})
      get_target_property(type ${library} TYPE)
    endif()
    if(NOT type STREQUAL STATIC_LIBRARY)
      list(APPEND others "${library}")
      continue()
    endif()
    get_target_property(needed ${library} LINK_LIBRARIES)
    list(APPEND remaining ${needed})
    target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
    string(REPLACE "tendril_" "" short ${library})
    if(NOT short IN_LIST ARGN)
      list(APPEND archives $<TARGET_FILE:${library}>)
    endif()
  endwhile()
  set_property(TARGET ${name} PROPERTY LINK_LIBRARIES
    ${options} -Wl,--start-group ${archives} -Wl,--end-group ${others})
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${archives})
  target_compile_features(${name} PRIVATE cxx_std_20)
endfunction()

# tendril_link_whole(<target> <library>...): all of static libraries of ours.
function(tendril_link_whole name)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:tendril_\\1>" OUTPUT_VARIABLE files)
  if(APPLE)
    list(TRANSFORM files PREPEND "-Wl,-force_load,")
  else()
    list(JOIN files "," files)
    set(files "-Wl,--whole-archive,${files},--no-whole-archive")
  endif()
  target_link_libraries(${name} PRIVATE ${files})
endfunction()

# Precompiled headers for headers included by many files. A source file still includes what it uses: every header
# compiles alone (tests/install/headers_test.py), and TENDRIL_PRECOMPILE=OFF builds without them. GCC requires the same
# flags for creation and use: those of tendril_codegen, and only definitions that these headers do not depend on.
option(TENDRIL_PRECOMPILE "Parse Eigen and the standard library once (precompiled headers)" ON)
set(tendril_precompiled_library
  <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <fstream> <functional> <iomanip> <limits> <map> <memory>
  <numbers> <optional> <span> <sstream> <stdexcept> <string> <string_view> <utility> <variant> <vector>
  <Eigen/Core> <Eigen/Geometry> <Eigen/LU> <Eigen/Cholesky>)
set(tendril_precompiled_apps ${tendril_precompiled_library} <fmt/format.h>)
set(tendril_precompiled_tests ${tendril_precompiled_library} <catch2/catch.hpp>)

# tendril_precompiled(<target> library|apps|tests [LIBRARIES ...] [OPTIONS ...])
# Compiles the target with this set of headers, which needs the given libraries and options.
function(tendril_precompiled name set)
  if(NOT TENDRIL_PRECOMPILE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LIBRARIES;OPTIONS" ${ARGN})
  set(owner tendril_precompiled_headers_${set})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cmake/precompiled.cpp CONTENT "")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/cmake/precompiled.cpp)
    target_compile_features(${owner} PUBLIC cxx_std_20)
    target_link_libraries(${owner} PRIVATE Eigen3::Eigen ${ARG_LIBRARIES} tendril_warnings tendril_codegen)
    target_compile_options(${owner} PRIVATE ${ARG_OPTIONS})
    target_precompile_headers(${owner} PRIVATE ${tendril_precompiled_${set}})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${owner})
endfunction()

# Code that reads and writes files is compiled faster than with -O3; in the Python package it is to be small. At -O1
# g++ 12 reports false uses of uninitialized memory.
set(tendril_cold_options
  $<$<CONFIG:Release>:$<IF:$<BOOL:${TENDRIL_BUILD_PYTHON}>,-Os,-O1>>
  $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)

# tendril_library(<name> [COLD] SOURCES ... HEADERS ... PUBLIC ... PRIVATE ...)
# A static, position-independent library tendril_<name> with the alias tendril::<name>.
function(tendril_library name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  add_library(tendril_${name} STATIC ${ARG_SOURCES})
  add_library(tendril::${name} ALIAS tendril_${name})
  set_target_properties(tendril_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(tendril_${name} PUBLIC cxx_std_20)
  target_sources(tendril_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_link_libraries(tendril_${name}
    PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:tendril_warnings> $<BUILD_INTERFACE:tendril_codegen>)
  if(ARG_COLD)
    target_compile_options(tendril_${name} PRIVATE ${tendril_cold_options})
    tendril_precompiled(tendril_${name} apps LIBRARIES fmt::fmt OPTIONS ${tendril_cold_options})
  else()
    tendril_precompiled(tendril_${name} library)
  endif()
endfunction()

# tendril_files(<variable> PATTERN ... [EXCEPT FILE ...])
# The files of this folder that match, so that one more needs no line; a build looks for new ones.
function(tendril_files variable)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_UNPARSED_ARGUMENTS})
  list(REMOVE_ITEM files ${ARG_EXCEPT})
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# tendril_embed(<name> <folder> <file>...)
# Writes ${CMAKE_CURRENT_BINARY_DIR}/generated/<name>, with a row {"<file>", R"file(<its text>)file"}, for each of the
# files, relative to the folder. A changed file is embedded at the next build.
function(tendril_embed name folder)
  set(rows "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE absolute)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${absolute}/${file})
    file(READ ${absolute}/${file} text)
    string(APPEND rows "{\"${file}\", R\"file(${text})file\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT generated/${name} CONTENT "@rows@" @ONLY)
endfunction()

# tendril_tier(<unit|integration|scene|slow> [SERIAL] [LABELS ...] TESTS ...)
# Puts tests into a tier, which is a label of ctest, and limits their time (docs/development/testing.md): `scripts/test`
# runs all but the slow ones. The limits end what hangs; they are far above what a test takes, also on a busy machine.
# SERIAL: measures time, so nothing runs next to it.
set(tendril_tier_timeout_unit 300)
set(tendril_tier_timeout_integration 900)
set(tendril_tier_timeout_scene 600)
set(tendril_tier_timeout_slow 2400)
function(tendril_tier tier)
  cmake_parse_arguments(ARG "SERIAL" "" "LABELS;TESTS" ${ARGN})
  set(timeout ${tendril_tier_timeout_${tier}})
  if(NOT timeout)
    message(FATAL_ERROR "tendril_tier: ${tier}: must be unit, integration, scene or slow")
  endif()
  if(TENDRIL_SANITIZE)
    math(EXPR timeout "10 * ${timeout}")  # unoptimized, too
  endif()
  set_tests_properties(${ARG_TESTS} PROPERTIES
    LABELS "${tier};${ARG_LABELS}" TIMEOUT ${timeout} RUN_SERIAL ${ARG_SERIAL})
endfunction()

# Tested code is optimized; the tests themselves are not, to shorten compilation.
set(tendril_test_options $<$<CONFIG:Release>:-O1>)

# tendril_test(<name> TIER <tier> [SLOW_CASES] SOURCES ... LIBRARIES ...)
# A Catch2 executable run by ctest as <name>; the working directory is the source root. TIER: see tendril_tier.
# SLOW_CASES: cases tagged [slow] are a separate test, <name>.slow.
function(tendril_test name)
  cmake_parse_arguments(ARG "SLOW_CASES" "TIER" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} tendril_test_support
    tendril_warnings tendril_codegen)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE ${tendril_test_options})
  tendril_precompiled(${name} tests LIBRARIES Catch2::Catch2 OPTIONS ${tendril_test_options})
  if(ARG_SLOW_CASES)
    add_test(NAME ${name} COMMAND ${name} ~[slow] WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    add_test(NAME ${name}.slow COMMAND ${name} [slow] WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    tendril_tier(slow TESTS ${name}.slow)
  else()
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
  tendril_tier(${ARG_TIER} TESTS ${name})
endfunction()
