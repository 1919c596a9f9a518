# The installed package: the executable, its schema, the CMake functions and the sample specs. The
# executable carries templates and hardware models inside, so that the prefix may be moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(schema ${PROJECT_BINARY_DIR}/attngen.schema.json)
add_custom_command(OUTPUT ${schema} COMMAND attngen --schema > ${schema} DEPENDS attngen VERBATIM)
add_custom_target(attngen_schema ALL DEPENDS ${schema})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attngen)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/attngenConfig.cmake.in ${PROJECT_BINARY_DIR}/attngenConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attngenConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)

install(TARGETS attngen EXPORT attngenTargets RUNTIME)
install(EXPORT attngenTargets NAMESPACE attngen:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/attngenConfig.cmake
              ${PROJECT_BINARY_DIR}/attngenConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/AttngenAddLibrary.cmake
        DESTINATION ${package_dir})
install(FILES ${schema} DESTINATION ${CMAKE_INSTALL_DATADIR}/attngen)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/specs DESTINATION ${CMAKE_INSTALL_DATADIR}/attngen)
