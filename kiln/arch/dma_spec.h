// The DMA engines of a core: rates, packets, and what a transfer takes before and after its bytes.
// docs/timing.md names the source of each figure.
#pragma once

namespace kiln {

// A way to make descriptors: what it takes before the bytes move.
struct DgeSpec {
  double trigger_ns = 0;  // the trigger instruction
  double start_ns = 0;    // trigger start to first byte
};

struct DmaSpec {
  int engines = 0;
  int partitions_per_engine = 0;
  int outstanding_transfers = 0;   // that a queue holds before its triggers wait
  double bytes_per_ns = 0;         // sustained, one engine, packets of 4 KiB
  double packet_ns = 0;            // a packet, beyond its bytes
  double packet_bytes_per_ns = 0;  // inside a packet, one engine
  double loaded_bytes_per_ns = 0;  // inside a packet, when all engines are at work
  double hbm_write_packet_ns = 0;  // more for a packet written to HBM that is shorter than small_write_bytes
  double small_write_bytes = 0;
  double transpose_rate_hbm = 0, transpose_rate_sbuf = 0, compute_rate = 0;  // share of the copy rate
  double gpsimd_bytes_per_ns = 0;  // the gpsimd engine's own DMA, each way; 0 when it has none
  DgeSpec swdge, hwdge, prebuilt;  // prebuilt: static descriptors, dge_mode.none
  double trigger_gap_ns = 0;       // end of a trigger to the next one of the same unit
  double spread_ns = 0;            // engines of one transfer do not begin together: first to last
  double completion_ns = 0;        // last byte to the waiting instruction
};

}  // namespace kiln
