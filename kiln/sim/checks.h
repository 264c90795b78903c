// Whether the run-time checks are compiled in. A library without them exists only to measure what they cost.
#pragma once

namespace kiln::sim {

#ifdef KILN_NO_CHECKS
inline constexpr bool kChecks = false;
#else
inline constexpr bool kChecks = true;
#endif

}  // namespace kiln::sim
