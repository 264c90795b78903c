#include "kiln/timing/timeline.h"

namespace kiln::timing {
namespace {
constexpr const char* kWaitNames[kWaitCount] = {"none",   "engine",     "read",  "overwrite", "rewrite",
                                                "memory", "dependency", "state", "port",      "start",
                                                "queue",  "peer",       "loop"};
constexpr const char* kKindNames[] = {"execute", "trigger", "transfer"};
}  // namespace

const char* name(Wait wait) { return kWaitNames[static_cast<int>(wait)]; }
const char* name(Kind kind) { return kKindNames[static_cast<int>(kind)]; }

}  // namespace kiln::timing
