// Values of the text form: accesses, offsets, arguments.
#pragma once

#include <string>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"

namespace kiln::isa {

class ValuePrinter {
 public:
  explicit ValuePrinter(const Program& program) : program_(program) {}

  std::string loop_name(LoopId loop) const;
  std::string tensor_name(TensorId tensor) const;
  std::string register_name(std::int64_t reg) const;
  // Names of loops that differ from their variables, by LoopId; empty when there are none.
  void rename_loops(std::vector<std::string> names) { loop_names_ = std::move(names); }

  void affine(std::string& out, const Affine& a) const;
  // `spell_out`: with its pattern even when that is the whole tensor.
  void access(std::string& out, const Access& a, int depth = 0, bool spell_out = false) const;
  void arg(std::string& out, const ParamInfo& param, const Arg& a) const;
  void call(std::string& out, const Instruction& instruction) const;  // op(param=value, …) name="…"

 private:
  void dims(std::string& out, const Access& a, int first) const;
  void dynamic(std::string& out, const Access& a, int depth) const;
  void accesses(std::string& out, const Arg& a) const;
  void integers(std::string& out, const Arg& a) const;
  void pattern(std::string& out, const Arg& a) const;
  void groups(std::string& out, const Arg& a) const;
  void reals(std::string& out, const Arg& a) const;

  const Program& program_;
  std::vector<std::string> loop_names_;
};

}  // namespace kiln::isa
