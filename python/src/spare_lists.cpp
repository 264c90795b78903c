#include "python/src/spare_lists.h"

#include <mutex>
#include <type_traits>
#include <utility>

namespace kiln::python {
namespace {
namespace spare_lists {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of a list that is kept

std::mutex mutex;
std::vector<isa::Access> accesses;
std::vector<isa::Arg> args;
std::vector<isa::Instruction> instructions;

template <class T>
void take(std::vector<T>& kept, std::vector<T>& list) {
  if (list.empty() && list.capacity() < kept.capacity()) list.swap(kept);
}

template <class T>
void leave(std::vector<T>& kept, std::vector<T>& list) {
  static_assert(std::is_trivially_destructible_v<T>);
  if (list.capacity() <= kept.capacity() || list.capacity() * sizeof(T) > kMostBytes) return;
  list.clear();
  kept.swap(list);
}

}  // namespace spare_lists
}  // namespace

void take_spare_lists(isa::Program& program) {
  const std::lock_guard lock(spare_lists::mutex);
  spare_lists::take(spare_lists::accesses, program.accesses);
  spare_lists::take(spare_lists::args, program.args);
  spare_lists::take(spare_lists::instructions, program.instructions);
}

void leave_spare_lists(isa::Program& program) {
  const std::lock_guard lock(spare_lists::mutex);
  spare_lists::leave(spare_lists::accesses, program.accesses);
  spare_lists::leave(spare_lists::args, program.args);
  spare_lists::leave(spare_lists::instructions, program.instructions);
}

}  // namespace kiln::python
