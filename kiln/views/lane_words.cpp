#include "kiln/views/lane_words.h"

#include "kiln/timing/stream.h"

namespace kiln::views {

const char* words(const timing::Lane& lane) {
  switch (lane.engine) {
    case Engine::tensor:
      return "Tensor Engine: matrix products and transposes, into PSUM";
    case Engine::vector:
      return "Vector Engine: element by element on tiles, reductions, scans and copies";
    case Engine::scalar:
      return "Scalar Engine: activation functions, and one scalar per row";
    case Engine::gpsimd:
      return "GpSimd Engine: what needs a program, such as gathers, iota and exact integers; starts DMAs made by "
             "software";
    case Engine::sync:
      return lane.name.ends_with(name(timing::Stream::store))
                 ? "starts of the DMAs that store results, a stream of its own so that loads do not stand behind them"
                 : "starts of DMAs: the bytes move later, on a dma lane";
    case Engine::dma:
      return "DMA queue: bytes on their way between HBM, SBUF and PSUM";
    case Engine::unknown:
      if (lane.links) return "links to other ranks: collectives under way";
      break;
  }
  return "";
}

}  // namespace kiln::views
