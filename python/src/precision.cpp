// NKI_PRECISE_FP=0: programs whose low-precision tensors are stored as float32, to tell errors of logic from
// loss of precision.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <set>

#include "kiln/isa/uses.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

using ProgramRef = std::shared_ptr<isa::Program>;

bool is_low(DType dtype) { return is_float(dtype) && size_bytes(dtype) < 4; }

bool share_bytes(const isa::Tensor& a, const isa::Tensor& b) {
  const auto overlap = [](std::int64_t first, std::int64_t size, std::int64_t other, std::int64_t other_size) {
    return first < other + other_size && other < first + size;
  };
  return a.memory == b.memory && overlap(a.address->partition, a.partitions(), b.address->partition, b.partitions()) &&
         overlap(a.address->byte_offset, a.bytes_per_partition(), b.address->byte_offset, b.bytes_per_partition());
}

// Tensors that lie over another one by their addresses: those mean bytes.
void insert_overlapping(const isa::Program& program, std::set<std::string>& names) {
  std::vector<const isa::Tensor*> placed;
  for (const isa::Tensor& t : program.tensors) {
    if (t.address && is_on_chip(t.memory)) placed.push_back(&t);
  }
  std::ranges::sort(placed, {}, [](const isa::Tensor* t) { return t->address->byte_offset; });
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
std::set<std::string> kept_names(const std::vector<ProgramRef>& programs) {
  std::set<std::string> kept;
  for (const ProgramRef& p : programs) {
    for (const isa::Tensor& t : p->tensors) {
      if (!is_low(t.dtype)) kept.insert(t.name);
    }
    insert_overlapping(*p, kept);
    for (const isa::Access& a : p->accesses) {
      if (a.tensor != isa::kNone && a.dtype != p->tensors[a.tensor].dtype) kept.insert(p->tensors[a.tensor].name);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const ProgramRef& p : programs) {
      for (const isa::Instruction& inst : p->instructions) {
        bool meets = false;
        const auto low_tiles = [&](auto&& fn) {
          isa::for_each_use(*p, inst, [&](const isa::Access& a, isa::Use) {
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

// Copies of the programs, and the names of the tensors that are float32 in them.
std::pair<std::vector<ProgramRef>, std::set<std::string>> widen(const std::vector<ProgramRef>& programs) {
  const std::set<std::string> kept = kept_names(programs);
  std::vector<ProgramRef> out;
  std::set<std::string> widened;
  for (const ProgramRef& p : programs) {
    auto copy = std::make_shared<isa::Program>(*p);
    for (isa::Access& a : copy->accesses) {
      if (a.tensor != isa::kNone && !kept.contains(copy->tensors[a.tensor].name)) a.dtype = DType::float32;
    }
    for (isa::Tensor& t : copy->tensors) {
      if (kept.contains(t.name)) continue;
      t.dtype = DType::float32;
      t.address.reset();  // twice as wide, it has no room there
      widened.insert(t.name);
    }
    out.push_back(std::move(copy));
  }
  return {std::move(out), std::move(widened)};
}

}  // namespace

void bind_precision(nb::module_& m) { m.def("widen", &widen, nb::arg("programs")); }

}  // namespace kiln::python
