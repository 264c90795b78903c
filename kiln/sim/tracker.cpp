#include "kiln/sim/tracker.h"

#include <fmt/format.h>

#include <functional>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/engine_state.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/rules.h"
#include "kiln/sim/spans.h"

namespace kiln::sim {
using isa::Shadow;
using isa::Tile;

namespace {

void fill(ByteMap& map, const TrackedOperand& o, std::uint8_t value) {
  if (map.is_uniform(value)) return;
  for_spans(o, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
    map.fill(byte, byte + bytes, value);
  });
}

// Whether an instruction fills its dst with 0.
bool zeroes(const isa::Program& program, const isa::Instruction& inst) {
  return inst.opcode == isa::Opcode::memset && isa::InstView(program, inst).real(isa::args::memset::value) == 0;
}

// States of PSUM; the last one only as an answer: a matmul wrote through another tensor at the same place.
constexpr std::uint8_t kMatmul = 2, kOtherMatmul = 4;

// Origins are bytes. From the second number on, tensors of a line that has one share it. Unread bytes belong
// to no tensor yet.
constexpr Shadow kUnread = 255, kMany = 254;
constexpr std::size_t kOfTheirOwn = 160;

std::size_t hash_of(const SourceLoc& loc) {
  std::size_t h = std::hash<std::string>()(loc.file) * 31 + static_cast<std::size_t>(loc.line);
  for (const std::string& frame : loc.stack) h = h * 31 + std::hash<std::string>()(frame);
  return h;
}

bool owns(const TrackedOperand& o, std::int64_t begin, std::int64_t end) {
  return !o.storage->owners || o.storage->owners->all(begin, end, o.access->tensor);
}

}  // namespace

std::string index_text(const isa::Access& a, std::int64_t element) {
  std::int64_t index[isa::kMaxRank];
  for (int d = a.rank - 1; d >= 0; --d) {
    index[d] = element % a.dims[d].count;
    element /= a.dims[d].count;
  }
  std::string text = "[";
  for (int d = 0; d < a.rank; ++d) text += fmt::format("{}{}", d ? ", " : "", index[d]);
  return text + "]";
}

Shadow Origins::add(const isa::Program& program, isa::TensorId tensor) {
  if (!kChecks) return 0;  // nobody follows shadows, so every byte counts as written
  const SourceLoc& loc = program.locs[program.tensors[tensor].loc];
  const std::size_t place = hash_of(loc);
  if (known_.size() >= kOfTheirOwn && loc.known()) {
    if (const auto it = by_place_.find(place); it != by_place_.end()) {
      known_[it->second - 1].shared = true;
      return it->second;
    }
  }
  if (known_.size() + 1 >= kMany) return kMany;
  known_.push_back({&program, tensor});
  const auto shadow = static_cast<Shadow>(known_.size());
  by_place_.try_emplace(place, shadow);
  return shadow;
}

Shadow Origins::unread() { return kChecks ? kUnread : 0; }

Shadow Origins::read_through(Shadow shadow, const isa::Program& program, isa::TensorId tensor) {
  if (shadow != kUnread) return shadow;
  const auto [it, fresh] = placed_.try_emplace({&program, tensor});
  if (fresh) it->second = add(program, tensor);
  return it->second;
}

Shadow Origins::padding_of(Shadow shadow) {
  const Origin* origin = find(shadow);
  if (!origin || origin->plain) return shadow;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].plain == shadow) return static_cast<Shadow>(i + 1);
  }
  if (known_.size() + 1 >= kMany) return shadow;
  known_.push_back({origin->program, origin->tensor, shadow, origin->shared});
  return static_cast<Shadow>(known_.size());
}

Region region_of(const TrackedOperand& o) {
  const Tile& t = o.tile;
  const std::int64_t row_bytes = o.storage->row_bytes;
  if (t.row_offset || t.column) return {0, o.storage->rows, 0, row_bytes};
  std::int64_t begin = t.data - o.storage->data, end = begin + t.element_bytes();
  for (int d = 0; d < t.free_rank; ++d) {
    const std::int64_t reach = t.free[d].stride * (t.free[d].count - 1) * t.element_bytes();
    (reach < 0 ? begin : end) += reach;
  }
  if (o.storage->rows == 1) {  // HBM: rows of the tile are strides too
    const std::int64_t reach = t.row_bytes * (t.rows - 1);
    (reach < 0 ? begin : end) += reach;
    return {0, 1, begin, end};
  }
  const std::int64_t row = begin / row_bytes;
  return {row, row + t.rows, begin - row * row_bytes, end - row * row_bytes};
}

TrackedOperand& Tracker::operand(int param) {
  for (TrackedOperand& o : operands_) {
    if (o.param == param) return o;
  }
  KILN_ASSERT(!"operand of the instruction");
  return operands_.front();
}

bool Tracker::is_clean(int param) {
  for (const TrackedOperand& o : operands_) {
    if (o.param != param || o.storage->shadow.is_uniform(0)) continue;
    bool clean = true;
    for_spans(o, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
      clean = clean && o.storage->shadow.all(byte, byte + bytes, 0);
    });
    if (clean) continue;
    saw_unwritten = true;
    return false;
  }
  return true;
}

std::vector<Shadow> Tracker::read(int param) {
  std::vector<Shadow> out;
  const bool copies = inst().opcode == isa::Opcode::dma_copy || inst().opcode == isa::Opcode::tensor_copy;
  for (const TrackedOperand& o : operands_) {
    if (o.param != param) continue;
    const std::size_t base = out.size();
    out.resize(base + o.tile.count());
    if (o.storage->shadow.is_uniform(0)) continue;
    const std::int64_t size = o.tile.element_bytes();
    for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        Shadow s = shadow_of(o, byte + i * size, byte + (i + 1) * size);
        saw_unwritten |= s != 0;
        if (!copies && origins_.is_padding(s)) s = origins_.find(s)->plain;
        out[base + first + i] = s;
      }
    });
  }
  return out;
}

void Tracker::write(int param, const std::vector<Shadow>& shadow) {
  TrackedOperand& o = operand(param);
  const isa::Tensor& t = program().tensors[o.access->tensor];
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0, end; i < n; i = end) {  // neighbours mostly agree
      for (end = i + 1; end < n && shadow[first + end] == shadow[first + i];) ++end;
      const bool fresh = !o.storage->shadow.all(byte + i * size, byte + end * size, shadow[first + i]);
      if (shadow[first + i] && t.role != isa::Role::internal && fresh)  // copied onto itself: nothing changes
        origins_.arrive(o.storage, shadow[first + i], {&program(), &inst()});
      o.storage->shadow.fill(byte + i * size, byte + end * size, shadow[first + i]);
    }
  });
  if (t.memory == Memory::psum) fill(o.storage->psum, o, 1);
}

void Tracker::write_clean(int param) {
  TrackedOperand& o = operand(param);
  fill(o.storage->shadow, o, 0);
  if (program().tensors[o.access->tensor].memory == Memory::psum)
    fill(o.storage->psum, o, zeroes(program(), inst()) ? 3 : 1);
}

void Tracker::write_where(int param, const std::vector<Shadow>& shadow, const std::vector<std::uint8_t>& where) {
  TrackedOperand& o = operand(param);
  const isa::Tensor& t = program().tensors[o.access->tensor];
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (!where[first + i]) continue;
      if (shadow[first + i] && t.role != isa::Role::internal)
        origins_.arrive(o.storage, shadow[first + i], {&program(), &inst()});
      const std::int64_t at = byte + i * size;
      o.storage->shadow.fill(at, at + size, shadow[first + i]);
      if (t.memory == Memory::psum) o.storage->psum.fill(at, at + size, 1);
    }
  });
}

void Tracker::mark_padding(int param, const std::vector<std::uint8_t>& where) {
  const TrackedOperand& o = operand(param);
  if (o.storage->shadow.is_uniform(0)) return;
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = byte + i * size;
      const Shadow s = where[first + i] ? shadow_of(o, at, at + 1) : Shadow{0};
      if (s) o.storage->shadow.fill(at, at + size, origins_.padding_of(s));
    }
  });
}

std::vector<std::uint8_t> Tracker::skipped_rows(int param) {
  std::vector<std::uint8_t> out;
  bool any = false;
  for (const TrackedOperand& o : operands_) any = any || (o.param == param && o.tile.row_offset);
  if (!any) return out;
  any = false;
  for (const TrackedOperand& o : operands_) {
    if (o.param != param) continue;
    for (std::int64_t row = 0; row < o.tile.rows; ++row) {
      out.push_back(o.tile.row_offset && o.tile.row_offset[row] == isa::kSkipRow);
      any = any || out.back();
    }
  }
  return any ? out : std::vector<std::uint8_t>{};
}

std::vector<std::uint32_t> Tracker::bits(int param) {
  const TrackedOperand& o = operand(param);
  if (queue && !o.storage->is_idle()) queue->wait();
  std::vector<std::uint32_t> out(o.tile.count());
  const std::int64_t size = o.tile.element_bytes();
  // What is not written becomes 0: what is decided from the bits holds when the values are computed.
  if (!o.storage->shadow.is_uniform(0)) {
    for_spans(o, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
      for (std::int64_t at = byte; at < byte + bytes; ++at) {
        if (o.storage->shadow.at(at)) o.storage->data[at] = std::byte{0};
      }
    });
  }
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[first + i] = load_bits(o.tile.dtype, o.storage->data + byte + i * size);
  });
  return out;
}

std::vector<std::uint8_t> Tracker::psum_state(int param) {
  TrackedOperand& o = operand(param);
  std::vector<std::uint8_t> out(o.tile.count());
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = byte + i * size;
      const std::uint8_t state = o.storage->psum.at(at);
      out[first + i] = state == kMatmul && !owns(o, at, at + size) ? kOtherMatmul : state;
    }
  });
  return out;
}

int Tracker::uniform_psum_state(int param) {
  TrackedOperand& o = operand(param);
  const std::int64_t at = o.tile.row(0) - o.storage->data;
  const std::uint8_t first = o.storage->psum.at(at);
  const Owners* owners = first == kMatmul ? o.storage->owners.get() : nullptr;
  if (o.storage->psum.is_uniform(first) && !owners) return first;
  const std::uint32_t owner = owners ? owners->at(at) : 0;
  bool same = true;
  for_spans(o, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
    same =
        same && o.storage->psum.all(byte, byte + bytes, first) && (!owners || owners->all(byte, byte + bytes, owner));
  });
  if (!same) return -1;
  return owners && !owns(o, at, at + 1) ? kOtherMatmul : first;
}

void Tracker::mark_matmul(int param) {
  TrackedOperand& o = operand(param);
  fill(o.storage->psum, o, kMatmul);
  if (!o.storage->owners) return;
  for_spans(o, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
    o.storage->owners->fill(byte, byte + bytes, o.access->tensor);
  });
}

void Tracker::set_psum_mode(isa::PsumMode mode, std::vector<std::uint8_t> add) {
  psum_mode = mode;
  if (mode == isa::PsumMode::per_element) psum_add = std::make_shared<std::vector<std::uint8_t>>(std::move(add));
}

isa::TrackedLane* Tracker::lanes(unsigned state_bit, int param) {
  auto& all = state_bit == isa::kActRegisters ? state_.act_registers : state_.vector_accumulators;
  return all.data() + operand(param).tile.lane;
}

void Tracker::fail(const Rule& rule, std::string found) {
  throw Error(broken(*this, arch(), rule, {.found = std::move(found)}));
}

void Tracker::warn(const Rule& rule, std::string found) {
  warnings_.add(sequence, &inst_, rule.number,
                [&] { return broken(*this, arch(), rule, {.found = found, .severity = Severity::warning}); });
}

Diagnostic unwritten_diagnostic(const Origins& origins, Shadow shadow, const Rule& rule, const std::string& element,
                                const isa::Tensor& reached, const isa::InstView& inst, const char* what) {
  const Origins::Origin* origin = origins.find(shadow);
  const isa::Tensor* from = origin ? &origin->program->tensors[origin->tensor] : nullptr;
  Diagnostic d = run_diagnostic(
      rule, fmt::format("element {} of `{}` depends on bytes of {} that were never written", element, reached.name,
                        !from ? "a tensor declared late"
                              : fmt::format("`{}`{}", from->name, origin->shared ? " or another of its line" : "")));
  d.category = Category::undefined;
  d.loc = inst.loc();
  d.context = isa::print(inst.program(), inst.inst());
  if (from)
    d.notes.push_back(
        {fmt::format("`{}` ({} in {}) was declared here", from->name, name(from->dtype), name(from->memory)),
         origin->program->locs[from->loc]});
  d.allowed = fmt::format("an {} that depends on written bytes only", what);
  return d;
}

void Tracker::report(const TrackedOperand& o, Shadow shadow, std::int64_t element, const Rule& rule, const char* what) {
  throw Error(unwritten_diagnostic(origins_, shadow, rule, index_text(*o.access, element),
                                   program().tensors[o.access->tensor], *this, what));
}

void Tracker::check_sink(const TrackedOperand& o, const char* what) {
  if (o.storage->shadow.is_uniform(0)) return;
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (const Shadow s = shadow_of(o, byte + i * size, byte + (i + 1) * size))
        report(o, s, first + i, run_rules::kWrittenChoices, what);
    }
  });
}

void Tracker::check_offsets(int param, std::int64_t group, std::int64_t count) {
  check_offsets(operand(param), group, count);
}

void Tracker::check_offsets(const TrackedOperand& o, std::int64_t group, std::int64_t count) {
  if (o.storage->shadow.is_uniform(0)) return;
  const std::int64_t size = o.tile.element_bytes(), columns = o.tile.free_size;
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = (first + i) / columns, column = (first + i) % columns;
      if (column * group + row % group >= count) continue;
      if (const Shadow s = shadow_of(o, byte + i * size, byte + (i + 1) * size))
        report(o, s, first + i, run_rules::kWrittenChoices, "index");
    }
  });
}

void Tracker::check_sinks() {
  for (const TrackedOperand& o : operands_) {
    if (o.param >= 0 && row().params[o.param].sink) check_sink(o, "index, predicate or register");
  }
}

}  // namespace kiln::sim
