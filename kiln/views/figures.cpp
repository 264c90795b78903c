#include "kiln/views/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/base/quantity_text.h"

namespace kiln::views {
namespace {

constexpr double kNsPerSecond = 1e9;

double seconds(double ns) { return ns / kNsPerSecond; }
double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Three figures of an engine.
#define KILN_ENGINE(engine)                                                                        \
  {#engine "_engine_active_time", #engine " engine active", Unit::seconds,                         \
   [](const TimeReport& r) { return seconds(r.active_ns(Engine::engine)); }},                      \
      {#engine "_engine_active_time_percent", #engine " engine active, share", Unit::share,        \
       [](const TimeReport& r) { return r.active_share(Engine::engine); }},                        \
  {                                                                                                \
#engine "_engine_instruction_count", #engine " engine instructions", Unit::count,              \
        [](const TimeReport& r) { return static_cast<double>(r.instructions_of(Engine::engine)); } \
  }

double peak_flops(const TimeReport& r) { return r.total_ns * r.roofline.peak_flops_per_ns; }
double hbm_bytes(const TimeReport& r) { return r.hbm_bytes_read + r.hbm_bytes_written; }

constexpr Figure kFigures[] = {
    {"kernel_time", "kernel", Unit::seconds, [](const TimeReport& r) { return seconds(r.total_ns); }},
    {"kernel_time_low", "band, low", Unit::seconds, [](const TimeReport& r) { return seconds(r.low_ns); }},
    {"kernel_time_high", "band, high", Unit::seconds, [](const TimeReport& r) { return seconds(r.high_ns); }},
    {"total_time", "profiler total", Unit::seconds, [](const TimeReport& r) { return seconds(r.profiler_total_ns); }},
    {"benchmark_latency", "benchmark latency", Unit::seconds,
     [](const TimeReport& r) { return seconds(r.benchmark_latency_ns); }},
    KILN_ENGINE(tensor),
    KILN_ENGINE(vector),
    KILN_ENGINE(scalar),
    KILN_ENGINE(gpsimd),
    KILN_ENGINE(sync),
    {"dma_active_time", "DMA active", Unit::seconds,
     [](const TimeReport& r) { return seconds(r.active_ns(Engine::dma)); }},
    {"dma_active_time_percent", "DMA active, share", Unit::share,
     [](const TimeReport& r) { return share(r.active_ns(Engine::dma), r.total_ns); }},
    {"dma_transfer_count", "DMA transfers", Unit::count,
     [](const TimeReport& r) { return static_cast<double>(r.work.dma_transfers); }},
    {"dma_transfer_total_bytes", "DMA bytes", Unit::bytes, [](const TimeReport& r) { return r.work.dma_bytes; }},
    {"dma_transfer_average_bytes", "bytes per DMA", Unit::bytes,
     [](const TimeReport& r) { return share(r.work.dma_bytes, static_cast<double>(r.work.dma_transfers)); }},
    {"hbm_read_bytes", "HBM read", Unit::bytes, [](const TimeReport& r) { return r.hbm_bytes_read; }},
    {"hbm_write_bytes", "HBM written", Unit::bytes, [](const TimeReport& r) { return r.hbm_bytes_written; }},
    {"compulsory_bytes", "compulsory HBM bytes", Unit::bytes, [](const TimeReport& r) { return r.compulsory_bytes; }},
    {"sbuf_read_bytes", "SBUF read", Unit::bytes, [](const TimeReport& r) { return r.work.sbuf_bytes_read; }},
    {"sbuf_write_bytes", "SBUF written", Unit::bytes, [](const TimeReport& r) { return r.work.sbuf_bytes_written; }},
    {"psum_read_bytes", "PSUM read", Unit::bytes, [](const TimeReport& r) { return r.work.psum_bytes_read; }},
    {"psum_write_bytes", "PSUM written", Unit::bytes, [](const TimeReport& r) { return r.work.psum_bytes_written; }},
    {"sbuf_peak_bytes", "SBUF peak, per partition", Unit::bytes, [](const TimeReport& r) { return r.sbuf_peak_bytes; }},
    {"psum_peak_bytes", "PSUM peak, per partition", Unit::bytes, [](const TimeReport& r) { return r.psum_peak_bytes; }},
    {"matmul_instruction_count", "matmuls", Unit::count,
     [](const TimeReport& r) { return static_cast<double>(r.work.matmuls); }},
    {"hardware_flops", "tensor engine operations", Unit::flops, [](const TimeReport& r) { return r.roofline.flops; }},
    {"transpose_flops", "of these, transposes", Unit::flops,
     [](const TimeReport& r) { return r.work.transpose_flops; }},
    {"mfu_estimated_percent", "MFU", Unit::share,
     [](const TimeReport& r) { return share(r.work.matmul_flops, peak_flops(r)); }},
    {"hfu_estimated_percent", "HFU", Unit::share,
     [](const TimeReport& r) { return share(r.roofline.flops, peak_flops(r)); }},
    {"mbu_estimated_percent", "MBU", Unit::share,
     [](const TimeReport& r) { return share(hbm_bytes(r), r.total_ns * r.roofline.peak_bytes_per_ns); }},
    {"mm_arithmetic_intensity", "arithmetic intensity", Unit::flops_per_byte,
     [](const TimeReport& r) { return share(r.work.matmul_flops, hbm_bytes(r)); }},
    {"peak_flops_bandwidth_ratio", "ridge of the roofline", Unit::flops_per_byte,
     [](const TimeReport& r) { return r.roofline.ridge(); }},
    {"instruction_count", "instructions", Unit::count,
     [](const TimeReport& r) { return static_cast<double>(r.instructions); }},
};

}  // namespace

std::span<const Figure> figures() { return kFigures; }

std::string to_text(const Figure& figure, double value) {
  switch (figure.unit) {
    case Unit::seconds:
      return time_text(value * kNsPerSecond);
    case Unit::share:
      return percent_text(value);
    case Unit::bytes:
      return bytes_text(value);
    case Unit::count:
      return fmt::format("{:.0f}", value);
    case Unit::flops:
      return count_text(value, "flop");
    case Unit::flops_per_byte:
      return fmt::format("{:.3g} flop/B", value);
  }
  return {};
}

}  // namespace kiln::views
