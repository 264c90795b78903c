// The fixed parts of the HTML page: the files of kiln/views/html, put into the library by CMake.
#pragma once

#include <string_view>

namespace kiln::views {

extern const std::string_view kHtmlBody, kHtmlStyle;
extern const std::string_view kHtmlScript;  // all scripts, in the order they need each other

}  // namespace kiln::views
