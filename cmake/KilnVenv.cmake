# The Python that this build uses, and the environment that it fills. KILN_VENV has `kiln` and `import kiln` from the
# build tree, and the tests that Python drives run in it. Of the preset release it is .venv, which has the packages too;
# any other build has an environment in its own folder, so that no build tests another
# (docs/decisions/2026-11-15-one-environment-per-build.md).
if(NOT SKBUILD AND EXISTS ${KILN_PYTHON})
  set(Python_EXECUTABLE ${KILN_PYTHON})
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)

if(NOT SKBUILD)
  set(filler ${PROJECT_SOURCE_DIR}/scripts/fill_venv.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${filler} ${PROJECT_SOURCE_DIR}/pyproject.toml)
  set(package "")
  if(KILN_PYTHON_MODULE)
    set(package --package ${PROJECT_BINARY_DIR}/python --version ${PROJECT_VERSION})
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} ${filler} ${KILN_VENV} ${package} COMMAND_ERROR_IS_FATAL ANY)
endif()
