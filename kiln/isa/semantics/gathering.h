// Gathering: ranks that have met in a collective, with the tiles that each of them brought. The instruction's file says
// what moves where; values and bytes that were never written move together.
#pragma once

#include <string>
#include <vector>

#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/num/kernels.h"

namespace kiln::isa {

// A tile in row-major order.
struct Parcel {
  std::byte* data = nullptr;
  std::int64_t count = 0;  // elements
  DType dtype{};
  Shadow* shadow = nullptr;  // per element; null: all written
};

class Gathering {
 public:
  struct Member {
    int rank;
    InstView view;
    std::vector<std::vector<Parcel>> parcels;  // by parameter; of a list one for each tile
  };
  // A place in a parcel of a member.
  struct Spot {
    int member, param, tile;
    std::int64_t element;
  };

  Gathering(std::vector<Member> members, const Arch& arch, const Kernels& kernels)
      : members_(std::move(members)), arch_(arch), k_(kernels) {}

  // In the order of the group's list; of pairs, by rank.
  int size() const { return static_cast<int>(members_.size()); }
  const Member& operator[](int i) const { return members_[i]; }
  int member_of(std::int64_t rank) const;  // -1: none
  const Parcel& parcel(const Spot& s) const { return members_[s.member].parcels[s.param][s.tile]; }

  // Copies elements, bit for bit.
  void move(const Spot& from, const Spot& to, std::int64_t count) const;
  // Reduces the same number of elements at several spots, in float32 and in the order of the spots, integers of 32 bits
  // as such; puts the result to all targets.
  void reduce(AluOp op, const std::vector<Spot>& from, const std::vector<Spot>& to, std::int64_t count) const;
  // The places of one list, in ascending order of ranks: the order of every reduction.
  std::vector<Spot> by_rank(int param, int tile, std::int64_t element = 0) const;

  [[noreturn]] void fail(int member, const Rule& rule, std::string found) const;

 private:
  std::vector<Member> members_;
  const Arch& arch_;
  const Kernels& k_;
};

}  // namespace kiln::isa
