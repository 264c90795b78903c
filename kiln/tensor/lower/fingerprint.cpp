#include "kiln/tensor/lower/fingerprint.h"

#include <bit>
#include <functional>
#include <string>

#include "kiln/isa/table.h"

namespace kiln::tensor {
namespace fingerprints {

using namespace isa;

class Fingerprint {
 public:
  explicit Fingerprint(const Program& program) : p_(program) {
    for (const Tensor& t : p_.tensors) tensor(t);
    block(p_.body);
  }
  std::uint64_t value() const { return hash_; }

 private:
  template <class... Values>
  void add(Values... values) {
    (mix(static_cast<std::uint64_t>(values)), ...);
  }

  void mix(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15ull;
    hash_ ^= hash_ >> 29;
  }

  void tensor(const Tensor& t) {
    add(std::hash<std::string>{}(t.name), t.memory, t.dtype, t.role, t.shape.size());
    for (const std::int64_t n : t.shape) add(n);
    if (t.address) add(t.address->partition, t.address->byte_offset);
  }

  void block(const Block& nodes) {
    add(nodes.size());
    for (const Node& node : nodes) {
      add(node.kind);
      if (node.kind == Node::Kind::declare) add(node.index);
      if (node.kind == Node::Kind::instruction) instruction(p_.instructions[node.index]);
      if (node.kind == Node::Kind::loop) loop(node.index);
    }
  }

  void loop(LoopId id) {
    const Loop& l = p_.loops[id];
    add(id, l.kind, l.reg, l.lower.is_register, l.lower.value, l.upper.is_register, l.upper.value, l.step, l.usual);
    if (l.usual != 0) block(l.body);
  }

  void instruction(const Instruction& inst) {
    add(inst.opcode);
    const std::size_t params = info(inst.opcode).params.size();
    for (std::size_t i = 0; i < params; ++i) arg(p_.arg(inst, static_cast<int>(i)));
    for (std::uint32_t d = 0; d < inst.dep_count; ++d) add(p_.deps[inst.first_dep + d]);
  }

  void arg(const Arg& a) {
    add(a.kind);
    switch (a.kind) {
      case Arg::Kind::none:
        return;
      case Arg::Kind::access:
        return access(p_.accesses[a.index]);
      case Arg::Kind::accesses:
        for (std::uint32_t i = 0; i < a.count; ++i) access(p_.accesses[a.index + i]);
        return;
      case Arg::Kind::integers:
        for (std::uint32_t i = 0; i < a.count; ++i) add(p_.integers[a.index + i]);
        return;
      case Arg::Kind::reals:
        for (std::uint32_t i = 0; i < a.count; ++i) add(std::bit_cast<std::uint64_t>(p_.reals[a.index + i]));
        return;
      case Arg::Kind::real:
        return add(std::bit_cast<std::uint64_t>(a.real));
      case Arg::Kind::reg:
        return add(a.index);
      case Arg::Kind::integer:
      case Arg::Kind::boolean:
      case Arg::Kind::enumerator:
        return add(a.integer);
    }
  }

  void access(const Access& a) {
    add(a.tensor, a.dtype, a.rank);
    affine(a.partition);
    affine(a.offset);
    for (int d = 0; d < a.rank; ++d) add(a.dims[d].stride, a.dims[d].count);
    if (a.dynamic == kNone) return;
    const Dynamic& dynamic = p_.dynamics[a.dynamic];
    add(dynamic.kind, dynamic.scale);
    dynamic.kind == Dynamic::Kind::scalar_register ? add(dynamic.source) : access(p_.accesses[dynamic.source]);
  }

  void affine(const Affine& a) {
    add(a.constant, a.term_count);
    for (const Term& t : p_.terms_of(a)) add(t.loop, t.coefficient);
  }

  const Program& p_;
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

}  // namespace fingerprints

std::uint64_t fingerprint(const isa::Program& program) { return fingerprints::Fingerprint(program).value(); }

}  // namespace kiln::tensor
