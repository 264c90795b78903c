#include "kiln/timing/what_if.h"

#include <fmt/format.h>

#include <charconv>

#include "kiln/base/error.h"
#include "kiln/timing/rules.h"

namespace kiln::timing {
namespace {

// A factor of a group of constants that only make sense together is read through its first member.
#define KILN_CONSTANT(name, unit, field, text)                                 \
  Constant {                                                                   \
    name, unit, text, [](const Arch& a) -> double { return a.field; },         \
        [](Arch& a, double v) { a.field = static_cast<decltype(a.field)>(v); } \
  }
#define KILN_CLOCK(name, engine_name) \
  KILN_CONSTANT(name, "GHz", engine_name.clock_ghz, "clock of the " #engine_name " engine")

void set_dma_bandwidth(Arch& a, double v) {
  a.dma.packet_bytes_per_ns *= v / a.dma.bytes_per_ns;
  a.dma.loaded_bytes_per_ns *= v / a.dma.bytes_per_ns;
  a.dma.bytes_per_ns = v;
}

// Without a figure of its own a link between cores of a device is as fast as any.
void set_link_bandwidth(Arch& a, double v) {
  a.links.core_bytes_per_ns *= v / a.links.link_bytes_per_ns;
  a.links.link_bytes_per_ns = v;
}

const Constant kConstants[] = {
    {"dma_bandwidth", "bytes/ns", "sustained rate of one DMA engine", [](const Arch& a) { return a.dma.bytes_per_ns; },
     set_dma_bandwidth},
    KILN_CONSTANT("dma_engines", "", dma.engines, "DMA engines of a core"),
    KILN_CONSTANT("dma_packet", "ns", dma.packet_ns, "fixed time of a DMA packet"),
    KILN_CONSTANT("dma_start_swdge", "ns", dma.swdge.start_ns, "trigger to first byte, software DGE"),
    KILN_CONSTANT("dma_start_hwdge", "ns", dma.hwdge.start_ns, "trigger to first byte, hardware DGE"),
    KILN_CONSTANT("dma_start_none", "ns", dma.prebuilt.start_ns, "trigger to first byte, static descriptors"),
    KILN_CONSTANT("dma_trigger_hwdge", "ns", dma.hwdge.trigger_ns, "a hardware DGE trigger instruction"),
    KILN_CONSTANT("dma_trigger_none", "ns", dma.prebuilt.trigger_ns, "a trigger with static descriptors"),
    KILN_CONSTANT("dma_completion", "ns", dma.completion_ns, "last byte to the waiting instruction"),
    KILN_CONSTANT("hbm_bandwidth", "bytes/ns", hbm_bytes_per_ns, "one HBM stack, shared by a pair"),
    KILN_CLOCK("tensor_clock", tensor),
    KILN_CLOCK("vector_clock", vector),
    KILN_CLOCK("scalar_clock", scalar),
    KILN_CLOCK("gpsimd_clock", gpsimd),
    KILN_CONSTANT("tensor_latency", "ns", tensor.latency_ns, "fixed part of a matmul's duration"),
    KILN_CONSTANT("tensor_interval", "ns", tensor.interval_ns, "fixed part of its interval"),
    KILN_CONSTANT("vector_latency", "ns", vector.latency_ns, "fixed part of a vector instruction"),
    KILN_CONSTANT("vector_interval", "ns", vector.interval_ns, "fixed part of its interval"),
    KILN_CONSTANT("scalar_latency", "ns", scalar.latency_ns, "fixed part of a scalar instruction"),
    KILN_CONSTANT("scalar_interval", "ns", scalar.interval_ns, "fixed part of its interval"),
    KILN_CONSTANT("table_load", "ns", timing.table_load_ns, "loading activation functions"),
    KILN_CONSTANT("warm_up", "ns", timing.matmul.warm_up_ns, "activity until the tensor engine's full clock"),
    {"link_bandwidth", "bytes/ns", "one link between devices, one direction, and all other links in proportion",
     [](const Arch& a) { return a.links.link_bytes_per_ns; }, set_link_bandwidth},
    KILN_CONSTANT("link_hop", "ns", links.hop_ns, "a step between ranks of a server"),
    KILN_CONSTANT("node_hop", "ns", links.node_hop_ns, "a step between ranks over the network"),
    KILN_CONSTANT("fp32_passes", "", matmul_fp32_passes, "passes of a float32 matmul"),
};

[[noreturn]] void fail(std::string found, std::string help) {
  raise(timing_rules::kTable, timing_rules::kWhatIf, {.found = std::move(found), .help = std::move(help)});
}

const Constant& find(std::string_view name) {
  std::string known;
  for (const Constant& c : kConstants) {
    if (c.name == name) return c;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", c.name);
  }
  fail(fmt::format("`{}` is no constant of the timing model", name), "one of: " + known);
}

}  // namespace

std::span<const Constant> constants() { return kConstants; }

WhatIf parse_what_if(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) fail(fmt::format("`{}` has no `=`", text), "dma_bandwidth=2x");
  WhatIf w{std::string(text.substr(0, equals)), 0, text.ends_with('x')};
  find(w.name);
  std::string_view number = text.substr(equals + 1);
  if (w.relative) number.remove_suffix(1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), w.value);
  if (error != std::errc{} || end != number.data() + number.size() || !(w.value > 0) || w.value > 1e12)
    fail(fmt::format("`{}` is no positive number", number), "2x doubles, 0.5x halves, 900 sets the value");
  return w;
}

Arch apply(const Arch& arch, std::span<const WhatIf> changes) {
  Arch changed = arch;
  for (const WhatIf& w : changes) {
    const Constant& c = find(w.name);
    c.set(changed, w.relative ? c.get(changed) * w.value : w.value);
  }
  return changed;
}

}  // namespace kiln::timing
