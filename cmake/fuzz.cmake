# The targets of tests/fuzz: with libFuzzer (CLAUSIUS_FUZZ), or over their corpus only, as tests.
file(GLOB fuzz_targets CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
set(fmu ${CMAKE_BINARY_DIR}/fmu) # fuzz_fmu calls an exported model, without the library
if(NOT CLAUSIUS_FUZZ)            # else tools/fuzz exports it
  file(MAKE_DIRECTORY ${fmu})
  add_custom_command(OUTPUT ${fmu}/sources/fmi2.c ${fmu}/sources/ideal_gas_piston.c
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:clausius_cli>
            export fmu ideal-gas-piston -o model.fmu --quiet
    COMMAND ${CMAKE_COMMAND} -E tar xf model.fmu
    WORKING_DIRECTORY ${fmu} DEPENDS clausius_cli)
endif()
# files that are memory
foreach(call open close read fstat lstat access fdopen fopen zip_open)
  list(APPEND wrapped -Wl,--wrap=${call})
endforeach()
if(CLAUSIUS_FUZZ) # of an archive only what a target reaches: libFuzzer looks at all counters after every execution
  add_library(fuzzed STATIC ${all_objects})
  set(all_objects)
  set(all_libs fuzzed ${all_libs})
endif()
foreach(source IN LISTS fuzz_targets)
  get_filename_component(target ${source} NAME_WE)
  string(REPLACE fuzz_ "" name ${target})
  if(name STREQUAL "fmu")
    set(needed ${fmu}/sources/ideal_gas_piston.c)
    set(libs)
  else()
    set(needed tests/fuzz/memory.c ${all_objects})
    set(libs ${all_libs} ${wrapped})
  endif()
  if(CLAUSIUS_FUZZ)
    add_executable(${target} ${source} ${needed})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    set(target corpus_test_${name})
    add_executable(${target} ${source} tests/fuzz/standalone.c ${needed})
    target_compile_definitions(${target} PRIVATE CORPUS="${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    if(name STREQUAL "fmu")
      set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${fmu}/sources/fmi2.c)
    endif()
  endif()
  target_link_libraries(${target} PRIVATE ${libs} m)
  target_include_directories(${target} PRIVATE ${fmu}/sources ${CMAKE_SOURCE_DIR}) # "tests/..."
  target_compile_options(${target} PRIVATE -Wno-unused-result)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE $<$<BOOL:${ZIP_FOUND}>:CLSI_HAVE_ZIP>) # memfd_create
endforeach()
