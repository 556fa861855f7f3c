# What `make install` puts where. Everything found through its own place, so that the tree may move
# (--prefix at install time, DESTDIR, a package).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/clausius)
file(RELATIVE_PATH up_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up_to_prefix ${up_to_prefix})
set(pc_requires jansson) # of the static library
if(CLAUSIUS_CAIRO)
  list(APPEND pc_requires cairo)
endif()
foreach(format ZIP HDF5 MATIO)
  if(${format}_FOUND)
    list(APPEND pc_requires ${pc_${format}})
  endif()
endforeach()
list(JOIN pc_requires ", " pc_requires)
configure_file(cmake/clausius.pc.in clausius.pc @ONLY)
configure_package_config_file(cmake/clausiusConfig.cmake.in clausiusConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(clausiusConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS clausius EXPORT clausiusTargets)
install(TARGETS clausius_static)
if(mpi_programs)
  install(TARGETS ${mpi_programs})
endif()
if(TARGET clausius_cli)
  install(TARGETS clausius_cli)
endif()
install(DIRECTORY include/clausius DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT clausiusTargets NAMESPACE clausius:: DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/clausiusConfig.cmake ${CMAKE_BINARY_DIR}/clausiusConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/clausius.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY src/system/builtin/ DESTINATION ${CMAKE_INSTALL_DATADIR}/clausius/systems
        FILES_MATCHING PATTERN "*.clausius")
install(FILES docs/clausius.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
install(FILES cli/completion.bash RENAME clausius
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
