#include "kiln/isa/semantics/operand_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "kiln/isa/semantics/indirect_rules.h"
#include "kiln/isa/semantics/overlap.h"
#include "kiln/isa/text/print.h"

namespace kiln::isa {
namespace {

constexpr Rule kMemory{
    1, "an operand lives in one of the memories that the instruction's page lists",
    "copy the data to an allowed memory first: dma_copy between HBM and SBUF, tensor_copy between SBUF and PSUM"};
constexpr Rule kDType{
    2, "an operand has one of the dtypes that the instruction's page lists",
    "convert with tensor_copy into a tile of an allowed dtype, or reinterpret the bytes with .view()"};
constexpr Rule kGeneration{3, "the instruction exists on the target's generation",
                           "use another instruction, or another target"};
constexpr Rule kEngine{4, "the engine is one of those that execute the instruction",
                       "leave engine out to take the default"};
constexpr Rule kEngineMemory{
    5, "gpsimd reads and writes SBUF only; the tensor engine reads SBUF and writes PSUM; DMA does not touch PSUM",
    "move the data with tensor_copy on the vector or scalar engine"};
constexpr Rule kPartitions{6, "an on-chip operand has at most 128 partitions",
                           "split the partition dimension into tiles of 128"};
constexpr Rule kStartPartition{
    7,
    "an operand of more than 64 partitions starts at partition 0, of 33 to 64 at 0 or 64, of up to 32 at 0, 32, 64 or "
    "96",
    "start the slice on an allowed partition, or move the rows with nc_stream_shuffle or a DMA"};
constexpr Rule kDimSize{
    8, "a free dimension has at most 65535 elements and a stride of at most 32767, after merging contiguous ones",
    "split the access into several instructions"};
constexpr Rule kZeroStride{
    9, "a destination that is only written has each of its elements once (no stride 0, no strides that meet)",
    "give the destination its own elements; broadcast views are for inputs", Mark::undocumented};
constexpr Rule kDTypeGeneration{10, "packed dtypes, float8_e8m0fnu and float8_e4m3fn exist from gen4 on",
                                "use float8_e4m3 or float8_e5m2, or target trn3"};
constexpr Rule kScalarOffset{11, "a scalar offset is a register or a one-element integer tile in SBUF",
                             "load the offset into a (1, 1) int32 tile in SBUF, or use a register"};
constexpr Rule kVectorOffset{12,
                             "a vector offset belongs to a DMA instruction, a tensor in HBM and a (P, 1) integer index "
                             "tile in SBUF with one index per row",
                             "gather on chip with nc_n_gather or local_gather, or stage the tensor in HBM"};
constexpr Rule kIndirect{13, "only the operands marked on the instruction's page may be indirect",
                         "copy the gathered data first"};
constexpr Rule kIndirectGeneration{14, "indirect operands exist from gen4 on",
                                   "use nc_n_gather or local_gather, or target trn3"};
constexpr Rule kIndirectIndex{
    15, "an indirect index is an SBUF tile of uint16, uint32 or int32 with as many partitions as the operand",
    "store the offsets as uint16, uint32 or int32, 16 (tensor engine: 32) per column", Mark::undocumented};
constexpr Rule kOverlap{16, "a source and a destination are the same elements or share none",
                        "copy through another tile; the order of reads and writes inside an instruction is not defined",
                        Mark::undocumented};
constexpr Rule kIndirectPlacement{
    17,
    "the index of an indirect operand starts at a multiple of 32 partitions: where the gathered operand starts, or, "
    "for a scattered destination, where the source (in PSUM: its index) starts",
    "place the index tile beside the operand it belongs to"};
constexpr Rule kIndexCapacity{
    18, "an index holds an offset for every element of its indirect operand: 16 (tensor engine: 32) per column",
    "give the index more columns, or gather fewer elements"};
constexpr Rule kFreeSize{19, "an operand has at most 65536 free elements, repeated ones included",
                         "split the access into several instructions"};
constexpr Rule kAlignment{
    20, "an operand placed by hand starts at a multiple of its element size, also when its bytes are reinterpreted",
    "choose an address that is a multiple of the larger element size", Mark::undocumented};
constexpr Rule kRank{
    21, "an operand in HBM has at most 5 dimensions, those that follow each other in memory counted as one",
    "take an index of the outer dimensions, or flatten those that follow each other"};

constexpr Rule kRules[] = {
    kMemory,        kDType,      kGeneration,        kEngine,        kEngineMemory, kPartitions, kStartPartition,
    kDimSize,       kZeroStride, kDTypeGeneration,   kScalarOffset,  kVectorOffset, kIndirect,   kIndirectGeneration,
    kIndirectIndex, kOverlap,    kIndirectPlacement, kIndexCapacity, kFreeSize,     kAlignment,  kRank};

constexpr const char* kIndexHelp = "load the indices into a (P, 1) tile of int32 or uint32 in SBUF, one per row";

bool is_dma(const InstView& c) { return c.row().engines[0] == Engine::dma; }

class OperandCheck {
 public:
  OperandCheck(const Check& c, SoundFor* sound, std::vector<Diagnostic>& out) : c_(c), sound_(sound), out_(out) {}

  void all() {
    generation();
    engine();
    for (std::size_t i = 0; i < c_.row().params.size(); ++i) param(static_cast<int>(i));
    overlaps();
    if (has_indirect_) placement();
  }

 private:
  void report(const Rule& rule, std::string found) { report(rule, Finding{.found = std::move(found)}); }
  void report(const Rule& rule, const ParamInfo& p, std::string found, std::string help = {}) {
    report(rule, Finding{.found = std::move(found), .help = std::move(help), .operand = std::string(p.name)});
  }
  void report(const Rule& rule, Finding finding) {
    out_.push_back(broken(c_, c_.arch(), kOperandRules, rule, std::move(finding)));
  }

  void generation() {
    if (c_.arch().generation < c_.row().first_generation)
      report(kGeneration, fmt::format("{} needs gen{}, the target {} is {}", c_.row().name, c_.row().first_generation,
                                      c_.arch().name, c_.arch().generation_name));
  }

  void engine() {
    const auto& engines = c_.row().engines;
    if (is_dma(c_)) return;  // `engine` of a DMA names the queue's sequencer: a rule of the instruction
    if (std::find(engines.begin(), engines.end(), c_.engine()) == engines.end()) {
      std::string list;
      for (Engine e : engines) list += fmt::format("{}{}", list.empty() ? "" : ", ", name(e));
      report(kEngine,
             fmt::format("{} does not run on the {} engine (engines: {})", c_.row().name, name(c_.engine()), list));
    }
  }

  void param(int i) {
    const ParamInfo& p = c_.row().params[i];
    if (!p.is_tile()) return;
    const Arg& arg = c_.arg(i);
    const bool one = arg.kind == Arg::Kind::access;
    if (!one && arg.kind != Arg::Kind::accesses) return;
    for (std::uint32_t k = 0; k < (one ? 1 : arg.count); ++k) operand(p, arg.index + k);
  }

  void operand(const ParamInfo& p, std::uint32_t id) {
    const Access& a = c_.program().accesses[id];
    const std::uint64_t demands = demands_on(p);
    if (!sound_ || (*sound_)[id] != demands) {
      const std::size_t before = out_.size();
      by_itself(p, a);
      if (sound_ && out_.size() == before) (*sound_)[id] = demands;
    }
    if (p.is_output()) destination(p, a);
    if (a.dynamic != kNone) dynamic(p, a, c_.program().tensors[a.tensor], c_.program().dynamics[a.dynamic]);
  }

  // All that `by_itself` looks at besides the access; never 0.
  std::uint64_t demands_on(const ParamInfo& p) const {
    static_assert(kDTypeCount <= 32 && sizeof p.memories == 1);
    const auto bits = [](auto value, int at) { return static_cast<std::uint64_t>(value) << at; };
    return bits(p.dtypes, 0) | bits(p.memories, 32) | bits(c_.engine(), 40) | bits(p.own_start, 48) |
           bits(is_dma(c_), 49) | bits(1, 50);
  }

  void by_itself(const ParamInfo& p, const Access& a) {
    const Tensor& t = c_.program().tensors[a.tensor];
    if (!p.allows(t.memory))
      report(kMemory, p,
             fmt::format("`{}` of {} is in {}, allowed: {}", p.name, c_.row().name, name(t.memory), p.memories_text),
             p.is_output() ? destination_help(p, t.memory) : std::string());
    if (!p.allows(a.dtype))
      report(kDType, p,
             fmt::format("`{}` of {} is {}, allowed: {}", p.name, c_.row().name, name(a.dtype),
                         p.dtypes_text == "any" ? "any that is not packed" : p.dtypes_text));
    if (!dtype_exists(a.dtype))
      report(kDTypeGeneration, p,
             fmt::format("`{}` is {}, the target {} is {}", p.name, name(a.dtype), c_.arch().name,
                         c_.arch().generation_name));
    if (is_on_chip(t.memory)) on_chip(p, a, t);
    if (a.rank > kMaxOperandRank) merged_rank(p, a);
  }

  static std::string destination_help(const ParamInfo& p, Memory memory) {
    return fmt::format("write into a tile in {}, and move the result on to {} with {}",
                       p.allows(Memory::sbuf) ? "SBUF" : "PSUM", is_hbm(memory) ? "HBM" : name(memory),
                       is_hbm(memory) ? "dma_copy" : "tensor_copy");
  }

  bool dtype_exists(DType t) const {
    const Features& f = c_.arch().features;
    if (t == DType::float8_e4m3fn) return f.float8_e4m3fn;
    return f.mx || !(is_packed(t) || t == DType::float8_e8m0fnu);
  }

  void on_chip(const ParamInfo& p, const Access& a, const Tensor& t) {
    const Engine e = c_.engine();
    if (t.memory == Memory::psum && (e == Engine::gpsimd || e == Engine::dma))
      report(kEngineMemory, p, fmt::format("`{}` is in PSUM and {} runs on {}", p.name, c_.row().name, name(e)));
    if (a.rows() > c_.arch().partitions)
      report(kPartitions, p, fmt::format("`{}` has {} partitions", p.name, a.rows()));
    if (t.address && is_cut(t.address->byte_offset, a.dtype) && !is_cut(t.address->byte_offset, t.dtype))
      report(kAlignment, p,
             fmt::format("`{}` holds {} from byte {} on", p.name, name(a.dtype), t.address->byte_offset));
    if (is_dma(c_)) return;
    start_partition(p, a, t);
    Dim merged[kMaxRank];
    const int rank = merge_dims(a.dims + 1, a.rank - 1, merged);
    for (int d = 0; d < rank; ++d) {
      if (merged[d].count > c_.arch().max_dim_count || std::abs(merged[d].stride) > c_.arch().max_dim_stride)
        report(kDimSize, p,
               fmt::format("`{}` has a free dimension of {} elements with stride {}", p.name, merged[d].count,
                           merged[d].stride));
    }
    free_size(p, a, t);
  }

  // Rows that a vector offset places do not follow each other.
  void merged_rank(const ParamInfo& p, const Access& a) {
    const int first = a.dynamic != kNone ? 1 : 0;
    Dim merged[kMaxRank];
    const int rank = first + merge_dims(a.dims + first, a.rank - first, merged);
    if (rank > kMaxOperandRank)
      report(kRank, p, fmt::format("`{}` is {}, {} dimensions with gaps between them", p.name, shape_text(a), rank));
  }

  // Tensors that do not suit their own dtype answer to memory.R6.
  static bool is_cut(std::int64_t byte, DType dtype) { return byte % size_bytes(dtype) != 0; }

  void free_size(const ParamInfo& p, const Access& a, const Tensor& t) {
    const std::int64_t n = a.row_size();
    if (n > c_.arch().max_free_elements)
      report(kFreeSize, p,
             fmt::format("`{}` has {} {} elements per partition in {}", p.name, n, name(a.dtype), name(t.memory)));
  }

  void start_partition(const ParamInfo& p, const Access& a, const Tensor& t) {
    if (!starts_at_multiple(c_.program(), a, start_unit(c_, c_.arch(), p, a.rows())))
      report(kStartPartition, p,
             fmt::format("`{}` has {} partitions from partition {}{}", p.name, a.rows(),
                         a.partition.constant + (t.address ? t.address->partition : 0),
                         a.partition.term_count ? " on, moving with a loop" : ""));
  }

  // An instruction with a second result may write the first one over and over into an element nobody reads.
  bool has_other_output(const ParamInfo& p) const {
    const auto& params = c_.row().params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (&params[i] != &p && params[i].is_output() && c_.is_tile(static_cast<int>(i))) return true;
    }
    return false;
  }

  // The stride between rows that a vector offset places is not used.
  void destination(const ParamInfo& p, const Access& a) {
    if (has_other_output(p)) return;
    const Dynamic* dynamic = c_.dynamic(a);
    const int first = dynamic && dynamic->kind == Dynamic::Kind::vector ? 1 : 0;
    bool repeats = false;
    for (int d = first; d < a.rank; ++d) {
      if (a.dims[d].stride != 0 || a.dims[d].count == 1) continue;
      repeats = true;
      report(kZeroStride, p,
             fmt::format("dimension {} of `{}` has {} elements and stride 0", d, p.name, a.dims[d].count));
    }
    const int free = is_on_chip(c_.program().tensors[a.tensor].memory) ? 1 : first;
    if (!repeats && meets_itself(a, free))
      report(kZeroStride, p, fmt::format("`{}` reaches the same element in several ways", p.name));
  }

  static bool is_index_dtype(DType t) { return is_integer(t) && size_bytes(t) == 4; }

  void dynamic(const ParamInfo& p, const Access& a, const Tensor& t, const Dynamic& d) {
    const Program& program = c_.program();
    if (d.kind == Dynamic::Kind::scalar_register) return;
    const Access& index = program.accesses[d.source];
    const Memory index_memory = program.tensors[index.tensor].memory;
    const std::string what =
        fmt::format("`{}` is indexed by {} {} in {}", p.name, name(index.dtype), shape_text(index), name(index_memory));
    if (d.kind == Dynamic::Kind::scalar_tile) {
      if (index_memory != Memory::sbuf || index.count() != 1 || !is_integer(index.dtype))
        report(kScalarOffset, p, what);
    } else if (d.kind == Dynamic::Kind::vector) {
      const bool one_per_row = index.row_size() == 1 && index.rows() == a.rows();
      if (!is_dma(c_) || !is_hbm(t.memory) || index_memory != Memory::sbuf || !is_index_dtype(index.dtype) ||
          (!one_per_row && !c_.facts().takes_index_tiles))
        report(kVectorOffset, p, what, is_dma(c_) && is_hbm(t.memory) ? kIndexHelp : "");
    } else {
      indirect(p, a, index, index_memory, what);
    }
  }

  void indirect(const ParamInfo& p, const Access& a, const Access& index, Memory index_memory,
                const std::string& what) {
    has_indirect_ = true;
    if (!c_.arch().features.indirect) report(kIndirectGeneration, p, fmt::format("`{}` is indirect", p.name));
    if (!p.indirect) report(kIndirect, p, fmt::format("`{}` of {} is indirect", p.name, c_.row().name));
    if (index_memory != Memory::sbuf || index.rows() != a.rows() ||
        !(index.dtype == DType::uint16 || is_index_dtype(index.dtype)))
      return report(kIndirectIndex, p, what);
    if (a.row_size() > index_capacity(c_, index))
      report(
          kIndexCapacity, p,
          fmt::format("`{}` has {} elements, its index {} offsets", p.name, a.row_size(), index_capacity(c_, index)));
  }

  void placement() {
    if (std::string found = misplaced_indirect(c_); !found.empty()) report(kIndirectPlacement, std::move(found));
  }

  // The scalar engine reads its sums out after it has written the result, so they may lie in it.
  void overlaps() {
    if (reads_all_first(c_.program(), c_.inst())) return;
    const auto& params = c_.row().params;
    for (std::size_t o = 0; o < params.size(); ++o) {
      if (!params[o].is_output() || !c_.is_tile(static_cast<int>(o))) continue;
      for (std::size_t i = 0; i < params.size(); ++i) {
        if (i == o || !params[i].is_tile() || !c_.is_tile(static_cast<int>(i))) continue;
        if (params[i].is_output() && (i < o || c_.engine() == Engine::scalar)) continue;
        if (overlaps_partially(c_.program(), c_.access(static_cast<int>(o)), c_.access(static_cast<int>(i))))
          report(kOverlap, params[o], fmt::format("`{}` and `{}` overlap in part", params[o].name, params[i].name));
      }
    }
    if (c_.facts().collective) overlaps_in_lists();
  }

  // Other ranks write to the destinations of a collective while its sources are still on their way.
  void overlaps_in_lists() {
    const Collective& collective = *c_.facts().collective;
    const auto to = c_.accesses(collective.received);
    const ParamInfo& dsts = c_.row().params[collective.received];
    for (std::size_t i = 0; i < c_.row().params.size(); ++i) {
      const int param = static_cast<int>(i);
      if (param == collective.received || c_.arg(param).kind != Arg::Kind::accesses) continue;
      for (const Access& in : c_.accesses(param)) {
        for (const Access& out : to)
          if (overlaps_partially(c_.program(), out, in))
            report(kOverlap, dsts, fmt::format("`{}` and `{}` overlap in part", dsts.name, c_.row().params[i].name));
      }
    }
    const bool on_chip = !to.empty() && is_on_chip(c_.program().tensors[to[0].tensor].memory);
    const auto share = [&](const Access& a, const Access& b) {
      return overlaps_partially(c_.program(), a, b) ||
             (a.tensor == b.tensor && are_same_elements(c_.program(), {a, {0, 0}}, {b, {0, 0}}, on_chip));
    };
    for (std::size_t a = 0; a < to.size(); ++a) {
      for (std::size_t b = a + 1; b < to.size(); ++b)
        if (share(to[a], to[b]))
          report(kOverlap, dsts, fmt::format("tensors {} and {} of `{}` share elements", a, b, dsts.name));
    }
  }

  const Check& c_;
  SoundFor* sound_;
  std::vector<Diagnostic>& out_;
  bool has_indirect_ = false;
};

}  // namespace

constexpr RuleTable kOperandRules{"operand", "the operands of every instruction", kRules, Category::invalid, true};

void check_operands(const Check& c, SoundFor* sound, std::vector<Diagnostic>& out) {
  OperandCheck(c, sound, out).all();
}
bool is_partition_count(const Diagnostic& d) { return d.code == code_of(kOperandRules, kPartitions); }

std::int64_t start_unit(const InstView& inst, const Arch& arch, const ParamInfo& param, std::int64_t rows) {
  if (is_dma(inst) || param.own_start) return 1;
  return rows > 2 * kQuadrantPartitions ? arch.partitions
         : rows > kQuadrantPartitions   ? 2 * kQuadrantPartitions
                                        : kQuadrantPartitions;
}

bool starts_at_multiple(const Program& program, const Access& a, std::int64_t unit) {
  const auto& address = program.tensors[a.tensor].address;
  std::int64_t first = a.partition.constant + (address ? address->partition : 0);
  for (const Term& term : program.terms_of(a.partition)) {
    const Loop& loop = program.loops[term.loop];
    first += term.coefficient * loop.lower.value;
    if (loop.trip_count() > 1 && term.coefficient * loop.step % unit != 0) return false;
  }
  return first % unit == 0;
}

int merge_dims(const Dim* dims, int rank, Dim* merged) {
  int n = 0;
  for (int i = 0; i < rank; ++i) {
    if (dims[i].count == 1) continue;
    if (n > 0 && merged[n - 1].stride == dims[i].stride * dims[i].count) {
      merged[n - 1] = {dims[i].stride, merged[n - 1].count * dims[i].count};
    } else {
      merged[n++] = dims[i];
    }
  }
  return n;
}

}  // namespace kiln::isa
