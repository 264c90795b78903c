// Who computes: `native` (OpenBLAS on this machine), `simulator` (the kernel's program, strictly), `neuron` (the
// program as NKI source through the vendor's package). Nothing changes to another backend by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/arch/arch.h"

namespace kiln::backend {

enum class Backend : std::uint8_t { native, simulator, neuron };
inline constexpr std::string_view kBackendNames[] = {"native", "simulator", "neuron"};
inline std::string_view name(Backend b) { return kBackendNames[static_cast<int>(b)]; }

// What may be asked for: a backend, `auto` (what the environment says, else a device, else native), or the words of
// the libraries that came before: `pytorch` is native, `nki` is a device when there is one and the simulator otherwise.
const std::vector<std::string>& choices();

// For all threads, from now on. Throws Error (backend.R1) for a word that is none, naming those that are, and
// (backend.R2) for `neuron` where there is no device.
void set_backend(std::string_view choice);
std::string get_backend();

// For this thread as long as it lives: the choice of one call.
class Scope {
 public:
  explicit Scope(std::string_view choice);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};
// The choice of the innermost Scope of this thread; empty where there is none.
std::string scope_choice();

// The backend of a call that begins now. The innermost Scope decides, then set_backend, then, under `auto`, the
// environment: KILN_BACKEND; TRN<LIBRARY>_USE_SIMULATOR; TRN<LIBRARY>_REQUIRE_NKI, with which native is no answer.
Backend current(std::string_view library);

// The chip that programs are made for: set_target, else KILN_TARGET, else trn2.
void set_target(std::string_view chip);
Target current_target();

}  // namespace kiln::backend
