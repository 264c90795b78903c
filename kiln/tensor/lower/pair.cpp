// What the two cores of a pair send each other, tile by tile. Both programs have the same instructions in the same
// order, so that every tile has its counterpart.
#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

void RegionEmitter::send(Value v, const Tile& dst, const Tile& src, const Free& free) {
  const std::int64_t other = 1 - graph_.op(v).integer("core");
  over(k_, {dst, src}, free, [&](const std::vector<isa::View>& t) {
    k_.sendrecv({.src = t[1], .dst = t[0], .send_to_rank = other, .recv_from_rank = other, .pipe_id = pipe_of(v)});
  });
}

// Exchanges are numbered in the order of the program.
std::int64_t RegionEmitter::pipe_of(Value v) const {
  std::int64_t n = 0;
  for (Value x = 0; x < v; ++x) {
    const OpCode code = graph_.op(x).code;
    n += code == OpCode::exchange || code == OpCode::pair_gather;
  }
  return n;
}

Tile RegionEmitter::exchange(Value v, const Tile* into) {
  const Free free = free_of(v);
  const DType t = tile_dtype(v);
  const Tile mine = in_sbuf(in_dtype(operand(v, 0), free, t), free);
  const Tile dst = into && into->dtype() == t ? *into : target(v, nullptr);
  send(v, dst, mine, free);
  if (into && into->dtype() != t) copy(*into, dst, free);
  return into ? *into : dst;
}

// What this core has is copied to its place, and sent from there.
Tile RegionEmitter::gather_halves(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const auto axis = static_cast<std::size_t>(op.integer("axis"));
  const std::int64_t half = op.integer("extent") / 2, core = op.integer("core");
  const Tile dst = into && into->dtype() == tile_dtype(v) ? *into : target(v, nullptr);
  Free free = free_of(v);
  free.dims[axis] = half;
  const auto place = [&](std::int64_t of) {
    Tile part = dst;
    part.offset += of * half * dst.dims[axis].stride;
    part.dims[axis].count = half;
    return part;
  };
  const Tile mine = place(core);
  copy(mine, operand(v, 0), free);
  send(v, place(1 - core), mine, free);
  if (into && into->dtype() != dst.dtype()) copy(*into, dst, free_of(v));
  return into && into->dtype() != dst.dtype() ? *into : dst;
}

}  // namespace kiln::tensor
