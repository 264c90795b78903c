#include "kiln/views/wait_words.h"

namespace kiln::views {

const char* words(timing::Wait wait) {
  switch (wait) {
    case timing::Wait::none:
      return "nothing";
    case timing::Wait::engine:
      return "its turn";
    case timing::Wait::read:
      return "data";
    case timing::Wait::overwrite:
      return "readers of what it overwrites";
    case timing::Wait::rewrite:
      return "an earlier write to its place";
    case timing::Wait::memory:
      return "memory of another tensor";
    case timing::Wait::dependency:
      return "a stated dependency";
    case timing::Wait::state:
      return "a register or engine state";
    case timing::Wait::port:
      return "a memory port or PSUM bank";
    case timing::Wait::start:
      return "the start of the DMA";
    case timing::Wait::queue:
      return "the DMA queue";
    case timing::Wait::peer:
      return "the other core or rank";
    case timing::Wait::loop:
      return "a loop's condition";
  }
  return "";
}

}  // namespace kiln::views
