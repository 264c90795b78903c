#pragma once

#include "kiln/base/error.h"

namespace kiln {

// The error that a call ends with; one without a code when it ends well.
template <class Call>
Diagnostic error_of(Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.first();
  }
  return {};
}

}  // namespace kiln
