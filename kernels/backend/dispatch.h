// dispatch: the way of one call of a library to whoever computes it.
#pragma once

#include <utility>

#include "kernels/backend/call.h"

namespace kiln::backend {

// Calls native(), or device(run), where run(arrays) runs the call's program on them. A call without a program is
// refused on devices (backend.R3).
template <class Native, class Device>
void dispatch(Call call, Native&& native, Device&& device) {
  const Backend backend = current(call.library);
  if (backend == Backend::native) {
    native();
    note_native(call);
    return;
  }
  if (!call.program) run(call, backend);  // says that there is none
  device([&](std::vector<Array> arrays) {
    call.arrays = std::move(arrays);
    run(call, backend);
  });
}

}  // namespace kiln::backend
