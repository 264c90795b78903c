// A report as JSON, one document; docs/time-command.md lists the keys. Also parts of it for the page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kiln/views/report.h"

namespace kiln::views {

nlohmann::ordered_json to_json(const Report& report);

}  // namespace kiln::views
