#include "kiln/isa/semantics/cost.h"

#include <algorithm>

namespace kiln::isa {
namespace {

bool is_16bit_float(DType t) { return t == DType::bfloat16 || t == DType::float16; }
bool is_8bit_float(DType t) { return is_float(t) && size_bytes(t) == 1; }

// Elements per cycle that the fast modes allow for this dtype, 1 when none.
double fast_rate(const EngineSpec& spec, DType t) {
  if (is_16bit_float(t)) return spec.elements_per_cycle_16bit;
  if (is_8bit_float(t)) return spec.elements_per_cycle_8bit;
  return spec.elements_per_cycle;
}

// Copies of float32 inside SBUF pass two elements per cycle where public traces show it.
double float32_rate(const EngineSpec& spec, DType a, DType b) {
  return a == DType::float32 && b == DType::float32 ? spec.elements_per_cycle_float32 : 0;
}

}  // namespace

bool CostQuery::has_unit_stride(int param) const {
  const Access& a = access(param);
  for (int i = a.rank - 1; i > 0; --i) {
    if (a.dims[i].count > 1) return a.dims[i].stride == 1;
  }
  return true;
}

bool CostQuery::has_dynamic_address() const {
  for (std::size_t i = 0; i < row().params.size(); ++i) {
    if (is_tile(static_cast<int>(i)) && dynamic(static_cast<int>(i))) return true;
  }
  return false;
}

double CostQuery::stream(double elements, double rate) const {
  const double shortest = bare_ ? 0 : spec().min_interval_cycles;
  const double cycles = std::max(shortest, elements / rate) + spec().start_cycles;
  return has_dynamic_address() ? std::max<double>(cycles, arch_.dynamic_address_cycles) : cycles;
}

double CostQuery::copy_rate(int dst, int src) const {
  if (!arch_.features.vector_fast_modes) return spec().elements_per_cycle;
  const bool contiguous = has_unit_stride(dst) && has_unit_stride(src);
  const int in_psum = this->in_psum(dst) + this->in_psum(src);
  const double wide = in_psum == 0 && contiguous ? float32_rate(spec(), dtype(dst), dtype(src)) : 0;
  if (wide > 0) return wide;
  // 16-bit floats to 8 bits, as DOC-RMSQ-ts shows.
  const bool narrows = size_bytes(dtype(dst)) == 1 && fast_rate(spec(), dtype(dst)) <= 1;
  if (in_psum == 0 && contiguous && narrows && fast_rate(spec(), dtype(src)) > 1) return 2;
  const double rate = std::min(fast_rate(spec(), dtype(dst)), fast_rate(spec(), dtype(src)));
  if (rate <= 1) return spec().elements_per_cycle;
  if (in_psum == 0 && contiguous) return rate;
  return in_psum == 0 || (in_psum == 1 && contiguous) ? std::min(rate, 2.0) : spec().elements_per_cycle;
}

double CostQuery::two_input_rate(int dst, int a, int b) const {
  const bool psum = in_psum(a) || in_psum(b);
  if (!arch_.features.vector_fast_modes) return psum ? 1.0 : 0.5;
  const double rate =
      std::min({fast_rate(spec(), dtype(dst)), fast_rate(spec(), dtype(a)), fast_rate(spec(), dtype(b))});
  return !psum && rate > 1 ? std::min(rate, 2.0) : 1.0;
}

Cost matmul_cost(const CostQuery& q, double passes, double columns, double cycles, bool transpose) {
  const int together = q.arch().matmul_passes_together;
  const bool wide = passes > 1 && together > 1;
  return {.cycles = passes * cycles,
          .load_cycles =
              wide ? (transpose ? 1 : together) * columns : columns / q.arch().timing.matmul.load_columns_per_cycle,
          .parts = std::max(1, static_cast<int>(passes) / together),
          .background = transpose && q.arch().features.background_transpose};
}

Cost cost_of(const Program& program, const Instruction& inst, const Arch& arch, bool bare) {
  const CostQuery query(program, inst, arch, bare);
  return query.row().semantics->cost(query);
}

}  // namespace kiln::isa
