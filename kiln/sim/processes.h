// Processes: those that share the ranks of a run. Each has all programs, runs some of the ranks, and sends the others
// what their collectives need.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace kiln::sim {

// Messages of one channel between two processes follow each other; those of others do not wait for them.
enum class Channel { plain, sources, results };

class Processes {
 public:
  virtual ~Processes() = default;
  virtual int self() const = 0;
  virtual int count() const = 0;

  // Bytes for and from another process, in the same order and of the same sizes on both sides of a channel. The memory
  // is used until `wait` returns.
  virtual void send(int to, std::span<const std::byte> bytes, Channel channel = Channel::plain) = 0;
  virtual void receive(int from, std::span<std::byte> bytes, Channel channel = Channel::plain) = 0;
  // Until all of that is done. Throws Error (mpi.R3) when a process is lost, has ended, or gives up.
  virtual void wait() = 0;
  // Until everything is there that was to be received.
  virtual void wait_for_received() = 0;

  // Tells the others why this one does not go on: they end with it.
  virtual void give_up(const std::string& why) noexcept = 0;
};

// What every process says, in their order.
std::vector<std::string> all_say(Processes& processes, const std::string& own);

// Ranks follow each other in equal parts: the first one of a process, and the process of a rank.
int first_rank(int process, int ranks, int processes);
int process_of(int rank, int ranks, int processes);

// Throws Error unless all processes bring the same launch, which has a rank for each of them; `launch` says all that
// matters of it.
void require_same_launch(Processes& processes, int ranks, const std::string& launch);

}  // namespace kiln::sim
