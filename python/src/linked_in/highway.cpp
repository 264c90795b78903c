// What Highway's headers ask of its library, so that the module needs no libhwy: Debian has no static one.
#include <hwy/targets.h>

#include "python/src/linked_in/cpu_targets.h"

namespace hwy {

int64_t SupportedTargets() {
  static const std::int64_t targets = kiln::python::cpu_targets();
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
