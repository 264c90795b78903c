# `cmake --install`: headers, libraries, the program `kiln`, and a package so that others write
#   find_package(kiln REQUIRED)
#   target_link_libraries(mine PRIVATE kiln::kiln)
# Each folder is also a target of its own (kiln::base, kiln::isa, ...).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(kiln_folders GLOBAL PROPERTY KILN_FOLDERS)
get_property(kiln_kernels GLOBAL PROPERTY KILN_KERNELS)
list(APPEND kiln_folders ${kiln_kernels})

add_library(kiln_all INTERFACE)
add_library(kiln::kiln ALIAS kiln_all)
target_link_libraries(kiln_all INTERFACE ${kiln_folders})
set_target_properties(kiln_all PROPERTIES EXPORT_NAME kiln)

# A static library hands its private libraries on to whoever links it, so the package must find them again. The part of
# a target's name before :: is the name of its package.
set(kiln_packages "")
foreach(target IN LISTS kiln_folders)
  string(REGEX REPLACE "^kiln_" "" export_name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  get_target_property(libraries ${target} LINK_LIBRARIES)
  string(REGEX MATCHALL "[A-Za-z0-9_]+::" packages "${libraries}")
  list(APPEND kiln_packages ${packages})
endforeach()
list(REMOVE_DUPLICATES kiln_packages)
list(REMOVE_ITEM kiln_packages kiln::)
set(KILN_FIND_DEPENDENCIES "")
foreach(package IN LISTS kiln_packages)
  string(REPLACE "::" "" package ${package})
  string(APPEND KILN_FIND_DEPENDENCIES "find_dependency(${package})\n")
endforeach()

set(kiln_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)
install(TARGETS kiln_all ${kiln_folders} EXPORT kiln_targets)
install(EXPORT kiln_targets NAMESPACE kiln:: FILE kiln-targets.cmake DESTINATION ${kiln_package_dir})
# A *-inl.h is the inside of a source that Highway compiles once per instruction set; nobody else can include it.
install(DIRECTORY kiln kernels DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.h PATTERN *.def PATTERN *-inl.h EXCLUDE)
if(TARGET kiln_cli)
  install(TARGETS kiln_cli)
endif()

configure_package_config_file(cmake/kiln-config.cmake.in kiln-config.cmake INSTALL_DESTINATION ${kiln_package_dir})
write_basic_package_version_file(kiln-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kiln-config.cmake ${PROJECT_BINARY_DIR}/kiln-config-version.cmake
        DESTINATION ${kiln_package_dir})
