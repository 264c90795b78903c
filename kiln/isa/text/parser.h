// The parser behind parse(): recursive descent, one token ahead.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/base/function_ref.h"
#include "kiln/isa/program.h"
#include "kiln/isa/table.h"
#include "kiln/isa/text/lexer.h"
#include "kiln/isa/text/parse.h"
#include "kiln/isa/text/text_limits.h"

namespace kiln::isa {

class Parser {
 public:
  Parser(std::string_view text, std::string file_name, const ParseOptions& options)
      : lexer_(text, std::move(file_name)), options_(options) {}
  Program run();

 private:
  // parse.cpp: statements
  void header();
  int header_number(std::string_view word, int least, int most, int otherwise);
  void statements(Block& body, int depth);
  Node statement(int depth);
  void register_declaration();
  TensorId tensor_declaration();
  Tensor tensor_type();
  std::vector<std::int64_t> shape();
  InstructionId instruction();
  InstructionId labelled_instruction();
  void arguments(const InstructionInfo& row, Instruction& inst);
  void dependencies(Instruction& inst);
  LoopId loop(int depth);
  void static_range(Loop& loop);
  void dynamic_range(Loop& loop);
  LocId location(int line);
  bool may_show(const std::string& file);
  void declare(const Token& name, std::unordered_map<std::string, std::uint32_t>& names, std::size_t id);

  // parse_values.cpp: values
  Arg value(const ParamInfo& param);
  Arg tile(const ParamInfo& param);
  Arg attribute(const ParamInfo& param);
  Arg enumerator(const ParamInfo& param);
  Arg number(const ParamInfo& param);
  Arg access_list();
  Arg integer_list();
  Arg real_list();
  Arg pattern();
  Arg groups();
  Arg list_value(AttrType type);
  bool at_number() const;
  double real();
  std::int64_t integer();
  std::int64_t with_sign(const Token& integer, bool negative) const;
  Arg integer_arg();
  Arg register_arg();
  RegisterId register_id();

  // parse_access.cpp: accesses
  std::uint32_t pooled_access(int depth);
  Access access(int depth);
  void access_dims(Access& a, int first);
  void access_partition(Access& a);
  void access_option(Access& a, std::vector<std::string>& seen, int depth);
  std::uint32_t scalar_source(Dynamic& d, int depth);
  Affine affine();
  void affine_part(bool negative, std::int64_t& constant, std::vector<Term>& terms);
  LoopId variable();
  TensorId tensor_id();
  DType dtype();

  // Tokens
  bool accept(std::string_view punctuation);
  bool accept_word(std::string_view word);
  Token expect(std::string_view punctuation);
  Token expect_name(const char* what);
  Token expect_string(const char* what);
  void expect_word(std::string_view word);
  std::uint64_t unsigned_integer(std::uint64_t most, const char* what);
  void list(std::string_view open, std::string_view close, FunctionRef<void(std::size_t)> item);
  [[noreturn]] void unexpected(const std::string& expected);
  [[noreturn]] void wrong_value(const ParamInfo& param, const std::string& allowed);
  void check_depth(int depth);

  Lexer lexer_;
  const ParseOptions options_;
  Program program_;
  std::unordered_map<std::string, std::uint32_t> tensors_, registers_, variables_;
  std::unordered_map<std::uint64_t, InstructionId> labels_;
  std::unordered_map<std::string, bool> shown_;  // by file: may its lines be shown?
};

// "did you mean x?", or nothing.
std::string did_you_mean(std::string_view best);
std::string describe(const Token& token);

}  // namespace kiln::isa
