# Flags that every target of this project shares, and the one way to declare a folder of the library.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(kiln_options INTERFACE)
target_compile_options(kiln_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
# False alarms of g++ 12 on aggregates with strings; clang does not know the option.
target_compile_options(kiln_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
# Results are part of the definition: the compiler may neither fuse nor reorder floating-point operations.
target_compile_options(kiln_options INTERFACE -ffp-contract=off -fno-math-errno)
# Places in kernels that the builder makes are told from the project's root, wherever it was built.
target_compile_options(kiln_options INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(KILN_SANITIZE)
  target_compile_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  target_link_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE})
endif()

# kiln_folder(name SOURCES ... DEPENDS ...): the target kiln_<name> for the folder kiln/<name>. A folder sees only the
# folders named in DEPENDS, so a wrong dependency does not link.
function(kiln_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(kiln_${name} STATIC ${ARG_SOURCES})
  target_include_directories(kiln_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                 $<INSTALL_INTERFACE:include>)
  target_link_libraries(kiln_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:kiln_options> ${ARG_PRIVATE})
  add_library(kiln::${name} ALIAS kiln_${name})
  set_property(GLOBAL APPEND PROPERTY KILN_FOLDERS kiln_${name})
endfunction()
