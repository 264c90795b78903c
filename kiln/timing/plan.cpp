#include "kiln/timing/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "kiln/analysis/product.h"
#include "kiln/analysis/spread_rows.h"
#include "kiln/isa/instructions/shared/dma.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::timing {
using namespace isa;

namespace {

constexpr int kTilesPerSide = 4;  // smallest tiles of the tensor engine's array, in a row and in a column

const EngineSpec& timing_of(const Arch& arch, Engine engine) {
  switch (engine) {
    case Engine::tensor:
      return arch.tensor;
    case Engine::vector:
      return arch.vector;
    case Engine::scalar:
      return arch.scalar;
    case Engine::gpsimd:
      return arch.gpsimd;
    default:
      return arch.sync;
  }
}

const DgeSpec& dge_of(const DmaSpec& dma, DgeMode mode) {
  return mode == DgeMode::swdge ? dma.swdge : mode == DgeMode::hwdge ? dma.hwdge : dma.prebuilt;
}

Stream stream_of(Engine engine) {
  switch (engine) {
    case Engine::tensor:
      return Stream::tensor;
    case Engine::vector:
      return Stream::vector;
    case Engine::scalar:
      return Stream::scalar;
    case Engine::gpsimd:
      return Stream::gpsimd;
    default:
      return Stream::sync;
  }
}

bool is_plain_function(ActFn fn) {
  return fn == ActFn::copy || fn == ActFn::square || fn == ActFn::relu || fn == ActFn::prelu || fn == ActFn::abs ||
         fn == ActFn::sign;
}

class Planner {
 public:
  Planner(const Program& program, const Arch& arch, const ProgramChange& change)
      : program_(program), arch_(arch), change_(change) {}
  Plan make();

 private:
  void find_written();
  Op plan(InstructionId id);
  void add_uses(Op& op, const Instruction& inst);
  void add_use(const Access& access, bool reads, bool writes, bool stationary);
  std::uint32_t shape_of(const Access& access);
  void plan_compute(Op& op, const CostQuery& q);
  void plan_tensor(Op& op, const CostQuery& q);
  void plan_dma(Op& op, const CostQuery& q);
  void plan_transfer(Op& op, const CostQuery& q, const Cost& cost);
  std::uint16_t quadrants(const InstView& v) const;
  std::uint16_t bank_ports(const InstView& v) const;
  int dge_mode(const InstView& v) const;
  void share_ports();
  void read_in_psum();

  const Program& program_;
  const Arch& arch_;
  const ProgramChange& change_;
  std::optional<Program> seen_;  // the program with spread rows in PSUM, when that makes a difference
  std::vector<bool> left_out_;   // by instruction: copies of spread rows; empty: none
  std::vector<bool> merged_;     // by instruction; empty: none
  double merge_ = 1;             // of the current instruction: DMAs that become one
  double once_ = 1;              // and that all load the same
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> known_shapes_;
  std::vector<const Access*> shape_access_;  // the first one of a shape
  Plan plan_;
};

void Planner::find_written() {
  plan_.tracked.assign(program_.tensors.size(), false);
  for (const Instruction& inst : program_.instructions) {
    const auto& params = info(inst.opcode).params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const Arg& arg = program_.arg(inst, static_cast<int>(i));
      if (params[i].is_output() && arg.kind == Arg::Kind::access)
        plan_.tracked[program_.accesses[arg.index].tensor] = true;
    }
  }
}

void Planner::add_use(const Access& access, bool reads, bool writes, bool stationary) {
  bool uncertain = false;
  bool moves = access.partition.term_count || access.offset.term_count;
  if (access.dynamic != kNone) {
    const Dynamic& d = program_.dynamics[access.dynamic];
    if (d.kind == Dynamic::Kind::scalar_register) {
      plan_.registers.push_back(d.source);
      uncertain = plan_.loop_of_register[d.source] == kNone;
      moves = true;
    } else {
      add_use(program_.accesses[d.source], true, false, false);
      uncertain = true;
    }
  }
  if (!plan_.tracked[access.tensor]) return;
  plan_.uses.push_back(
      {&access, access.tensor, shape_of(access), reads, writes, !moves && !uncertain, uncertain, stationary});
}

// Accesses of the same shape to tensors of the same shape share what they have in common.
std::uint32_t Planner::shape_of(const Access& access) {
  const Tensor& t = program_.tensors[access.tensor];
  if (t.address && is_on_chip(t.memory)) {
    plan_.shapes.emplace_back(program_, access, true);
    return static_cast<std::uint32_t>(plan_.shapes.size() - 1);
  }
  std::uint64_t hash = static_cast<std::uint64_t>(is_on_chip(t.memory));
  const auto mix = [&](std::int64_t v) { hash = (hash ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ull >> 1; };
  for (std::int64_t size : t.shape) mix(size);
  mix(size_bytes(t.dtype) * 64 + size_bytes(access.dtype));
  for (int d = 0; d < access.rank; ++d) mix(access.dims[d].stride), mix(access.dims[d].count);
  for (std::uint32_t shape : known_shapes_[hash]) {
    const Access& other = *shape_access_[shape];
    const Tensor& o = program_.tensors[other.tensor];
    if (is_on_chip(o.memory) == is_on_chip(t.memory) && o.shape == t.shape &&
        size_bytes(o.dtype) == size_bytes(t.dtype) && size_bytes(other.dtype) == size_bytes(access.dtype) &&
        other.rank == access.rank && std::equal(other.dims, other.dims + other.rank, access.dims))
      return shape;
  }
  const auto made = static_cast<std::uint32_t>(plan_.shapes.size());
  plan_.shapes.emplace_back(program_, access, false);
  shape_access_.resize(plan_.shapes.size());
  shape_access_[made] = &access;
  known_shapes_[hash].push_back(made);
  return made;
}

void Planner::add_uses(Op& op, const Instruction& inst) {
  op.first_use = static_cast<std::uint32_t>(plan_.uses.size());
  op.first_register = static_cast<std::uint32_t>(plan_.registers.size());
  const auto& params = info(inst.opcode).params;
  const bool is_register_op = info(inst.opcode).group == "register";
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    const Arg& arg = program_.arg(inst, param);
    if (arg.kind == Arg::Kind::reg) {
      const bool written = is_register_op && param == 0 && inst.opcode != Opcode::register_store;
      if (written) {
        op.writes_register = arg.index;
      } else {
        plan_.registers.push_back(arg.index);
      }
      continue;
    }
    const bool one = arg.kind == Arg::Kind::access;
    if (!one && arg.kind != Arg::Kind::accesses) continue;
    const bool stationary = op.engine == Engine::tensor && (params[i].name == "stationary" || params[i].name == "data");
    for (std::uint32_t k = 0; k < (one ? 1 : arg.count); ++k)
      add_use(program_.accesses[arg.index + k], params[i].is_input(), params[i].is_output(), stationary);
  }
  op.use_count = static_cast<std::uint32_t>(plan_.uses.size()) - op.first_use;
  op.register_count = static_cast<std::uint32_t>(plan_.registers.size()) - op.first_register;
}

double elements(const InstView& v) {
  double most = 0;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (v.is_tile(param)) most = std::max(most, static_cast<double>(v.access(param).count()));
  }
  return most;
}

// Banks of PSUM that an instruction touches, where the kernel says which.
std::uint16_t Planner::bank_ports(const InstView& v) const {
  std::uint16_t ports = 0;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!v.is_tile(param) || !v.in_psum(param) || !v.tensor(param).address) continue;
    const Range range = element_range(v.program(), v.access(param));
    const std::int64_t size = size_bytes(v.dtype(param)), base = v.tensor(param).address->byte_offset;
    const std::int64_t last =
        std::min<std::int64_t>((base + range.max * size) / arch_.psum_bank_bytes, arch_.psum_banks - 1);
    for (std::int64_t bank = (base + range.min * size) / arch_.psum_bank_bytes; bank <= last; ++bank)
      ports |= static_cast<std::uint16_t>(kFirstBankPort << bank);
  }
  return ports;
}

void Planner::plan_compute(Op& op, const CostQuery& q) {
  const Cost cost = q.row().semantics->cost(q);
  const Cost bare = cost_of(q.program(), q.inst(), arch_, true);
  const EngineSpec& t = timing_of(arch_, op.engine);
  const double clock = q.spec().clock_ghz;
  double latency = t.latency_ns, interval = t.interval_ns;
  bool touches_psum = false, touches_sbuf = false, column = false;
  for (std::size_t i = 0; i < q.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!q.is_tile(param)) continue;
    (q.in_psum(param) ? touches_psum : touches_sbuf) = true;
    const ParamKind kind = q.row().params[i].kind;
    column |= (kind == ParamKind::scalar_or_in || kind == ParamKind::opt_scalar_or_in) && q.free_size(param) == 1;
  }
  if (column) latency += t.column_ns, interval += t.column_ns;
  const int fn = q.row().find_param("op");
  if (op.engine == Engine::scalar && fn >= 0 && q.row().params[fn].type == AttrType::ActFn) {
    latency += t.function_ns;
    interval += t.function_interval_ns;
    if (!is_plain_function(q.act(fn))) op.table = static_cast<int>(q.act(fn));
    const int data = q.row().find_param("data");
    if (data >= 0 && q.is_tile(data) && !q.in_psum(data)) {
      latency += t.sbuf_ns;
      interval += t.sbuf_interval_ns;
    }
  }
  if (q.inst().opcode == Opcode::register_load && q.in_hbm(args::register_load::src))
    latency = arch_.timing.register_load_ns;
  op.latency = from_ns(bare.cycles / clock + latency);
  op.interval = std::max(from_ns(cost.cycles / clock), from_ns(bare.cycles / clock + interval));
  op.flops = elements(q);
  const bool fast = op.engine == Engine::vector && q.row().find_param("dst") >= 0 &&
                    bare.cycles < static_cast<double>(q.free_size(q.row().find_param("dst")));
  const bool whole_ports = !arch_.features.separate_ports;
  if (touches_sbuf && (op.engine == Engine::gpsimd || (op.engine == Engine::vector && (whole_ports || fast))))
    op.ports |= kSbufPort;
  if (!whole_ports && (op.engine == Engine::vector || op.engine == Engine::scalar)) op.ports |= bank_ports(q);
  if (touches_psum && whole_ports && (op.engine == Engine::vector || op.engine == Engine::scalar))
    op.ports |= kPsumPort;
}

// Row and column tiles let small products run side by side.
std::uint16_t Planner::quadrants(const InstView& v) const {
  const int position = v.row().find_param("tile_position"), size = v.row().find_param("tile_size");
  if (position < 0 || v.integers(position).size() != 2 || v.integers(size).size() != 2) return 0xffff;
  std::uint16_t mask = 0;
  const auto at = v.integers(position), extent = v.integers(size);
  const std::int64_t rows = arch_.matmul_rows / kTilesPerSide, columns = arch_.matmul_columns / kTilesPerSide;
  for (std::int64_t r = at[0] / rows; r * rows < at[0] + extent[0] && r < kTilesPerSide; ++r) {
    for (std::int64_t c = at[1] / columns; c * columns < at[1] + extent[1] && c < kTilesPerSide; ++c)
      mask |= static_cast<std::uint16_t>(1u << (r * kTilesPerSide + c));
  }
  return mask;
}

void Planner::plan_tensor(Op& op, const CostQuery& q) {
  const Cost cost = q.row().semantics->cost(q);
  const double clock = q.spec().clock_ghz;
  const TensorTiming& t = arch_.timing.matmul;
  op.parts = cost.parts;
  op.pass = from_ns(cost.cycles / cost.parts / clock);
  const double share = cost.background ? 0.5 : 1.0;
  op.interval = from_ns(cost.cycles / clock * share + cost.parts * arch_.tensor.interval_ns);
  op.latency = from_ns(arch_.tensor.latency_ns);
  op.load = from_ns(t.load_ns + cost.load_cycles / clock);
  op.quadrants = quadrants(q);
  op.macs = analysis::product_of(q, arch_).macs;
  op.flops = 2 * op.macs;
}

int Planner::dge_mode(const InstView& v) const {
  const int param = v.row().find_param("dge_mode");
  DgeMode mode = param >= 0 ? v.get<DgeMode>(param) : DgeMode::unknown;
  if (mode != DgeMode::unknown) return static_cast<int>(mode);
  bool moves = false;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int p = static_cast<int>(i);
    if (v.is_vector_offset(p)) return static_cast<int>(DgeMode::swdge);
    moves |= v.is_tile(p) && v.dynamic(p);
  }
  if (arch_.features.hwdge && fits_hardware_dge(v, arch_)) return static_cast<int>(DgeMode::hwdge);
  // Prebuilt descriptors hold addresses that are known before the kernel runs.
  return static_cast<int>(moves && arch_.features.hwdge ? DgeMode::swdge : DgeMode::none);
}

void Planner::plan_dma(Op& op, const CostQuery& q) {
  const Cost cost = q.row().semantics->cost(q);
  op.kind = Kind::transfer;
  op.dge = static_cast<std::uint8_t>(dge_mode(q));
  const int engine = q.row().find_param("engine");
  const Engine chosen = engine >= 0 ? q.get<Engine>(engine) : Engine::unknown;
  const int dst = q.row().find_param("dst");
  const bool reads_chip = [&] {
    for (std::size_t i = 0; i < q.row().params.size(); ++i) {
      const Arg& a = q.arg(static_cast<int>(i));
      if (!q.row().params[i].is_input() || (a.kind != Arg::Kind::access && a.kind != Arg::Kind::accesses)) continue;
      if (is_on_chip(program_.tensors[program_.accesses[a.index].tensor].memory)) return true;
    }
    return false;
  }();
  const DmaSpec& t = arch_.dma;
  const DgeSpec& dge = dge_of(t, static_cast<DgeMode>(op.dge));
  if (static_cast<DgeMode>(op.dge) == DgeMode::swdge) {
    op.stream = Stream::gpsimd;
    op.unit = kGpsimdUnit;
  } else if (chosen != Engine::unknown) {
    op.stream = stream_of(chosen);
    op.unit = chosen == Engine::scalar ? kScalarUnit : kSyncUnit;
  } else {
    op.stream = reads_chip ? Stream::store : Stream::sync;
  }
  // DMAs that become one share what does not grow with their bytes; each still starts, unless it goes.
  op.interval = from_ns(arch_.sync.interval_ns / merge_);
  op.trigger = from_ns(std::max(0.0, (dge.trigger_ns + t.trigger_gap_ns) / merge_ - t.trigger_gap_ns));
  op.latency = from_ns(dge.start_ns / once_);
  const bool to_hbm = is_hbm(program_.tensors[q.access(dst).tensor].memory);
  if (to_hbm) op.hbm_written = static_cast<double>(q.access(dst).count()) * size_bytes(q.dtype(dst));
  if (!reads_chip) op.hbm_read = cost.dma_bytes;
  plan_transfer(op, q, cost);
}

void Planner::plan_transfer(Op& op, const CostQuery& q, const Cost& cost) {
  const DmaSpec& t = arch_.dma;
  std::int64_t rows = 0;  // partitions on the chip decide which engines take part
  for (std::size_t i = 0; i < q.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (q.is_tile(param) && is_on_chip(q.memory(param))) rows = std::max(rows, q.partitions(param));
  }
  const double all = arch_.dma.engines;
  const double engines =
      rows == 0 ? all : std::min(all, std::ceil(static_cast<double>(rows) / t.partitions_per_engine));
  const double packets = std::max(1.0, cost.dma_descriptors), size = cost.dma_bytes / packets;
  double fixed = t.packet_ns / merge_;
  if (op.hbm_written > 0 && size * merge_ < t.small_write_bytes) fixed += t.hbm_write_packet_ns / merge_;
  const double each = packets / engines / cost.dma_rate;
  op.transfer = from_ns(each * (fixed + size / once_ / t.packet_bytes_per_ns));
  op.share = from_ns(each * (fixed + size / once_ / t.loaded_bytes_per_ns) * engines / all);
  op.hbm_share = from_ns((op.hbm_read + op.hbm_written) / once_ / arch_.hbm_bytes_per_ns);
  op.spread = engines > 1 ? from_ns(t.spread_ns / once_) : 0;
  op.bytes = cost.dma_bytes;
}

Op Planner::plan(InstructionId id) {
  const Instruction& inst = program_.instructions[id];
  const Program& costs = seen_ ? *seen_ : change_.costs ? *change_.costs : program_;
  const CostQuery q(costs, costs.instructions[id], arch_);
  merge_ = !merged_.empty() && merged_[id] ? change_.merge : 1;
  once_ = change_.same_bytes ? merge_ : 1;
  Op op;
  op.engine = q.engine();
  op.stream = stream_of(op.engine);
  op.meets = info(inst.opcode).group == "multicore";
  if (op.engine == Engine::dma) {
    plan_dma(op, q);
  } else if (op.engine == Engine::tensor && !op.meets) {
    plan_tensor(op, q);
  } else {
    plan_compute(op, q);
    if (!left_out_.empty() && left_out_[id]) op.latency = op.interval = 0, op.ports = kNoPort;
  }
  const Semantics& semantics = *q.row().semantics;
  if (semantics.state) op.state = semantics.state(q);
  add_uses(op, inst);
  return op;
}

// A port that only one of its engines uses is no port to wait for.
void Planner::share_ports() {
  for (int p = 0; p < kPortCount; ++p) {
    unsigned users = 0;
    for (const Op& op : plan_.ops) {
      if (op.ports >> p & 1) users |= 1u << static_cast<int>(op.engine);
    }
    if (users & (users - 1)) continue;
    for (Op& op : plan_.ops) op.ports &= static_cast<std::uint16_t>(~(1u << p));
  }
}

// Gen2's vector engine takes two tiles twice as fast when one of them is in PSUM, so the compiler leaves
// spread rows there.
void Planner::read_in_psum() {
  if (arch_.features.vector_fast_modes) return;
  for (const analysis::SpreadRow& row : analysis::find_spread_rows(program_)) {
    if (!seen_) {
      seen_ = change_.costs ? *change_.costs : program_;
      left_out_.resize(program_.instructions.size());
      plan_.spread.resize(program_.tensors.size());
    }
    seen_->tensors[row.tile].memory = Memory::psum;
    left_out_[row.copying] = plan_.spread[row.tile] = true;
  }
}

Plan Planner::make() {
  plan_.loop_of_register.assign(program_.registers.size(), kNone);
  for (LoopId id = 0; id < program_.loops.size(); ++id) {
    if (program_.loops[id].kind == Loop::Kind::dynamic_for) plan_.loop_of_register[program_.loops[id].reg] = id;
  }
  find_written();
  read_in_psum();
  if (!change_.merged.empty()) merged_.resize(program_.instructions.size());
  for (InstructionId id : change_.merged) merged_[id] = true;
  plan_.ops.reserve(program_.instructions.size());
  plan_.uses.reserve(program_.instructions.size() * 3);
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) plan_.ops.push_back(plan(id));
  share_ports();
  for (const Op& op : plan_.ops) plan_.uses_stream[static_cast<int>(op.stream)] = true;
  const Engine engines[kStreamCount] = {Engine::tensor, Engine::vector, Engine::scalar,
                                        Engine::gpsimd, Engine::sync,   Engine::sync};
  for (int s = 0; s < kStreamCount; ++s) plan_.semaphore[s] = from_ns(timing_of(arch_, engines[s]).semaphore_ns);
  plan_.dma_done = from_ns(arch_.dma.completion_ns);
  plan_.trigger_gap = from_ns(arch_.dma.trigger_gap_ns);
  return std::move(plan_);
}

}  // namespace

Plan make_plan(const Program& program, const Arch& arch, const ProgramChange& change) {
  return Planner(program, arch, change).make();
}

}  // namespace kiln::timing
