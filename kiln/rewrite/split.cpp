#include "kiln/rewrite/split.h"

#include <algorithm>

#include "kiln/isa/enums.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/table.h"
#include "kiln/rewrite/edit.h"

namespace kiln::rewrite {
namespace {

using namespace isa;

bool can_split(Opcode opcode) {
  switch (opcode) {
    case Opcode::dma_copy:
    case Opcode::nc_matmul:
    case Opcode::tensor_copy:
    case Opcode::memset:
    case Opcode::tensor_tensor:
    case Opcode::tensor_scalar:
    case Opcode::scalar_tensor_tensor:
    case Opcode::reciprocal:
    case Opcode::activation:
      return true;
    default:
      return false;
  }
}

// The position of the row sum of a function that has one.
int sum_of(Opcode opcode) { return opcode == Opcode::activation ? static_cast<int>(args::activation::reduce_res) : -1; }

ReduceCmd command_of(const InstView& v) {
  return v.inst().opcode == Opcode::activation ? v.get<ReduceCmd>(args::activation::reduce_cmd) : ReduceCmd::idle;
}

// Sums that begin with the instruction go on from piece to piece; others depend on what was before.
bool has_plain_sum(const InstView& v) {
  if (v.inst().opcode != Opcode::activation) return true;
  const bool wanted = v.has(args::activation::reduce_res);
  return command_of(v) == (wanted ? ReduceCmd::reset_reduce : ReduceCmd::idle);
}

bool has_moving_parts(const InstView& v, int param) {
  const Dynamic* dynamic = v.dynamic(param);
  return dynamic && (dynamic->kind == Dynamic::Kind::vector || dynamic->kind == Dynamic::Kind::indirect);
}

// Tiles that every piece takes as a whole.
bool is_whole(const InstView& v, int param) {
  return param == v.facts().stationary || param == sum_of(v.inst().opcode) ||
         (v.row().params[param].kind != ParamKind::out && v.free_size(param) == 1 && v.free_size(v.row().result) > 1);
}

bool are_alike(const Access& a, const Access& b) {
  const auto same = [](const Dim& x, const Dim& y) { return x.count == y.count; };
  return a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims, same);
}

Access piece_of(const Program& program, Access access, int dim, std::int64_t start, std::int64_t count) {
  if (dim == 0 && is_on_chip(program.tensors[access.tensor].memory))
    access.partition.constant += start;
  else
    access.offset.constant += start * access.dims[dim].stride;
  access.dims[dim].count = count;
  return access;
}

// Blocks rebuilt with pieces in the place of instructions.
class Splitter {
 public:
  Splitter(const Program& program, const std::map<InstructionId, int>& pieces)
      : from_(program), pieces_(pieces), out_{program, std::vector<InstructionId>(program.instructions.size() + 1)} {
    out_.program.instructions.clear();
    walk(program.body, out_.program.body);
    out_.now.back() = static_cast<InstructionId>(out_.program.instructions.size());
    for (InstructionId& id : out_.program.deps) id = out_.now[id];
  }
  Split result() { return std::move(out_); }

 private:
  void walk(const Block& block, Block& into) {
    Block built;
    for (const Node& node : block) {
      if (node.kind != Node::Kind::instruction) built.push_back(node);
      if (node.kind == Node::Kind::loop) walk(from_.loops[node.index].body, out_.program.loops[node.index].body);
      if (node.kind == Node::Kind::instruction) add(node.index, built);
    }
    into = std::move(built);
  }

  void add(InstructionId id, Block& into) {
    const Instruction& inst = from_.instructions[id];
    const auto asked = pieces_.find(id);
    out_.now[id] = static_cast<InstructionId>(out_.program.instructions.size());
    if (asked == pieces_.end()) return push(inst, into);
    const InstView v(from_, inst);
    const int dim = *split_dim(from_, inst, asked->second);
    const std::int64_t all = v.access(v.row().result).dims[dim].count;
    const std::int64_t size = (all + asked->second - 1) / asked->second;
    for (std::int64_t at = 0; at < all; at += size) push(piece(v, dim, at, std::min(size, all - at), all), into);
  }

  void push(const Instruction& inst, Block& into) {
    into.push_back({Node::Kind::instruction, static_cast<std::uint32_t>(out_.program.instructions.size())});
    out_.program.instructions.push_back(inst);
  }

  Instruction piece(const InstView& v, int dim, std::int64_t at, std::int64_t count, std::int64_t all) {
    Program& p = out_.program;
    Instruction made = v.inst();
    made.first_arg = static_cast<std::uint32_t>(p.args.size());
    for (std::size_t i = 0; i < v.row().params.size(); ++i) p.args.push_back(v.arg(static_cast<int>(i)));
    for (std::size_t i = 0; i < v.row().params.size(); ++i) {
      const int param = static_cast<int>(i);
      if (!v.is_tile(param) || is_whole(v, param)) continue;
      const Arg narrow = add_access(p, piece_of(p, v.access(param), dim, at, count));
      arg_of(p, made, param) = narrow;
    }
    if (command_of(v) == ReduceCmd::idle) return made;
    if (at > 0)
      arg_of(p, made, args::activation::reduce_cmd) = enumerator(static_cast<std::int64_t>(ReduceCmd::reduce));
    if (at + count < all) arg_of(p, made, args::activation::reduce_res) = Arg{};
    return made;
  }

  const Program& from_;
  const std::map<InstructionId, int>& pieces_;
  Split out_;
};

}  // namespace

std::optional<int> split_dim(const Program& program, const Instruction& inst, int pieces) {
  if (!can_split(inst.opcode) || inst.dep_count > 0 || !program.deps.empty()) return {};
  const InstView v(program, inst);
  const int result = v.row().result;
  if (!v.is_tile(result) || !has_plain_sum(v)) return {};
  if (inst.opcode == Opcode::nc_matmul && v.boolean(args::nc_matmul::is_transpose)) return {};
  bool on_chip = false;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!v.is_tile(param)) continue;
    if (has_moving_parts(v, param)) return {};
    on_chip |= !v.in_hbm(param);
    // A product has other partitions than what goes through it.
    Access alike = v.access(param);
    if (param == v.facts().moving) alike.dims[0].count = v.partitions(result);
    if (!is_whole(v, param) && !are_alike(alike, v.access(result))) return {};
  }
  for (int dim = on_chip ? 1 : 0; dim < v.rank(result); ++dim) {
    if (v.dim(result, dim) >= pieces) return dim;
  }
  return {};
}

Split split(const Program& program, const std::map<InstructionId, int>& pieces) {
  return Splitter(program, pieces).result();
}

}  // namespace kiln::rewrite
