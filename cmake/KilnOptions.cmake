# Flags that every target of this project shares, and the one way to declare a folder of the library.

find_program(CCACHE ccache)
if(CCACHE)
  # Paths inside the tree count relative to the build, so that one build's objects serve another (`pip install .`).
  # With precompiled headers it must be told that they do not depend on the time or on macros of single sources.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_library(kiln_options INTERFACE)
target_compile_options(kiln_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
# False alarms of g++ 12 on aggregates with strings; clang does not know the option.
target_compile_options(kiln_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
# clang 16 and later warn of what std::stable_sort of libstdc++ 12 does inside; g++ still warns of what we do.
target_compile_options(kiln_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# Results are part of the definition: the compiler may neither fuse nor reorder floating-point operations.
target_compile_options(kiln_options INTERFACE -ffp-contract=off -fno-math-errno)
# Places in kernels that the builder makes are told from the project's root, wherever it was built.
target_compile_options(kiln_options INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# fmt is in the precompiled headers, and how it is linked is a macro of them.
target_link_libraries(kiln_options INTERFACE fmt::fmt)
target_compile_options(kiln_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
# g++ tidies its memory again and again from 128 MiB on, a tenth of its time in pieces of many sources; they need 1 GiB.
target_compile_options(kiln_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
if(KILN_SANITIZE)
  target_compile_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  target_link_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE})
  if(KILN_FUZZ)  # the runtime that atheris loads before the Python module knows no types, of C++ or of functions
    target_compile_options(kiln_options INTERFACE -fno-sanitize=vptr,function)
  endif()
endif()

# kiln_include_root(out folder): a directory in the build tree from which `#include "<folder>/..."` reaches that folder
# of the source tree and nothing else does. Include paths are made of these, so an include of a folder that a target
# does not link does not compile.
function(kiln_include_root out folder)
  string(REPLACE "/" "_" root ${folder})
  set(root ${PROJECT_BINARY_DIR}/include/${root})
  if(NOT IS_SYMLINK ${root}/${folder})
    get_filename_component(parent ${root}/${folder} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
  endif()
  set(${out} ${root} PARENT_SCOPE)
endfunction()

# kiln_sees(target folder...): a target above the library (commands, tests, ...) includes headers of these folders by
# their place in the source tree.
function(kiln_sees target)
  foreach(folder IN LISTS ARGN)
    kiln_include_root(root ${folder})
    target_include_directories(${target} PUBLIC ${root})
  endforeach()
endfunction()

# How much the compiler works on a target in release builds: -O3 for kernels of numbers, instructions and the
# simulator, -O1 for what runs once per command, program or test, -O2 for the rest. Optimising is half of a clean build.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
function(kiln_runs_often target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  # False alarms of g++ 12 on sums of strings, in pieces of many sources.
  target_compile_options(${target} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()
function(kiln_runs_seldom target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# kiln_compiled_together(target [APART source... / source...]): with KILN_UNITY the sources of a target are compiled in
# a few large pieces, which takes half as long and serves whoever builds once. APART: sources with names of their own
# that others have too; they make pieces of their own, and a / begins the next one.
option(KILN_UNITY "Compile many sources at once: faster, except after small changes" OFF)
function(kiln_compiled_together target)
  cmake_parse_arguments(ARG "" "" "APART" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${KILN_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${ARG_APART} none)
  set(piece "")
  set(number 0)
  foreach(source IN LISTS sources ITEMS / LISTS ARG_APART ITEMS /)
    if(NOT source STREQUAL "/")
      list(APPEND piece ${source})
    endif()
    list(LENGTH piece length)
    if(length EQUAL 20 OR (source STREQUAL "/" AND length GREATER 1))
      math(EXPR number "${number} + 1")
      set_source_files_properties(${piece} PROPERTIES UNITY_GROUP ${number})
      set(piece "")
    elseif(source STREQUAL "/" AND length EQUAL 1)
      set_source_files_properties(${piece} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      set(piece "")
    endif()
  endforeach()
endfunction()

# kiln_folder(name SOURCES ... DEPENDS ... PRIVATE ...): the target kiln_<name> for the folder kiln/<name>. It sees its
# own headers and those of the folders in DEPENDS, whose headers its own may include.
function(kiln_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  kiln_include_root(root kiln/${name})
  add_library(kiln_${name} STATIC ${ARG_SOURCES})
  target_include_directories(kiln_${name} PUBLIC $<BUILD_INTERFACE:${root}> $<INSTALL_INTERFACE:include>)
  target_compile_features(kiln_${name} PUBLIC cxx_std_20)
  target_link_libraries(kiln_${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:kiln_options> ${ARG_PRIVATE})
  kiln_uses_precompiled(kiln_${name} kiln_library_headers)
  add_library(kiln::${name} ALIAS kiln_${name})
  set_property(GLOBAL APPEND PROPERTY KILN_FOLDERS kiln_${name})
endfunction()
