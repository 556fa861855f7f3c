# The Python module: the library and its dependencies in one file that needs only the C library and
# OpenMP's runtime. One stable ABI for all Pythons from 3.11 on; numpy is not needed to build it.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)

file(GLOB python_sources CONFIGURE_DEPENDS python/src/*.c)
add_library(clausius_python MODULE ${python_sources} ${all_objects})
set_target_properties(clausius_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so)
target_compile_definitions(clausius_python PRIVATE Py_LIMITED_API=0x030b0000)
target_include_directories(clausius_python PRIVATE ${Python_INCLUDE_DIRS})

# Static archives where the system has them, so that the wheel runs without them. The reference
# LAPACK is enough: one eigenvalue routine of the judge, on matrices of a few rows.
function(static_library out)
  find_library(${out} NAMES ${ARGN} NO_CACHE PATH_SUFFIXES lapack blas
               HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/lapack /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/blas)
  if(NOT ${out})
    message(FATAL_ERROR "none of ${ARGN} is installed: tools/install-deps (or apt-get install liblapack-dev libblas-dev)")
  endif()
  set(${out} ${${out}} PARENT_SCOPE)
endfunction()
static_library(STATIC_CVODE libsundials_cvode.a)
static_library(STATIC_NVECSERIAL libsundials_nvecserial.a)
static_library(STATIC_JANSSON libjansson.a)
static_library(STATIC_MD libmd.a)
static_library(STATIC_LAPACKE liblapacke.a)
find_library(STATIC_LAPACK liblapack.a NO_CACHE NO_DEFAULT_PATH
             PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/lapack /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/local/lib REQUIRED)
find_library(STATIC_BLAS libblas.a NO_CACHE NO_DEFAULT_PATH
             PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/blas /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/local/lib REQUIRED)

target_link_libraries(clausius_python PRIVATE ${STATIC_CVODE} ${STATIC_NVECSERIAL} ${STATIC_JANSSON} ${STATIC_MD}
                      ${STATIC_LAPACKE} ${STATIC_LAPACK} ${STATIC_BLAS} OpenMP::OpenMP_C m)
# Only PyInit__core is seen from outside: another BLAS in the process never meets this one.
target_link_options(clausius_python PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections -s -Wl,-z,now -Wl,--wrap=stdin
                    -Wl,--version-script=${CMAKE_SOURCE_DIR}/python/src/exports.map)
set_target_properties(clausius_python PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/python/src/exports.map)
install(TARGETS clausius_python LIBRARY DESTINATION clausius COMPONENT python)
