# nanobind's backend for Windows, in this package: that of PyPI is of a compiler whose exceptions g++ cannot catch. One
# for Python 3.11, and one for the stable ABI of 3.12 and later, which has what a backend needs.
set(backend tendril._nanobind)
foreach(version 311 3)
  set(module tendril_nanobind_${version})
  add_library(${module} MODULE ${NB_DIR}/src/nb_combined.cpp ${NB_DIR}/src/nb_backend.cpp)
  target_compile_features(${module} PRIVATE cxx_std_17)
  target_compile_definitions(${module} PRIVATE NB_BUILD NB_BACKEND_NAME=_nanobind)
  target_compile_options(${module} PRIVATE -w -Os -fno-strict-aliasing)
  target_include_directories(${module} SYSTEM PRIVATE
    ${Python_INCLUDE_DIRS} ${NB_DIR}/include ${NB_DIR}/ext/robin_map/include)
  target_link_libraries(${module} PRIVATE ${TENDRIL_SYSROOT}/lib/libpython${version}.dll.a)
  set_target_properties(${module} PROPERTIES PREFIX "" OUTPUT_NAME _nanobind LIBRARY_OUTPUT_DIRECTORY tendril
    SUFFIX .cp311-win_amd64.pyd)
  install(TARGETS ${module} LIBRARY DESTINATION tendril COMPONENT python)
endforeach()
target_compile_definitions(tendril_nanobind_3 PRIVATE Py_LIMITED_API=0x030C0000)
target_compile_options(tendril_nanobind_3 PRIVATE "SHELL:-include ${Python_INCLUDE_DIRS}/python312.h")
set_target_properties(tendril_nanobind_3 PROPERTIES SUFFIX .pyd)

# The compiler's libraries, which exceptions cross together: where the program starts.
foreach(library libstdc++-6 libgcc_s_seh-1 libwinpthread-1)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library}.dll
    OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${CMAKE_STRIP} -o ${CMAKE_CURRENT_BINARY_DIR}/${library}.dll ${file}
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.dll DESTINATION tendril/bin COMPONENT python)
endforeach()

# Licenses of what only this wheel has.
foreach(text gcc-mingw-w64-base mingw-w64-x86-64-dev libz-mingw-w64-dev)
  install(FILES /usr/share/doc/${text}/copyright DESTINATION tendril/licenses RENAME ${text}.txt COMPONENT python)
endforeach()
file(READ ${NB_DIR}/ext/robin_map/include/tsl/robin_map.h text LIMIT 1500)
string(REGEX MATCH "MIT License.*OTHER DEALINGS IN THE[ \n*]+SOFTWARE[.]" text "${text}")
string(REGEX REPLACE "\n \\* ?" "\n" text "${text}")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/robin_map.txt "${text}\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/robin_map.txt DESTINATION tendril/licenses COMPONENT python)
