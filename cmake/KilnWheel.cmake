# What CMake puts into a wheel beside the files of python/kiln, which scikit-build-core takes itself: the extension
# module, and the licences of what is compiled or linked into it.

# kiln_wheel_licence(name file): nothing where the file is not; other distributions keep them elsewhere.
function(kiln_wheel_licence name file)
  install(FILES ${file} DESTINATION ${SKBUILD_METADATA_DIR}/licenses/third_party RENAME ${name}.txt
          COMPONENT python OPTIONAL)
endfunction()

kiln_wheel_licence(cli11 /usr/share/doc/libcli11-dev/copyright)
kiln_wheel_licence(fmt /usr/share/doc/libfmt-dev/copyright)
kiln_wheel_licence(highway /usr/share/doc/libhwy-dev/copyright)
kiln_wheel_licence(libstdc++ /usr/share/doc/libstdc++6/copyright)
kiln_wheel_licence(openblas /usr/share/doc/libopenblas0-pthread/copyright)
kiln_wheel_licence(nlohmann_json /usr/share/doc/nlohmann-json3-dev/copyright)

# nanobind, and the hash map that it brings, whose licence is the first comment of its headers.
execute_process(COMMAND ${Python_EXECUTABLE} -c "import nanobind; print(nanobind.__path__[0])"
                OUTPUT_VARIABLE nanobind OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(GLOB licence ${nanobind}-*.dist-info/licenses/LICENSE ${nanobind}-*.dist-info/LICENSE)
kiln_wheel_licence(nanobind "${licence}")
file(STRINGS ${nanobind}/ext/robin_map/include/tsl/robin_map.h lines LIMIT_COUNT 40 REGEX "^(/\\*\\*| \\*)")
list(JOIN lines "\n" licence)
file(WRITE ${PROJECT_BINARY_DIR}/robin_map.txt "${licence}\n")
kiln_wheel_licence(robin_map ${PROJECT_BINARY_DIR}/robin_map.txt)

if(KILN_MODULE)
  add_custom_target(kiln_python)  # is there already
  install(FILES ${KILN_MODULE} DESTINATION kiln COMPONENT python)
else()
  install(TARGETS kiln_python LIBRARY DESTINATION kiln COMPONENT python)
endif()
