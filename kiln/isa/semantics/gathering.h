// Gathering: ranks that have met in a collective, with the tiles that each of them brought. The instruction's file says
// what moves where; values and bytes that were never written move together.
#pragma once

#include <span>
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

class Carrier;

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

  Gathering(std::vector<Member> members, const Arch& arch, Carrier& carrier)
      : members_(std::move(members)), arch_(arch), carrier_(carrier) {}

  // In the order of the group's list; of pairs, by rank.
  int size() const { return static_cast<int>(members_.size()); }
  const Member& operator[](int i) const { return members_[i]; }
  int member_of(std::int64_t rank) const;  // -1: none
  const Parcel& parcel(const Spot& s) const { return members_[s.member].parcels[s.param][s.tile]; }

  // Copies elements, bit for bit.
  void move(const Spot& from, const Spot& to, std::int64_t count) const;
  // Reduces the same number of elements at several spots, in their order; puts the result to all targets.
  void reduce(AluOp op, const std::vector<Spot>& from, const std::vector<Spot>& to, std::int64_t count) const;
  // The places of one list, in ascending order of ranks: the order of every reduction.
  std::vector<Spot> by_rank(int param, int tile, std::int64_t element = 0) const;

  [[noreturn]] void fail(int member, const Rule& rule, std::string found) const;

 private:
  std::vector<Member> members_;
  const Arch& arch_;
  Carrier& carrier_;
};

// Who carries the elements of a gathering; what it is asked for may be done later, but reads what is there now.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual void move(const Gathering& g, const Gathering::Spot& from, const Gathering::Spot& to, std::int64_t count) = 0;
  virtual void reduce(const Gathering& g, AluOp op, const std::vector<Gathering::Spot>& from,
                      const std::vector<Gathering::Spot>& to, std::int64_t count) = 0;
};

// Copies elements, bit for bit, with what is known of them.
void copy_elements(const Parcel& src, std::int64_t from, const Parcel& dst, std::int64_t to, std::int64_t count);

// The values of a reduction: in float32 and in the order of the sources, integers too, with one rounding
// at the end. An element lacks a value where one of its sources does.
void reduce_elements(AluOp op, DType dtype, std::span<const std::byte* const> from, std::span<std::byte* const> to,
                     std::int64_t count, const Kernels& kernels);
void reduce_shadows(std::span<const Shadow* const> from, std::span<Shadow* const> to, std::int64_t count);

}  // namespace kiln::isa
