// A report as JSON, one document; docs/time-command.md lists the keys. Also parts of it for the page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kiln/views/time_report.h"

namespace kiln::views {

nlohmann::ordered_json to_json(const TimeReport& report);

}  // namespace kiln::views
