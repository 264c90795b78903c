# Variables: build, scratch, source, compiler, flags (see CMakeLists.txt).
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# What an earlier run left could hide a file that is no longer installed.
file(REMOVE_RECURSE ${scratch}/prefix ${scratch}/moved ${scratch}/foreign)
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/prefix)
# An installed tree that names its own place breaks when it is moved, and packagers move it.
file(RENAME ${scratch}/prefix ${scratch}/moved)
run(${CMAKE_COMMAND} -S ${source} -B ${scratch}/foreign -G Ninja -D CMAKE_PREFIX_PATH=${scratch}/moved
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${scratch}/foreign)

execute_process(COMMAND ${scratch}/foreign/foreign OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL "bfloat16: 2 bytes\n")
  message(FATAL_ERROR "the foreign program printed '${printed}'")
endif()
