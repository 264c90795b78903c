#include "kiln/sim/tracker.h"

#include <fmt/format.h>

#include <cstring>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/engine_state.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/rules.h"
#include "kiln/sim/spans.h"

namespace kiln::sim {
using isa::Shadow;
using isa::Tile;

namespace {

void fill(ByteMap& map, const Operand& o, std::uint8_t value) {
  if (map.is_uniform(value)) return;
  const isa::Tile& t = o.tile;
  constexpr std::int64_t kMany = 32;
  if (t.rows >= kMany && t.row_offset && t.row_is_contiguous()) {
    map.expect_ranges();
    const std::int64_t begin = t.data - o.storage->data, bytes = t.free_size * t.element_bytes();
    for (std::int64_t row = 0; row < t.rows; ++row) {
      const std::int64_t first = begin + t.row_offset[row];
      if (t.row_offset[row] != isa::kSkipRow) map.fill(first, first + bytes, value);
    }
    return;
  }
  for_patches(o, [&](const SpacedRanges& ranges) { map.fill(ranges, value); });
}

bool all(const ByteMap& map, const Operand& o, std::uint8_t value) {
  if (map.is_uniform(value)) return true;
  const isa::Tile& t = o.tile;
  if (t.free_rank > 0 && !t.row_is_contiguous() && !t.row_offset && !t.column) {  // perhaps all between them, too
    std::int64_t first = 0, last = 0;
    for (int d = 0; d < t.free_rank; ++d) {
      const std::int64_t reach = t.free[d].stride * (t.free[d].count - 1);
      (reach < 0 ? first : last) += reach;
    }
    const std::int64_t size = t.element_bytes(), begin = t.data - o.storage->data + first * size;
    SpacedRanges reach{begin, (last + 1 - first) * size};
    if (reach.repeat(t.row_bytes, t.rows) && map.all(reach, value)) return true;
  }
  bool same = true;
  for_patches(o, [&](const SpacedRanges& ranges) { same = same && map.all(ranges, value); });
  return same;
}

// States of PSUM; the last one only as an answer: a matmul wrote through another tensor at the same place.
constexpr std::uint8_t kOther = 1, kMatmul = 2, kZeroed = 3, kOtherMatmul = 4;

bool owns(const Operand& o, std::int64_t begin, std::int64_t end) {
  return !o.storage->owners || o.storage->owners->all(begin, end, o.access->tensor);
}

// Of an element that is read: the first byte of it that was never written.
Shadow shadow_of(const isa::InstView& inst, Origins& origins, const Operand& o, std::int64_t begin, std::int64_t end) {
  return origins.read_through(o.storage->shadow.first_nonzero(begin, end), inst.program(), o.access->tensor);
}

[[noreturn]] void report_unwritten(const isa::InstView& inst, const Origins& origins, const Operand& o, Shadow shadow,
                                   std::int64_t element, const char* what) {
  throw Error(unwritten_diagnostic(origins, shadow, run_rules::kWrittenChoices, index_text(*o.access, element),
                                   inst.program().tensors[o.access->tensor], inst, what));
}

}  // namespace

Operand& Tracker::operand(int param) {
  for (Operand& o : operands_) {
    if (o.param == param) return o;
  }
  KILN_ASSERT(!"operand of the instruction");
  return operands_.front();
}

bool Tracker::is_clean(int param) {
  for (const Operand& o : operands_) {
    if (o.param != param || all(o.storage->shadow, o, 0)) continue;
    saw_unwritten = true;
    return false;
  }
  return true;
}

bool Tracker::is_row_clean(int param, std::int64_t row) {
  const Operand& o = operand(param);
  if (o.storage->shadow.is_uniform(0)) return true;
  Operand one = o;
  one.tile.data = o.tile.row(row);
  one.tile.rows = 1;
  one.tile.row_offset = nullptr;
  if (o.tile.column) one.tile.column = o.tile.column + row / o.tile.group_rows * o.tile.free_size;
  const bool clean = all(o.storage->shadow, one, 0);
  saw_unwritten |= !clean;
  return clean;
}

namespace {

// Calls fn(element, first byte of it that was never written) for the elements of a run that have one.
template <class Fn>
void for_unwritten(const std::uint8_t* bytes, std::int64_t step, std::int64_t size, std::int64_t n, Fn&& fn) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint8_t* const element = bytes + i * step;
    const std::uint8_t* const found = std::find_if(element, element + size, [](std::uint8_t b) { return b != 0; });
    if (found != element + size) fn(i, *found);
  }
}

// Elements without gaps, of a few bytes, each of which was written as a whole or has the same shadow in all of its
// bytes, as they mostly are: sets those of `out` that were not to what `told` gives for it. False for others.
template <class Word, class Fn>
bool set_unwritten(const std::uint8_t* bytes, std::int64_t n, Shadow* out, Fn&& told) {
  constexpr Word kOnes = static_cast<Word>(Word(~Word{0}) / 0xff);
  const auto word_at = [&](std::int64_t i) {
    Word word;
    std::memcpy(&word, bytes + i * sizeof(Word), sizeof word);
    return word;
  };
  if (std::memcmp(bytes, bytes + 1, n * sizeof(Word) - 1) == 0) {
    if (bytes[0]) std::memset(out, told(bytes[0]), n);
    return true;
  }
  std::int64_t first = 0;
  while (word_at(first) == 0) ++first;
  const Word unwritten = word_at(first);
  const auto found = static_cast<Shadow>(unwritten);
  if (unwritten != static_cast<Word>(kOnes * found)) return false;
  Word others = 0;
  for (std::int64_t i = first; i < n; ++i) {
    const Word word = word_at(i);
    others |= word == 0 ? Word{0} : static_cast<Word>(word ^ unwritten);
  }
  if (others) return false;
  const Shadow shadow = told(found);
  for (std::int64_t i = first; i < n; ++i) out[i] = word_at(i) ? shadow : Shadow{0};
  return true;
}

// Equally spaced elements.
struct ElementRun {
  std::int64_t byte, step, size, count;
};

template <class Fn>
void read_run(const ByteMap& map, const ElementRun& run, Shadow* out, Fn&& told) {
  constexpr std::int64_t kPiece = 2048;
  const auto& [byte, step, size, n] = run;
  if (step <= 0 || step > 8 * size) {  // too far apart to be looked at together
    for (std::int64_t i = 0; i < n; ++i) {
      if (const Shadow s = map.first_nonzero(byte + i * step, byte + i * step + size)) out[i] = told(s);
    }
    return;
  }
  std::uint8_t bytes[kPiece];
  const std::int64_t at_once = kPiece / step;
  for (std::int64_t done = 0; done < n; done += at_once) {
    const std::int64_t count = std::min(at_once, n - done), begin = byte + done * step;
    map.copy(begin, begin + (count - 1) * step + size, bytes);
    Shadow* const to = out + done;
    const bool is_set = step == size && (size == 4   ? set_unwritten<std::uint32_t>(bytes, count, to, told)
                                         : size == 2 ? set_unwritten<std::uint16_t>(bytes, count, to, told)
                                                     : set_unwritten<std::uint8_t>(bytes, count, to, told));
    if (!is_set) for_unwritten(bytes, step, size, count, [&](std::int64_t i, Shadow s) { to[i] = told(s); });
  }
}

}  // namespace

std::vector<Shadow> Tracker::read(int param) {
  std::vector<Shadow> out;
  const bool copies = facts().copies >= 0;
  for (const Operand& o : operands_) {
    if (o.param != param) continue;
    const std::size_t base = out.size();
    out.resize(base + o.tile.count());
    if (o.storage->shadow.is_uniform(0)) continue;
    const std::int64_t size = o.tile.element_bytes();
    Shadow last = 0, told = 0;  // neighbours mostly agree
    const auto told_of = [&](Shadow found) {
      saw_unwritten = true;
      if (found == last) return told;
      last = found;
      told = origins_.read_through(found, program(), o.access->tensor);
      if (!copies && origins_.is_padding(told)) told = origins_.find(told)->plain;
      return told;
    };
    for_spaced(o, [&](std::int64_t byte, std::int64_t step, std::int64_t first, std::int64_t n) {
      read_run(o.storage->shadow, {byte, step, size, n}, &out[base + first], told_of);
    });
  }
  return out;
}

void Tracker::write(int param, const std::vector<Shadow>& shadow) {
  const Shadow* of_tile = shadow.data();
  for (Operand& o : operands_) {
    if (o.param != param) continue;
    write_tile(o, of_tile);
    of_tile += o.tile.count();
  }
}

namespace {

// How many of the first elements are the same.
std::int64_t count_same(const std::uint8_t* x, std::int64_t n) {
  constexpr std::int64_t kPiece = 256, kWord = sizeof(std::uint64_t);
  std::int64_t same = 1;
  while (n - same >= kPiece && std::memcmp(x + same - 1, x + same, kPiece) == 0) same += kPiece;
  for (std::uint64_t word, first = x[0] * (~std::uint64_t{0} / 0xff); n - same >= kWord; same += kWord) {
    std::memcpy(&word, x + same, kWord);
    if (word != first) break;
  }
  while (same < n && x[same] == x[0]) ++same;
  return same;
}

}  // namespace

void Tracker::write_tile(Operand& o, const Shadow* shadow) {
  const isa::Tensor& t = program().tensors[o.access->tensor];
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0, end; i < n; i = end) {  // neighbours mostly agree
      end = i + count_same(shadow + first + i, n - i);
      const bool arrives = shadow[first + i] && t.role != isa::Role::internal;
      if (arrives && !o.storage->shadow.all(byte + i * size, byte + end * size, shadow[first + i]))  // else onto itself
        origins_.arrive(o.storage, shadow[first + i], {&program(), &inst(), loops ? loops->pass() : isa::Pass{}});
      o.storage->shadow.fill(byte + i * size, byte + end * size, shadow[first + i]);
    }
  });
  if (t.memory == Memory::psum) fill(o.storage->psum, o, written_state());
}

void Tracker::write_clean(int param) {
  for (Operand& o : operands_) {
    if (o.param != param) continue;
    fill(o.storage->shadow, o, 0);
    if (program().tensors[o.access->tensor].memory == Memory::psum) fill(o.storage->psum, o, written_state());
  }
}

std::uint8_t Tracker::written_state() const {
  if (facts().sum_mode) return kMatmul;
  return facts().zeroes && facts().zeroes(*this) ? kZeroed : kOther;
}

void Tracker::write_where(int param, const std::vector<Shadow>& shadow, const std::vector<std::uint8_t>& where) {
  Operand& o = operand(param);
  const isa::Tensor& t = program().tensors[o.access->tensor];
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0, end; i < n; i = end) {  // neighbours mostly agree
      end = i + count_same(where.data() + first + i, n - i);
      end = i + count_same(shadow.data() + first + i, end - i);
      if (!where[first + i]) continue;
      if (shadow[first + i] && t.role != isa::Role::internal)
        origins_.arrive(o.storage, shadow[first + i], {&program(), &inst(), loops ? loops->pass() : isa::Pass{}});
      o.storage->shadow.fill(byte + i * size, byte + end * size, shadow[first + i]);
      if (t.memory == Memory::psum) o.storage->psum.fill(byte + i * size, byte + end * size, kOther);
    }
  });
}

void Tracker::mark_padding(int param, const std::vector<std::uint8_t>& where) {
  const Operand& o = operand(param);
  if (o.storage->shadow.is_uniform(0)) return;
  const std::int64_t size = o.tile.element_bytes();
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0, end; i < n; i = end) {
      for (end = i + 1; end < n && where[first + end] == where[first + i];) ++end;
      if (!where[first + i]) continue;
      const std::uint8_t all = o.storage->shadow.at(byte + i * size);
      if (!o.storage->shadow.all(byte + i * size, byte + end * size, all)) end = i + 1;  // one by one, then
      const Shadow s = shadow_of(*this, origins_, o, byte + i * size, byte + i * size + 1);
      if (s) o.storage->shadow.fill(byte + i * size, byte + end * size, origins_.padding_of(s));
    }
  });
}

std::vector<std::uint8_t> Tracker::skipped_rows(int param) {
  std::vector<std::uint8_t> out;
  const auto skips = [&](const Operand& o) {
    const std::int64_t* offsets = o.tile.row_offset;
    return o.param == param && offsets &&
           std::find(offsets, offsets + o.tile.rows, isa::kSkipRow) != offsets + o.tile.rows;
  };
  if (std::ranges::none_of(operands_, skips)) return out;
  for (const Operand& o : operands_) {
    if (o.param != param) continue;
    for (std::int64_t row = 0; row < o.tile.rows; ++row) {
      out.push_back(o.tile.row_offset && o.tile.row_offset[row] == isa::kSkipRow);
    }
  }
  return out;
}

std::vector<std::uint32_t> Tracker::bits(int param) {
  const Operand& o = operand(param);
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
  Operand& o = operand(param);
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
  Operand& o = operand(param);
  const std::int64_t at = o.tile.row(0) - o.storage->data;
  const std::uint8_t first = o.storage->psum.at(at);
  const Owners* owners = first == kMatmul ? o.storage->owners.get() : nullptr;
  if (o.storage->psum.is_uniform(first) && !owners) return first;
  const std::uint32_t owner = owners ? owners->at(at) : 0;
  bool same = all(o.storage->psum, o, first);
  for_spans(o, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
    same = same && (!owners || owners->all(byte, byte + bytes, owner));
  });
  if (!same) return -1;
  return owners && !owns(o, at, at + 1) ? kOtherMatmul : first;
}

void Tracker::mark_matmul(int param) {
  Operand& o = operand(param);
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
  warnings_.add({sequence, &inst_, loops}, rule.number,
                [&] { return broken(*this, arch(), rule, {.found = found, .severity = Severity::warning}); });
}

void check_offsets(const isa::InstView& inst, Origins& origins, const Operand& o, std::int64_t group,
                   std::int64_t count) {
  if (o.storage->shadow.is_uniform(0)) return;
  const std::int64_t size = o.tile.element_bytes(), columns = o.tile.free_size;
  for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = (first + i) / columns, column = (first + i) % columns;
      if (column * group + row % group >= count) continue;
      if (const Shadow s = shadow_of(inst, origins, o, byte + i * size, byte + (i + 1) * size))
        report_unwritten(inst, origins, o, s, first + i, "index");
    }
  });
}

void Tracker::check_offsets(int param, std::int64_t group, std::int64_t count) {
  sim::check_offsets(*this, origins_, operand(param), group, count);
}

void Tracker::check_sinks() {
  for (const Operand& o : operands_) {
    if (o.param < 0 || !row().params[o.param].sink || o.storage->shadow.is_uniform(0)) continue;
    const std::int64_t size = o.tile.element_bytes();
    for_spans(o, [&](std::int64_t byte, std::int64_t, std::int64_t first, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (const Shadow s = shadow_of(*this, origins_, o, byte + i * size, byte + (i + 1) * size))
          report_unwritten(*this, origins_, o, s, first + i, "index, predicate or register");
      }
    });
  }
}

}  // namespace kiln::sim
