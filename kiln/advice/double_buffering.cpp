#include "kiln/advice/advice_rules.h"
#include "kiln/advice/reuse_waits.h"

namespace kiln::advice {

std::optional<Advice> double_buffering(const Evidence& e) {
  return advise_more_buffers(e, Memory::sbuf, {"DMA and engines wait", "an SBUF tile that is still in use", "tile"});
}

}  // namespace kiln::advice
