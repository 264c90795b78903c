// Random arguments of instructions, for a program in the making.
#pragma once

#include <vector>

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"
#include "tests/programs/random_program.h"

namespace kiln::isa {

inline constexpr std::int64_t kPartitions[] = {1, 4, 16, 32, 64, 128};
inline constexpr std::int64_t kFree[] = {1, 2, 5, 8, 16, 33, 64, 256};
inline constexpr int kFreeRegisters = 3;  // the first registers of a program: any instruction may write them

Arg integer_arg(std::int64_t value, Arg::Kind kind = Arg::Kind::integer);
Arg register_arg(RegisterId r);

class RandomOperands {
 public:
  RandomOperands(Choices& choices, const RandomProgramOptions& options, Program& program);

  // The shape that most tensors have.
  std::vector<std::int64_t> usual_shape() const { return {partitions_, free_}; }
  // Chooses the shape of the next instruction's operands.
  void next_shape();

  // An argument for the parameter. The access of a tile has tensor kNone when no tensor in sight suits.
  Arg value(const ParamInfo& param);
  Arg attribute(const ParamInfo& param);
  Arg tile(const Access& access);
  Arg integers(const std::vector<std::int64_t>& values);

  std::vector<TensorId> visible;  // tensors in sight
  std::vector<LoopId> variables;  // static loops around

 private:
  std::int64_t any_integer();
  double any_real();
  std::vector<std::int64_t> numbers(std::int64_t count);
  std::vector<std::int64_t> shuffle();
  Arg real();
  Arg reals();
  Arg reg();

  std::vector<TensorId> suitable(const ParamInfo& param, bool as_it_is) const;
  Access access(const ParamInfo& param, bool column, bool may_move);
  Access shaped(TensorId id, DType dtype, std::int64_t columns, bool may_move);
  Access scattered(TensorId id, DType dtype, bool may_move);
  Affine affine(std::int64_t room);
  std::uint32_t dynamic(TensorId id, std::int64_t row_elements);
  Dynamic dynamic_by_tile(bool on_chip, bool scalar);
  DType other_dtype(const ParamInfo& param, TensorId id);
  std::int64_t row_bytes(TensorId id) const;

  Choices& c_;
  const RandomProgramOptions& options_;
  Program& p_;
  std::int64_t partitions_, free_;
  std::int64_t rows_ = 1, columns_ = 1;  // of the instruction in the making
};

}  // namespace kiln::isa
