// Regions: who wrote and read which bytes of a tensor last, so that the next access knows what it has to wait
// for.
#pragma once

#include <memory>
#include <vector>

#include "kiln/base/copied.h"
#include "kiln/base/function_ref.h"
#include "kiln/timing/box_buckets.h"
#include "kiln/timing/ramp.h"

namespace kiln::timing {

class Regions {
 public:
  // Adds what an access has to wait for, and becomes part of what later ones wait for. `ordered`: ops of one
  // stream come one after the other, so the last reader of a stream stands for all.
  void touch(const Box& box, OpId op, int stream, bool reads, bool writes, bool ordered, Waits& out);
  void clear();
  bool is_small() const { return slots_.capacity() <= kSmall; }  // what it keeps for later hardly counts
  bool is_crowded() const { return used_ > limit_ || ramps_.size() > ramp_limit_; }
  // Forgets what nothing can wait for any more: everything whose ops are over.
  void forget(FunctionRef<bool(OpId)> is_over);
  void add_ramp(Ramp ramp) { ramps_.push_back(std::move(ramp)); }

 private:
  static constexpr std::size_t kMany = 4096, kManyRamps = 64, kSmall = 32;
  struct Reader {
    OpId op;
    int stream;
  };
  struct Slot {
    Box box;
    OpId writer = kNoOp;
    ShortVector<Reader, 3> readers;            // since the last write
    ShortVector<std::uint32_t, 4> neighbours;  // other slots that share bytes
    std::uint32_t earlier = 0;                 // of them, that were there before it
    std::uint32_t next = 0;                    // slot that was touched after it the last time
    bool apart = false;                        // it is a tile of the grid, and so are those before it
  };
  std::uint32_t find(const Box& box);
  std::uint32_t make(const Box& box);
  std::uint32_t make_again();
  void forget_rest();
  void put_into_index(std::uint32_t first, std::uint32_t last);
  void find_neighbours(std::uint32_t made);
  bool fits_grid(const Box& box);
  static void wait_for(const Slot& slot, bool reads, bool writes, Waits& out);

  std::vector<Slot> slots_;
  // Of a tensor that is declared again, the slots from used_ on are those that it had before. As long as the same
  // boxes come in the same order, what was found out about them holds again.
  std::size_t used_ = 0, known_ = 0;
  struct Indexed {
    std::uint32_t hash, slot;  // isa::kNone: none
  };
  std::vector<Indexed> index_;  // of known slots, once there are many
  Copied<BoxBuckets> buckets_;  // likewise
  std::uint32_t last_ = 0;
  std::size_t limit_ = kMany;
  bool grid_ = true;  // all slots are tiles of one size on its own grid, so no two of them share bytes
  std::vector<Ramp> ramps_;
  std::size_t ramp_limit_ = kManyRamps;
};

}  // namespace kiln::timing
