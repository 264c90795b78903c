// Outline: the statements of a program as a tree that can be folded. What is written once and run often differs from
// run to run in numbers and in what it refers to, and in nothing else. So a statement here is a key (everything that
// may not differ), numbers that are affine in the variables around it, and references to what other statements made.
// Two statements of one key can be one statement of a loop.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::emit {

// What a statement makes and others refer to: a tensor, a register, an issued instruction; or a list of those, one
// for every pass of a loop.
using Entity = std::uint32_t;
struct EntityInfo {
  enum class Kind : std::uint8_t { tensor, reg, instruction, list };
  Kind kind;
  std::uint32_t source;         // TensorId, RegisterId, InstructionId; of a list, the Entity of the first pass
  Entity list = isa::kNone;     // the list that it is an element of
  std::int64_t position = 0;    // there
  std::uint32_t last_use = 0;   // number of the last statement that refers to it
  bool leaves_its_loop = true;  // of a list: somebody outside the loop refers to it
};

// Rows of numbers, `width` wide: the constant, then the coefficients of the variables around, outermost first.
struct Ref {
  Entity entity;
  bool bound = false;                // made inside the statement that has the reference
  std::vector<std::int64_t> places;  // rows: indices into lists, outermost first
};

struct Item {
  enum class Kind : std::uint8_t { instruction, declare, loop, device_loop, ordered, guard };
  Kind kind;
  std::uint32_t source = isa::kNone;  // InstructionId, TensorId, LoopId; none: a loop that rolling made
  std::uint32_t key = 0;
  std::uint32_t last = 0;                       // number of its last statement, counted through the program
  std::uint32_t lines = 1;                      // of text, about
  std::uint32_t waits = 0;                      // instructions that it names as ones to wait for
  std::int64_t lower = 0, upper = 0, step = 1;  // of a loop
  // Of a guard, whose body runs in one pass of a rolled loop, or in all others: the place of the loop's variable in
  // rows of numbers, and that pass.
  std::size_t column = 0;
  std::int64_t pass = 0;
  bool runs_otherwise = false;
  std::size_t width = 1;
  std::vector<std::int64_t> numbers;           // rows; those of a loop are followed by those of its body
  std::vector<Ref> refs;                       // likewise
  std::uint32_t row_count = 0, ref_count = 0;  // that it had when they went to the statement around it
  std::vector<Entity> makes;                   // for statements behind it
  Entity variable = isa::kNone;                // the register that a device loop counts on, for its body
  std::vector<Item> body;

  std::size_t rows() const { return numbers.size() / width; }
  bool has_body() const { return kind != Kind::instruction && kind != Kind::declare; }
  std::int64_t trips() const;
};

// Numbers for keys: equal keys are equal numbers.
class Keys {
 public:
  std::uint32_t number(std::string key) {
    return numbers_.emplace(std::move(key), static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

struct Outline {
  std::vector<EntityInfo> entities;  // first one per tensor, then registers, then instructions; lists behind them
  std::vector<Item> items;
  // Lists that several loops fill, each element where it is made: how often those loops run, outermost first. A
  // reference has one place for each loop, as in a list of lists.
  std::unordered_map<Entity, std::vector<std::int64_t>> flat;
  std::unordered_map<Entity, Entity> flat_of;  // elements of such lists
  std::unordered_set<isa::TensorId> named;  // in HBM, between ranks: the device's compiler wants a name in the source
  Entity tensor(isa::TensorId id) const { return id; }
  Entity reg(isa::RegisterId id) const { return tensors + id; }
  Entity instruction(isa::InstructionId id) const { return tensors + registers + id; }
  // How long the lists are that a list stands for, one in the other; 0: as long as it is.
  std::span<const std::int64_t> sizes_of(Entity list) const {
    static constexpr std::int64_t kOne[] = {0};
    const auto found = flat.find(list);
    return found == flat.end() ? std::span<const std::int64_t>(kOne) : found->second;
  }
  // Whether it is a list of what the passes of a loop make for statements behind them.
  bool is_kept_list(Entity entity) const {
    return entities[entity].kind == EntityInfo::Kind::list && entities[entity].leaves_its_loop;
  }
  std::uint32_t tensors = 0, registers = 0;
  int variables = 0;  // that stand around everything
};

// The outline of a program, with `variables` columns for variables around it. `groups`: names of what instructions
// belong to, by InstructionId, as far as there are any.
Outline outline_of(const isa::Program& program, Keys& keys, int variables, std::span<const std::string> groups);

// `ref` in terms of what stands outside the loops whose passes made it.
Ref resolve(const Outline& outline, Ref ref, std::size_t width);

// Gives a statement with a body the key, numbers and references of that body, which loses them.
void seal(Outline& outline, Item& item, Keys& keys);

// Gives the statements in a body, and in theirs, what sealing took from them; and takes it again.
void open(Item& item);
void close(Item& item);

// Makes rows at least so wide.
void widen(Item& item, std::size_t width);

}  // namespace kiln::emit
