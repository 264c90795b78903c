#include "kiln/tensor/passes/sized_kernel.h"

#include <algorithm>

#include "kiln/isa/inst_view.h"
#include "kiln/isa/replica_groups.h"
#include "kiln/tensor/passes/collective_kernel.h"

namespace kiln::tensor {
namespace {

using isa::View;

// Rows of the metadata.
constexpr std::int64_t kCounts = 0, kDispls = 1, kReceived = 2, kPlaces = 3;

class SizedWriter {
 public:
  SizedWriter(const SizedExchange& e, Target target, std::optional<int> core)
      : e_(e), core_(core), k_(std::string(name(e.moving)), target) {
    if (core) k_.pair();
  }

  isa::Program run() {
    const std::int64_t ranks = std::ssize(e_.groups[0]), given = e_.moving == OpCode::all_gather_v ? 1 : ranks;
    const View x = k_.input("x", e_.src, e_.dtype), into = k_.input("into", e_.dst, e_.dtype);
    const View counts = k_.input("counts", {given}, e_.counted), displs = k_.input("displs", {given}, e_.counted);
    std::optional<View> places;
    if (e_.has_places) places = k_.input("places", {given}, e_.counted);
    const View y = k_.output("y", e_.dst, e_.dtype), came = k_.output("came", {ranks}, DType::int32);
    const View sent = own("sent", e_.src, e_.dtype), received = own("received", e_.dst, e_.dtype);
    const View metadata = own("metadata", {e_.has_places ? kPlaces + 1 : kReceived + 1, ranks}, DType::uint32);
    const auto set = [&](std::int64_t row, const View& numbers) {
      k_.dma_copy({.dst = metadata.select(0, row).slice(0, 0, given), .src = numbers.view(DType::uint32)});
    };
    if (core_.value_or(0) == 0) {
      k_.dma_copy({.dst = sent, .src = x});
      set(kCounts, counts);
    }
    if (core_.value_or(1) == 1) {
      k_.dma_copy({.dst = received, .src = into});
      set(kDispls, displs);
    }
    // Any number where counts will be: it waits until this core has read those of the pass before.
    const View noted = note_of(metadata);
    k_.dma_copy(
        {.dst = noted, .src = (core_ == 1 ? displs : counts).slice(0, 0, 1).view(DType::uint32).reshape({1, 1})});
    if (places) k_.dma_copy({.dst = half(metadata.select(0, kPlaces)), .src = half(places->view(DType::uint32))});
    meet({sent, metadata, received});
    // Others may write to it only now, in every pass of a loop too.
    const View place = received.reshape({1, product(e_.dst)}).slice(1, 0, 1);
    tell_done(k_, {place, noted}, e_.groups, Memory::shared_hbm, core_);
    issue(sent, received, metadata);
    k_.dma_copy({.dst = y, .src = received});
    k_.dma_copy({.dst = came, .src = metadata.select(0, kReceived).view(DType::int32)});
    meet({metadata, received});  // in a loop the other core writes there in the next pass
    return k_.finish();
  }

 private:
  // The cores of a pair.
  void meet(std::initializer_list<View> shared) {
    if (!core_) return;
    for (const View& view : shared) k_.core_barrier({.data = view, .cores = {0, 1}});
  }
  // What this core does of a row, for the instructions of both cores are the same.
  View half(const View& row) const {
    if (!core_ || row.dim(0) < 2) return row;
    const std::int64_t first = row.dim(0) / 2;
    return row.slice(0, *core_ * first, *core_ == 0 ? first : row.dim(0) - first);
  }
  // An element of this core alone: of one rank, which nobody waits for, one that it has written already.
  View note_of(const View& metadata) const {
    const std::int64_t core = core_.value_or(0);
    const bool alone = metadata.dim(1) == 1;
    return metadata.slice(0, alone ? (core == 0 ? kCounts : kDispls) : kReceived, 1).slice(1, alone ? 0 : core, 1);
  }
  View own(const char* name, const Shape& shape, DType dtype) {
    return k_.tensor(Memory::shared_hbm, isa::Role::internal, shape, dtype, {name});
  }

  void issue(const View& sent, const View& received, const View& metadata) {
    if (e_.moving == OpCode::all_gather_v) {
      k_.all_gather_v({.srcs = {sent}, .dsts = {received}, .replica_group = e_.groups, .metadata_tensor = metadata});
    } else {
      k_.all_to_all_v({.srcs = {sent},
                       .dsts = {received},
                       .replica_group = e_.groups,
                       .metadata_tensor = metadata,
                       .has_rdispls = e_.has_places});
    }
  }

  const SizedExchange& e_;
  std::optional<int> core_;
  isa::Kernel k_;
};

const isa::Instruction* sized_instruction(const isa::Program& program) {
  const auto found = std::ranges::find_if(program.instructions, [](const isa::Instruction& inst) {
    return inst.opcode == isa::Opcode::all_to_all_v || inst.opcode == isa::Opcode::all_gather_v;
  });
  return found == program.instructions.end() ? nullptr : &*found;
}

const isa::Tensor* tensor_called(const isa::Program& kernel, std::string_view name) {
  const auto found = std::ranges::find(kernel.tensors, name, &isa::Tensor::name);
  return found == kernel.tensors.end() ? nullptr : &*found;
}

}  // namespace

std::shared_ptr<const isa::Program> sized_kernel(const SizedExchange& exchange, Target target,
                                                 std::optional<int> core) {
  return std::make_shared<const isa::Program>(SizedWriter(exchange, target, core).run());
}

bool is_sized_program(const isa::Program& kernel) {
  if (!sized_instruction(kernel)) return false;
  return std::ranges::all_of(std::to_array({"x", "into", "counts", "displs", "y", "came", "sent", "received"}),
                             [&](const char* name) { return tensor_called(kernel, name) != nullptr; });
}

SizedExchange sized_exchange_of(const isa::Program& kernel) {
  const isa::InstView inst(kernel, *sized_instruction(kernel));
  SizedExchange e{
      .moving = inst.inst().opcode == isa::Opcode::all_gather_v ? OpCode::all_gather_v : OpCode::all_to_all_v,
      .groups = {},
      .dtype = tensor_called(kernel, "x")->dtype,
      .counted = tensor_called(kernel, "counts")->dtype,
      .src = tensor_called(kernel, "sent")->shape,
      .dst = tensor_called(kernel, "received")->shape,
      .has_places = tensor_called(kernel, "places") != nullptr};
  for (const isa::RankList list : isa::replica_groups(inst, inst.facts().collective->groups))
    e.groups.emplace_back(list.begin(), list.end());
  return e;
}

}  // namespace kiln::tensor
