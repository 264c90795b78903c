#include "kiln/advice/advice_rules.h"
#include "kiln/advice/reuse_waits.h"

namespace kiln::advice {

std::optional<Advice> psum_evacuation(const Evidence& e) {
  return advise_more_buffers(e, Memory::psum, {"engines wait", "a PSUM tile that is not emptied yet", "PSUM tile"});
}

}  // namespace kiln::advice
