// Wire: many pieces of memory between processes as few messages. Small pieces travel together, large ones as they lie.
#pragma once

#include <list>
#include <vector>

#include "kiln/sim/processes.h"

namespace kiln::sim {

class Wire {
 public:
  explicit Wire(Processes& processes) : processes_(processes), lanes_(processes.count()) {}

  // Both sides name their pieces in the same order and of the same sizes. What is sent is read when it is named, or
  // later when it is large.
  void send(int to, std::span<const std::byte> piece);
  void receive(int from, std::span<std::byte> piece);
  // What waits to be put together leaves now.
  void begin();
  // Until all of it has come.
  void wait();

 private:
  struct Lane {
    std::vector<std::byte> out;
    std::vector<std::span<std::byte>> in;
    std::size_t in_bytes = 0;
  };
  struct Arriving {
    std::vector<std::byte> bytes;
    std::vector<std::span<std::byte>> pieces;
  };

  void flush_out(int to);
  void flush_in(int from);

  Processes& processes_;
  std::vector<Lane> lanes_;  // by process
  std::list<std::vector<std::byte>> leaving_;
  std::list<Arriving> arriving_;
};

}  // namespace kiln::sim
