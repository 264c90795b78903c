// The in-order instruction streams of a core.
#pragma once

#include <cstdint>

#include "kiln/arch/arch.h"

namespace kiln::timing {

// Triggers of DMAs that write what was computed have a stream of their own when the kernel leaves the engine open, so
// that loads do not queue behind them.
enum class Stream : std::uint8_t { tensor, vector, scalar, gpsimd, sync, store };
inline constexpr int kStreamCount = 6;

const char* name(Stream stream);
Engine engine_of(Stream stream);
Stream stream_of(Engine engine);  // sync for what has no stream of its own

}  // namespace kiln::timing
