// How a routine reaches its backend.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/backend/backend_rules.h"
#include "kernels/backend/call.h"
#include "kernels/backend/dispatch.h"
#include "kernels/blas/host/types.h"

namespace kiln::blas {

using backend::Array;

template <class T>
std::string routine_name(std::string_view name) {
  return fmt::format("{}{}", letter<T>, name);
}

// The kernel that serves a call: what its program depends on, and how it is made.
struct KernelOf {
  std::string key;
  std::function<isa::Program(Target)> program;
};

// T double has no kernel here.
template <class T>
backend::Call call_of(std::string operation, KernelOf kernel) {
  const bool has_kernel = std::is_same_v<real_t<T>, float>;
  return {.library = "BLAS",
          .operation = std::move(operation),
          .key = std::move(kernel.key),
          .program = has_kernel ? std::move(kernel.program) : nullptr,
          .arrays = {}};
}

// Calls native() or device(run), where run(arrays) runs the kernel.
template <class T, class Native, class Device>
void dispatch_as(std::string operation, KernelOf kernel, Native&& native, Device&& device) {
  backend::Call call = call_of<T>(std::move(operation), std::move(kernel));
  if constexpr (std::is_same_v<real_t<T>, float>)
    backend::dispatch(std::move(call), native, device);
  else
    backend::dispatch(std::move(call), native, [](auto&&) {});
}

template <class T, class Native, class Device>
void dispatch(std::string_view name, KernelOf kernel, Native&& native, Device&& device) {
  dispatch_as<T>(routine_name<T>(name), std::move(kernel), native, device);
}

// For routines that other routines compute on a device.
inline bool is_native() { return backend::current("BLAS") == backend::Backend::native; }
template <class T>
void note_native(std::string_view name) {
  backend::note_native({.library = "BLAS", .operation = routine_name<T>(name), .key = {}, .program = {}, .arrays = {}});
}

// float32 memory under a name; complex elements count twice in the last dimension.
template <class T>
Array array(std::string name, const T* data, std::vector<std::int64_t> shape) {
  if (is_complex<T>) shape.back() *= 2;
  return {std::move(name), const_cast<T*>(data), std::move(shape), DType::float32};
}

}  // namespace kiln::blas
