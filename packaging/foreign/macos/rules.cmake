# After CMake's rules for macOS, which ask a Mac for its version: libraries are found by @rpath.
set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG "-Wl,-rpath,")
