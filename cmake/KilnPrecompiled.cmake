# Headers of the standard library and of fmt that most sources include, compiled once: a source takes about half of the
# time. Only those: folders of the project stay what a target sees by the folders it links (kiln_folder). A source still
# includes what it uses; builds without this (KILN_PRECOMPILED=OFF, any compiler but g++) tell when it does not.
option(KILN_PRECOMPILED "Compile the headers of libraries once" ON)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(KILN_PRECOMPILED OFF)
endif()

# kiln_precompiled(name TYPE OBJECT|EXECUTABLE LINK ... HEADERS ...): what targets of that type share. The type matters
# because sources of executables are compiled as position independent in another way.
function(kiln_precompiled name)
  if(NOT KILN_PRECOMPILED)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TYPE" "LINK;HEADERS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
  if(ARG_TYPE STREQUAL "EXECUTABLE")
    add_executable(${name} ${source})
  else()
    add_library(${name} OBJECT ${source})
  endif()
  target_link_libraries(${name} PRIVATE kiln_options ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# kiln_uses_precompiled(target name): the sources of a target begin with the headers of kiln_precompiled(name).
function(kiln_uses_precompiled target name)
  if(KILN_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

set(kiln_common_headers
  <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstring> <deque> <functional> <limits> <map> <memory> <mutex>
  <numeric> <optional> <set> <source_location> <span> <string> <string_view> <unordered_map> <utility> <variant>
  <vector> <fmt/format.h>)
kiln_precompiled(kiln_library_headers TYPE OBJECT HEADERS ${kiln_common_headers})
