// Call: one operation of a library on arrays of the caller, as each backend computes it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/backend/backend.h"
#include "kiln/base/dtype.h"
#include "kiln/isa/program.h"

namespace kiln::backend {

// Memory of the caller for one tensor of the program: C order, without gaps.
struct Array {
  std::string name;
  void* data = nullptr;
  std::vector<std::int64_t> shape;
  DType dtype = DType::float32;
  std::size_t bytes() const;
};

// A text, or what makes it when somebody asks: that of a large pattern takes longer than a small product.
class Key {
 public:
  Key() = default;
  Key(std::string text) : make_([text = std::move(text)] { return text; }) {}  // NOLINT: implicit on purpose
  template <class Make>
  requires std::is_invocable_r_v<std::string, const Make&> Key(Make make)
      : make_(std::move(make)) {}  // NOLINT: implicit on purpose
  std::string text() const { return make_ ? make_() : std::string(); }

 private:
  std::function<std::string()> make_;
};

struct Call {
  std::string_view library;                     // "BLAS": whose environment variables count
  std::string operation;                        // "sgemm"
  Key key;                                      // with the operation and the target, all that the program depends on
  std::function<isa::Program(Target)> program;  // of the core, or of the first one of a pair
  std::vector<Array> arrays;                    // one per input, output and inout of the program
  // How often its loop on a register goes round, for programs that have one; known when the call has run.
  std::shared_ptr<std::int64_t> passes = {};
  // Of the other core of a pair, where two share the work.
  std::function<isa::Program(Target)> second = {};
  // Its instructions are so short that threads of the simulator would wait for each other longer than they compute.
  bool is_fine_grained = false;
};

// Makes the program, or takes it from the cache, checks it once, and runs it on `backend`, which is not native. Throws
// what the check, the run or the device throws: there is no other way that could be gone instead.
void run(const Call& call, Backend backend);

// Notes a call that the native library has computed; its program is made when somebody asks for its time. The second
// one is for calls that are over sooner than their names are made: `call` is asked when somebody wants to know.
void note_native(const Call& call);
void note_native(std::function<Call()> call);

// What computed the last call of this thread.
struct LastCall {
  std::string operation;
  Backend backend = Backend::native;
  Target target = Target::trn2;
  Key key;
  std::function<isa::Program(Target)> make;  // empty before the first call, and where there is no kernel
  std::shared_ptr<std::int64_t> passes = {};
  std::function<isa::Program(Target)> make_second = {};  // of the other core of a pair
  bool is_known() const { return !operation.empty(); }
};
const LastCall& last_call();
// Makes it the last one again, after calls that were a part of it.
void remember(LastCall call);
// The programs of a call, one for each core, from the cache or made now; none where there is no kernel.
std::vector<std::shared_ptr<const isa::Program>> programs_of(const LastCall& call);
// What the model of time predicts for it, in nanoseconds; 0 without a kernel.
double predicted_ns(const LastCall& call);

}  // namespace kiln::backend
