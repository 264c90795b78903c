#include "kiln/rewrite/precision.h"

#include <algorithm>

#include "kiln/isa/uses.h"

namespace kiln::rewrite {
using namespace isa;

namespace {

bool is_low(DType dtype) { return is_float(dtype) && size_bytes(dtype) < 4; }

bool share_bytes(const Tensor& a, const Tensor& b) {
  const auto overlap = [](std::int64_t first, std::int64_t size, std::int64_t other, std::int64_t other_size) {
    return first < other + other_size && other < first + size;
  };
  return a.memory == b.memory && overlap(a.address->partition, a.partitions(), b.address->partition, b.partitions()) &&
         overlap(a.address->byte_offset, a.bytes_per_partition(), b.address->byte_offset, b.bytes_per_partition());
}

// Tensors that lie over another one by their addresses: those mean bytes.
void insert_overlapping(const Program& program, std::set<std::string>& names) {
  std::vector<const Tensor*> placed;
  for (const Tensor& t : program.tensors) {
    if (t.address && is_on_chip(t.memory)) placed.push_back(&t);
  }
  std::ranges::sort(placed, {}, [](const Tensor* t) { return t->address->byte_offset; });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::int64_t end = placed[i]->address->byte_offset + placed[i]->bytes_per_partition();
    for (std::size_t j = i + 1; j < placed.size() && placed[j]->address->byte_offset < end; ++j) {
      if (!share_bytes(*placed[i], *placed[j])) continue;
      names.insert(placed[i]->name);
      names.insert(placed[j]->name);
    }
  }
}

// Tensors by name that keep their format: over each other by hand, or seen through another dtype. What meets
// one of them in an instruction keeps its own too, so that moves of bits stay moves of bits.
std::set<std::string> kept_names(std::span<const Program* const> programs) {
  std::set<std::string> kept;
  for (const Program* p : programs) {
    for (const Tensor& t : p->tensors) {
      if (!is_low(t.dtype)) kept.insert(t.name);
    }
    insert_overlapping(*p, kept);
    for (const Access& a : p->accesses) {
      if (a.tensor != kNone && a.dtype != p->tensors[a.tensor].dtype) kept.insert(p->tensors[a.tensor].name);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Program* p : programs) {
      for (const Instruction& inst : p->instructions) {
        bool meets = false;
        const auto low_tiles = [&](auto&& fn) {
          for_each_use(*p, inst, [&](const Access& a, Use) {
            if (is_low(a.dtype)) fn(p->tensors[a.tensor].name);
          });
        };
        low_tiles([&](const std::string& name) { meets |= kept.contains(name); });
        if (meets) low_tiles([&](const std::string& name) { changed |= kept.insert(name).second; });
      }
    }
  }
  return kept;
}

}  // namespace

Widened widen(std::span<const Program* const> programs) {
  const std::set<std::string> kept = kept_names(programs);
  Widened out;
  for (const Program* p : programs) {
    Program& copy = out.programs.emplace_back(*p);
    for (Access& a : copy.accesses) {
      if (a.tensor != kNone && !kept.contains(copy.tensors[a.tensor].name)) a.dtype = DType::float32;
    }
    for (Tensor& t : copy.tensors) {
      if (kept.contains(t.name)) continue;
      t.dtype = DType::float32;
      t.address.reset();  // twice as wide, it has no room there
      out.tensors.insert(t.name);
    }
  }
  return out;
}

}  // namespace kiln::rewrite
