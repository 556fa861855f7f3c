# The libraries that are used, under the names that they have on Debian, Fedora and Homebrew.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
if(CLAUSIUS_CAIRO)
  pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo)
endif()
# Files that need a library (NPZ, FMU; HDF5; MAT): without it they are refused with a message. The wheel
# has none of them: it brings nothing that is not linked statically.
if(NOT CLAUSIUS_PYTHON)
  set(pc_ZIP libzip)
  set(pc_HDF5 hdf5-serial) # as Debian names it; as others do
  set(pc_MATIO matio)
  pkg_check_modules(ZIP IMPORTED_TARGET libzip)
  pkg_check_modules(HDF5 IMPORTED_TARGET hdf5-serial)
  if(NOT HDF5_FOUND)
    set(pc_HDF5 hdf5)
    pkg_check_modules(HDF5 IMPORTED_TARGET hdf5)
  endif()
  pkg_check_modules(MATIO IMPORTED_TARGET matio)
endif()
foreach(format ZIP HDF5 MATIO)
  if(NOT ${format}_FOUND)
    message(STATUS "without ${format}: its data files will not be read (docs/decisions/0029-data-files.md)")
  endif()
endforeach()

# LAPACKE: a library of its own (Debian, Fedora) or part of OpenBLAS (Homebrew); its header beside others or not.
find_library(LAPACKE_LIBRARY NAMES lapacke openblas REQUIRED HINTS ENV OPENBLAS_ROOT PATH_SUFFIXES lib)
find_path(LAPACKE_INCLUDE lapacke.h REQUIRED HINTS ENV OPENBLAS_ROOT PATH_SUFFIXES include lapacke openblas)
find_library(MD_LIBRARY md REQUIRED) # SHA-256: libmd
find_path(SUNDIALS_INCLUDE cvode/cvode.h REQUIRED)
find_library(SUNDIALS_CVODE sundials_cvode REQUIRED)
find_library(SUNDIALS_NVECSERIAL sundials_nvecserial REQUIRED)
find_library(SUNDIALS_CORE sundials_core) # of its own since 7.0
set(SUNDIALS_LIBRARIES ${SUNDIALS_CVODE} ${SUNDIALS_NVECSERIAL})
if(SUNDIALS_CORE)
  list(APPEND SUNDIALS_LIBRARIES ${SUNDIALS_CORE})
endif()
include_directories(SYSTEM ${LAPACKE_INCLUDE} ${SUNDIALS_INCLUDE})
