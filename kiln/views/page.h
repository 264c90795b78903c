// The fixed parts of the page: the files of kiln/views/page, put into the library by CMake.
#pragma once

#include <string_view>

namespace kiln::views {

extern const std::string_view kPageBody, kPageStyle;
extern const std::string_view kPageScript;  // all scripts, in the order they need each other

}  // namespace kiln::views
