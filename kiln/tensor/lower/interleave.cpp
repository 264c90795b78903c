#include "kiln/tensor/lower/interleave.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/uses.h"

namespace kiln::tensor {
namespace {

using isa::TensorId;

constexpr double kTransferNs = 2000;  // until the bytes of a DMA are there, beside the time that they take

// What a statement does, about.
struct Statement {
  isa::Node node;
  std::set<TensorId> reads, writes;
  Engine engine = Engine::unknown;  // none: a declaration, or a DMA
  double ns = 0, later_ns = 0;      // of its engine; until others have its result, beyond that
  int table = -1;                   // of functions, that the scalar engine needs
};

class Reader {
 public:
  Reader(const isa::Program& program, const Arch& arch) : program_(program), arch_(arch) {}

  Statement read(const isa::Node& node) const {
    Statement out{.node = node};
    if (node.kind != isa::Node::Kind::declare) add(node, 1, out);
    return out;
  }

  // What waits for a register is not known from tensors.
  bool has_registers(const isa::Node& node) const {
    if (node.kind == isa::Node::Kind::loop) {
      const isa::Loop& loop = program_.loops[node.index];
      return loop.kind != isa::Loop::Kind::static_for ||
             std::any_of(loop.body.begin(), loop.body.end(), [this](const isa::Node& n) { return has_registers(n); });
    }
    bool found = false;
    if (node.kind == isa::Node::Kind::instruction)
      isa::for_each_register(program_, program_.instructions[node.index], [&](isa::RegisterId) { found = true; });
    return found;
  }

 private:
  void add(const isa::Node& node, double times, Statement& out) const {
    if (node.kind == isa::Node::Kind::loop) {
      const isa::Loop& loop = program_.loops[node.index];
      const double trips = loop.kind == isa::Loop::Kind::static_for ? static_cast<double>(loop.trip_count()) : 1;
      for (const isa::Node& inner : loop.body) add(inner, times * trips, out);
    }
    if (node.kind != isa::Node::Kind::instruction) return;
    const isa::Instruction& inst = program_.instructions[node.index];
    isa::for_each_use(program_, inst, [&](const isa::Access& access, isa::Use use) {
      if (use != isa::Use::write) out.reads.insert(access.tensor);
      if (use != isa::Use::read) out.writes.insert(access.tensor);
    });
    const isa::CostQuery query(program_, inst, arch_);
    const isa::Cost cost = query.row().semantics->cost(query);
    if (cost.dma_bytes > 0) {
      out.later_ns += kTransferNs + times * cost.dma_bytes / (arch_.dma.engines * arch_.dma.bytes_per_ns);
      return;
    }
    const EngineSpec& spec = query.spec();
    out.engine = query.engine();
    out.ns += times * (cost.cycles / spec.clock_ghz + spec.interval_ns);
    out.later_ns = spec.latency_ns;
    if (const auto table = query.facts().table; table && table(query) >= 0) out.table = table(query);
  }

  const isa::Program& program_;
  const Arch& arch_;
};

// Whether parts touch nothing in common that one of them writes and another one reads.
bool are_independent(const std::vector<std::vector<Statement>>& parts) {
  std::map<TensorId, std::set<std::size_t>> readers, writers;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const Statement& s : parts[p]) {
      for (TensorId t : s.reads) readers[t].insert(p);
      for (TensorId t : s.writes) writers[t].insert(p);
    }
  }
  return std::all_of(writers.begin(), writers.end(), [&](const auto& written) {
    const auto& [tensor, by] = written;
    const auto read = readers.find(tensor);
    if (read == readers.end()) return true;
    return by.size() == 1 && read->second.size() == 1 && *by.begin() == *read->second.begin();
  });
}

// Takes the statement next that can begin first.
class Merger {
 public:
  explicit Merger(double table_ns) : table_ns_(table_ns) {}

  isa::Block run(const std::vector<std::vector<Statement>>& parts) {
    std::vector<std::size_t> next(parts.size(), 0);
    isa::Block out;
    for (;;) {
      std::size_t best = parts.size();
      double first = 0;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        if (next[p] == parts[p].size()) continue;
        const double begin = begins(parts[p][next[p]]);
        if (best == parts.size() || begin < first) best = p, first = begin;
      }
      if (best == parts.size()) return out;
      const Statement& taken = parts[best][next[best]++];
      out.push_back(taken.node);
      take(taken, first);
    }
  }

 private:
  double begins(const Statement& s) const {
    double at = 0;
    const auto wait = [&](const auto& times, auto key) {
      if (const auto it = times.find(key); it != times.end()) at = std::max(at, it->second);
    };
    if (s.engine != Engine::unknown) wait(free_, s.engine);
    for (TensorId t : s.reads) wait(ready_, t);
    for (TensorId t : s.writes) wait(ready_, t);
    return s.table >= 0 && s.table != table_ ? at + table_ns_ : at;
  }
  void take(const Statement& s, double begin) {
    if (s.engine != Engine::unknown) free_[s.engine] = begin + s.ns;
    for (TensorId t : s.writes) ready_[t] = begin + s.ns + s.later_ns;
    if (s.table >= 0) table_ = s.table;
  }

  double table_ns_;
  int table_ = -1;
  std::map<Engine, double> free_;
  std::map<TensorId, double> ready_;
};

}  // namespace

void interleave(const isa::Program& program, isa::Block& block, const std::vector<std::size_t>& begins,
                const Arch& arch) {
  if (begins.size() < 2) return;
  const Reader reader(program, arch);
  for (std::size_t i = begins[0]; i < block.size(); ++i) {
    if (reader.has_registers(block[i])) return;
  }
  std::vector<std::vector<Statement>> parts(begins.size());
  for (std::size_t p = 0; p < begins.size(); ++p) {
    const std::size_t end = p + 1 < begins.size() ? begins[p + 1] : block.size();
    for (std::size_t i = begins[p]; i < end; ++i) parts[p].push_back(reader.read(block[i]));
  }
  if (!are_independent(parts)) return;
  const isa::Block merged = Merger(arch.timing.table_load_ns).run(parts);
  std::copy(merged.begin(), merged.end(), block.begin() + static_cast<std::ptrdiff_t>(begins[0]));
}

}  // namespace kiln::tensor
