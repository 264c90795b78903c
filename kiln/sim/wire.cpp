#include "kiln/sim/wire.h"

#include <cstring>

namespace kiln::sim {
namespace {
constexpr std::size_t kLarge = 64 << 10;  // a piece that is not worth a copy
constexpr std::size_t kPacked = 1 << 20;  // small pieces that make a message
}  // namespace

void Wire::send(int to, std::span<const std::byte> piece) {
  if (piece.empty()) return;
  if (piece.size() >= kLarge) {
    flush_out(to);
    return processes_.send(to, piece);
  }
  std::vector<std::byte>& out = lanes_[to].out;
  out.insert(out.end(), piece.begin(), piece.end());
  if (out.size() >= kPacked) flush_out(to);
}

void Wire::receive(int from, std::span<std::byte> piece) {
  if (piece.empty()) return;
  if (piece.size() >= kLarge) {
    flush_in(from);
    return processes_.receive(from, piece);
  }
  Lane& lane = lanes_[from];
  lane.in.push_back(piece);
  lane.in_bytes += piece.size();
  if (lane.in_bytes >= kPacked) flush_in(from);
}

void Wire::begin() {
  for (std::size_t p = 0; p < lanes_.size(); ++p) {
    flush_out(static_cast<int>(p));
    flush_in(static_cast<int>(p));
  }
}

void Wire::wait() {
  begin();
  processes_.wait();
  for (const Arriving& a : arriving_) {
    const std::byte* at = a.bytes.data();
    for (const std::span<std::byte> piece : a.pieces) {
      std::memcpy(piece.data(), at, piece.size());
      at += piece.size();
    }
  }
  leaving_.clear();
  arriving_.clear();
}

void Wire::flush_out(int to) {
  if (lanes_[to].out.empty()) return;
  leaving_.push_back(std::move(lanes_[to].out));
  lanes_[to].out.clear();
  processes_.send(to, leaving_.back());
}

void Wire::flush_in(int from) {
  Lane& lane = lanes_[from];
  if (lane.in.empty()) return;
  Arriving& a = arriving_.emplace_back(Arriving{std::vector<std::byte>(lane.in_bytes), std::move(lane.in)});
  lane.in.clear();
  lane.in_bytes = 0;
  processes_.receive(from, a.bytes);
}

}  // namespace kiln::sim
