cmake_minimum_required(VERSION 3.25)
# cmake -D SOURCE=<folder> -D OUTPUT=<header> -P write_commit.cmake
# Defines TENDRIL_COMMIT: commit of the source tree, with "-dirty" if files differ from it; empty outside of git.
set(commit "")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once\n#define TENDRIL_COMMIT \"@commit@\"\n" @ONLY)
