// Kernel: builds a Program from C++. A kernel reads like its NKI source: tensors, views with vendor words,
// one method per instruction with its arguments by name, and loops that stay rolled.
//
//   Kernel k("scale", Target::trn2);
//   auto x = k.input("x", {1024, 512}, DType::float32);
//   auto y = k.output("y", {1024, 512}, DType::float32);
//   k.loop(8, [&](Index i) {
//     auto t = k.sbuf({128, 512}, DType::float32);
//     k.dma_copy({.dst = t, .src = x(ds(i * 128, 128))});
//     k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 2.0});
//     k.dma_copy({.dst = y(ds(i * 128, 128)), .src = t});
//   });
//   Program program = k.finish();
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "kiln/isa/enums.h"
#include "kiln/isa/program.h"
#include "kiln/num/op.h"

namespace kiln::isa {

class Kernel;
using Shape = std::vector<std::int64_t>;

// An integer that is affine in loop variables: i * 128 + 4.
class Index {
 public:
  Index(std::int64_t constant = 0) : constant_(constant) {}  // NOLINT: implicit on purpose
  Index(int constant) : constant_(constant) {}               // NOLINT
  static Index variable(LoopId loop);
  std::int64_t constant() const { return constant_; }
  const std::vector<Term>& terms() const { return terms_; }
  bool is_constant() const { return terms_.empty(); }
  Index& operator+=(const Index& other);
  friend Index operator+(Index a, const Index& b) { return a += b; }
  friend Index operator-(Index a, const Index& b) { return a += b * -1; }
  friend Index operator*(Index a, std::int64_t factor);
  friend Index operator*(std::int64_t factor, const Index& a) { return a * factor; }

 private:
  std::int64_t constant_;
  std::vector<Term> terms_;
};

// One dimension of a slice: nl.ds(start, size), all of it, or a single index (drops the dimension, except dim
// 0 on chip).
struct Slice {
  Index start;
  std::int64_t size = 0;
  std::int64_t step = 1;
  enum class Kind : std::uint8_t { range, whole, index } kind = Kind::range;
  Slice(Index start, std::int64_t size, std::int64_t step = 1) : start(std::move(start)), size(size), step(step) {}
  Slice(Index index) : start(std::move(index)), size(1), kind(Kind::index) {}  // NOLINT: implicit on purpose
  Slice(std::int64_t index) : Slice(Index(index)) {}                           // NOLINT
  Slice(int index) : Slice(Index(index)) {}                                    // NOLINT
  explicit Slice(Kind k) : kind(k) {}
};
inline Slice ds(Index start, std::int64_t size, std::int64_t step = 1) { return {std::move(start), size, step}; }
inline const Slice all{Slice::Kind::whole};

struct Reg {
  RegisterId id = kNone;
};

// A tensor seen through a pattern. Copies are cheap; writing through a view writes the tensor.
class View {
 public:
  View() = default;
  TensorId tensor() const { return access_.tensor; }
  DType dtype() const { return access_.dtype; }
  Memory memory() const { return memory_; }
  bool on_chip() const { return is_on_chip(memory_); }
  int rank() const { return access_.rank; }
  std::int64_t dim(int i) const { return access_.dims[i].count; }
  Shape shape() const;
  const Access& access() const { return access_; }
  // As nki counts them: elements of the whole tensor, so that partitions are a row of elements apart.
  std::int64_t stride(int i) const;
  std::int64_t offset() const;  // without loop variables and run-time parts

  // t(ds(i * 128, 128), all, 3): missing trailing dimensions are whole.
  template <class... Slices>
  View operator()(const Slices&... slices) const {
    return index(std::vector<Slice>{Slice(slices)...});
  }
  View index(const std::vector<Slice>& slices) const;
  View slice(int dim, const Index& start, std::int64_t size, std::int64_t step = 1) const;
  View select(int dim, const Index& index) const;
  View permute(const std::vector<int>& dims) const;
  View broadcast(int dim, std::int64_t size) const;
  View expand_dim(int dim) const;
  View squeeze_dim(int dim) const;
  View reshape_dim(int dim, const Shape& sizes) const;
  View flatten_dims(int first, int last) const;
  View reshape(const Shape& shape) const;  // any shape that needs no copy
  View view(DType dtype) const;            // reinterprets the bytes; the last dimension scales

  // Explicit pattern over the tensor's storage, outermost first; on chip the first pair is the partition
  // dimension, its step the tensor's free size. Steps and offset count elements of `dtype` (the view's when
  // not given).
  View ap(const std::vector<Dim>& pattern, const Index& offset = 0, std::optional<DType> dtype = {}) const;
  // Run-time addresses. `scale` elements per unit of the value.
  View scalar_offset(Reg reg, std::int64_t scale) const;
  View scalar_offset(const View& value, std::int64_t scale) const;
  View vector_offset(const View& indices) const;                      // rows of dim 0 by index; HBM
  View vector_offset(const View& indices, std::int64_t scale) const;  // row w starts at indices[w] * scale
  View indirect(const View& indices, std::int64_t count) const;       // free elements by index; on chip, gen4

 private:
  friend class Kernel;
  Kernel* kernel_ = nullptr;
  Memory memory_ = Memory::sbuf;
  Access access_;
  std::vector<Term> partition_terms_, offset_terms_;
  void move(int dim, const Index& start);
  bool is_gathered(int dim) const;
  int first_free() const;
  std::int64_t row_elements() const;
};

// A number, or a tile with one value per partition.
class Operand {
 public:
  Operand() = default;
  Operand(double value) : kind_(Arg::Kind::real), real_(value) {}              // NOLINT: implicit on purpose
  Operand(float value) : Operand(static_cast<double>(value)) {}                // NOLINT
  Operand(int value) : kind_(Arg::Kind::integer), integer_(value) {}           // NOLINT
  Operand(std::int64_t value) : kind_(Arg::Kind::integer), integer_(value) {}  // NOLINT
  Operand(View view) : kind_(Arg::Kind::access), view_(std::move(view)) {}     // NOLINT

 private:
  friend class Kernel;
  Arg::Kind kind_ = Arg::Kind::none;
  double real_ = 0;
  std::int64_t integer_ = 0;
  View view_;
};

// Types of attributes as instructions.def names them.
using Int = std::int64_t;
using Float = double;
using Number = Operand;
using OptBool = std::optional<bool>;
using OptAlu = std::optional<AluOp>;
using OptInt = std::optional<std::int64_t>;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
using Pattern = std::vector<Dim>;
using Groups = std::vector<std::vector<std::int64_t>>;
class IntOrReg {
 public:
  IntOrReg(std::int64_t value) : value(value) {}  // NOLINT: implicit on purpose
  IntOrReg(int value) : value(value) {}           // NOLINT
  IntOrReg(Reg reg) : reg(reg) {}                 // NOLINT
  std::int64_t value = 0;
  std::optional<Reg> reg;
};

// One struct of named arguments per instruction.
#define KILN_INSTRUCTION(name, ...) struct name##_args {
#define KILN_OUT(param, ...) View param;
#define KILN_INOUT(param, ...) View param;
#define KILN_OPT_OUT(param, ...) std::optional<View> param = {};
#define KILN_IN(param, ...) View param;
#define KILN_INS(param, ...) std::vector<View> param;
#define KILN_OUTS(param, ...) std::vector<View> param;
#define KILN_SCALAR_OR_IN(param, ...) Operand param;
#define KILN_OPT_SCALAR_OR_IN(param, ...) Operand param = {};
#define KILN_ARG(param, type) type param;
#define KILN_DEFAULT(param, type, ...) type param = __VA_ARGS__;
#define KILN_END(name) \
  }                    \
  ;
#include "kiln/isa/instructions.def"
#include "kiln/isa/undef_instruction_macros.h"

struct TensorOptions {
  std::string name = {};
  std::optional<Address> address = {};
};

class Kernel {
 public:
  explicit Kernel(std::string name, Target target = Target::trn2);
  Kernel(const Kernel&) = delete;

  // A piece of a kernel whose inputs and outputs may live on chip.
  Kernel& fragment();
  // One of the two programs of a logical core pair.
  Kernel& pair();

  using Where = std::source_location;
  View input(std::string name, Shape shape, DType dtype, Memory memory = Memory::hbm, Where at = Where::current());
  View output(std::string name, Shape shape, DType dtype, Memory memory = Memory::shared_hbm,
              Where at = Where::current());
  View inout(std::string name, Shape shape, DType dtype, Memory memory = Memory::hbm, Where at = Where::current());
  View sbuf(Shape shape, DType dtype, TensorOptions options = {}, Where at = Where::current());
  View psum(Shape shape, DType dtype, TensorOptions options = {}, Where at = Where::current());
  View hbm(Shape shape, DType dtype, TensorOptions options = {}, Where at = Where::current());
  View tensor(Memory memory, Role role, Shape shape, DType dtype, TensorOptions options, Where at = Where::current());

  // Rolled loops. The body is called once, with the loop's variable.
  void loop(std::int64_t count, const std::function<void(Index)>& body, Where at = Where::current());
  void loop(std::int64_t lower, std::int64_t upper, std::int64_t step, const std::function<void(Index)>& body,
            Where at = Where::current());
  // Covers 0 … total in tiles: one rolled loop over the whole tiles, then the remainder. body(start, size).
  void tiles(std::int64_t total, std::int64_t tile, const std::function<void(Index, std::int64_t)>& body,
             Where at = Where::current());

  // Loops on registers: the trip count is known only at run time.
  Reg reg(OptInt value = {}, Where at = Where::current());  // register_alloc
  void fori_loop(IntOrReg lower, IntOrReg upper, const std::function<void(Reg)>& body, std::int64_t step = 1,
                 Where at = Where::current());
  void while_loop(Reg condition, const std::function<void()>& body, Where at = Where::current());
  // How many passes timing counts with, of the loop on a register whose body this is, unless it is told.
  void usually(std::int64_t passes) { program_.loops[open_loops_.back()].usual = passes; }

  // Names the last instruction; makes it run after others.
  class Handle {
   public:
    Handle(Kernel* kernel, InstructionId id) : kernel_(kernel), id_(id) {}
    Handle& named(std::string name);
    Handle& depends_on(std::initializer_list<Handle> producers);
    InstructionId id() const { return id_; }

   private:
    Kernel* kernel_;
    InstructionId id_;
  };

  // One method per instruction: k.tensor_copy({.dst = a, .src = b}).
#define KILN_INSTRUCTION(name, ...) Handle name(const name##_args& args, Where at = Where::current());
#define KILN_OUT(...)
#define KILN_INOUT(...)
#define KILN_OPT_OUT(...)
#define KILN_IN(...)
#define KILN_INS(...)
#define KILN_OUTS(...)
#define KILN_SCALAR_OR_IN(...)
#define KILN_OPT_SCALAR_OR_IN(...)
#define KILN_ARG(...)
#define KILN_DEFAULT(...)
#define KILN_END(...)
#include "kiln/isa/instructions.def"
#include "kiln/isa/undef_instruction_macros.h"

  // All of another program, here. `bound` stands for its arguments and results, in the order of its tensors.
  void splice(const Program& program, const std::vector<View>& bound);

  const Program& program() const { return program_; }
  Program& program() { return program_; }
  Block& block();  // statements of the innermost loop that is open
  Program finish() { return std::move(program_); }

  // For front ends that walk the table: places are given by `at`, an instruction is begin, one push per
  // parameter, end; a device loop is open_…, statements, close_loop.
  void at(LocId loc) { fixed_loc_ = loc; }
  void begin(Opcode opcode, const Where& at = Where::current());
  Handle end();
  void abandon();  // takes the last instruction back
  Reg open_fori_loop(IntOrReg lower, IntOrReg upper, std::int64_t step, const Where& at = Where::current());
  void open_while_loop(Reg condition, const Where& at = Where::current());
  void close_loop() { open_loops_.pop_back(); }
  std::size_t open_loops() const { return open_loops_.size(); }
  Reg new_register(bool frozen = false);  // without the register_alloc that begins its life
  void thaw(Reg reg) { program_.registers[reg.id].frozen = false; }
  void set_nki(int minor) { program_.nki = minor; }
  void push_default(const Arg& arg) { program_.args.push_back(arg); }
  void push(const View& view);
  void push(const std::vector<View>& views);
  void push(const std::optional<View>& view);
  void push(const Operand& operand);
  void push(bool value);
  void push(std::int64_t value);
  void push(double value);
  void push(const Ints& values);
  void push(const Floats& values);
  void push(const Pattern& pattern);
  void push(const Groups& groups);
  void push(Reg reg);
  void push(const IntOrReg& value);
  void push(const OptBool& value);
  void push(const OptAlu& value);
  void push(const OptInt& value);
  template <class E>
  requires std::is_enum_v<E>
  void push(E value) { push_enum(static_cast<std::int64_t>(value)); }
  void push_enum(std::int64_t value);

 private:
  friend class View;
  std::uint32_t add_access(const View& view);
  std::uint32_t share_access(const View& view);
  Affine add_affine(std::int64_t constant, const std::vector<Term>& terms);
  LocId locate(const Where& at);
  void open_loop(LoopId id);

  Program program_;
  Instruction current_;
  std::vector<LoopId> open_loops_;
  std::vector<std::uint32_t> last_access_;  // of each tensor
  std::optional<LocId> fixed_loc_;
  const char* last_file_ = nullptr;
  int last_line_ = 0;
  LocId last_loc_ = 0;
  std::uint32_t next_name_ = 0;
};

}  // namespace kiln::isa
