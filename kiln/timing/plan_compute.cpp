#include "kiln/timing/plan_compute.h"

#include <algorithm>

namespace kiln::timing {
using namespace isa;

namespace {

// What the operands are, as far as times depend on it.
struct Operands {
  bool psum = false, sbuf = false;
  bool column = false;  // a [P, 1] tile in the place of a scalar
  double elements = 0;  // of the largest
};

Operands operands_of(const InstView& v) {
  Operands found;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!v.is_tile(param)) continue;
    (v.in_psum(param) ? found.psum : found.sbuf) = true;
    const ParamKind kind = v.row().params[i].kind;
    found.column |= (kind == ParamKind::scalar_or_in || kind == ParamKind::opt_scalar_or_in) && v.free_size(param) == 1;
    found.elements = std::max(found.elements, static_cast<double>(v.access(param).count()));
  }
  return found;
}

// Banks of PSUM that an instruction touches, where the kernel says which.
std::uint16_t bank_ports(const InstView& v, const Arch& arch) {
  std::uint16_t ports = 0;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!v.is_tile(param) || !v.in_psum(param) || !v.tensor(param).address) continue;
    const Range range = element_range(v.program(), v.access(param));
    const std::int64_t size = size_bytes(v.dtype(param)), base = v.tensor(param).address->byte_offset;
    const std::int64_t last =
        std::min<std::int64_t>((base + range.max * size) / arch.psum_bank_bytes, arch.psum_banks - 1);
    for (std::int64_t bank = (base + range.min * size) / arch.psum_bank_bytes; bank <= last; ++bank)
      ports |= static_cast<std::uint16_t>(kFirstBankPort << bank);
  }
  return ports;
}

// `fast`: in one of the vector engine's fast modes.
std::uint16_t ports_of(const CostQuery& q, const Operands& operands, bool fast) {
  const bool whole_ports = !q.arch().features.separate_ports;
  const Engine engine = q.engine();
  const bool vector_or_scalar = engine == Engine::vector || engine == Engine::scalar;
  std::uint16_t ports = kNoPort;
  if (operands.sbuf && (engine == Engine::gpsimd || (engine == Engine::vector && (whole_ports || fast))))
    ports |= kSbufPort;
  if (!whole_ports && vector_or_scalar) ports |= bank_ports(q, q.arch());
  if (operands.psum && whole_ports && vector_or_scalar) ports |= kPsumPort;
  return ports;
}

}  // namespace

void plan_compute(Op& op, const CostQuery& q) {
  const Cost cost = q.row().semantics->cost(q);
  const Cost bare = cost_of(q.program(), q.inst(), q.arch(), true);
  const EngineSpec& t = q.arch().engine(engine_of(op.stream));
  const double clock = q.spec().clock_ghz;
  const Operands operands = operands_of(q);
  double latency = t.latency_ns, interval = t.interval_ns;
  if (operands.column) latency += t.column_ns, interval += t.column_ns;
  if (const int argument = q.facts().argument; argument >= 0 && op.engine == Engine::scalar) {
    latency += t.function_ns;
    interval += t.function_interval_ns;
    if (q.facts().table) op.table = q.facts().table(q);
    if (q.is_tile(argument) && !q.in_psum(argument)) {
      latency += t.sbuf_ns;
      interval += t.sbuf_interval_ns;
    }
  }
  if (cost.reads_hbm) latency = q.arch().timing.register_load_ns;
  const double together = q.inst().together;  // share what does not grow with the elements
  op.latency = from_ns(bare.cycles / clock + latency / together);
  op.interval = std::max(from_ns((bare.cycles + (cost.cycles - bare.cycles) / together) / clock),
                         from_ns(bare.cycles / clock + interval / together));
  op.flops = operands.elements;
  const int dst = q.row().result;
  const bool fast = op.engine == Engine::vector && dst >= 0 && bare.cycles < static_cast<double>(q.free_size(dst));
  op.ports = ports_of(q, operands, fast);
}

}  // namespace kiln::timing
