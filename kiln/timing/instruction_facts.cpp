#include "kiln/timing/instruction_facts.h"

namespace kiln::timing {
using namespace isa;

bool meets_other_core(const InstView& inst) { return inst.row().group == "multicore"; }

bool is_stationary(const InstView& inst, int param) {
  const std::string_view name = inst.row().params[static_cast<std::size_t>(param)].name;
  return name == "stationary" || name == "data";
}

bool sets_register(const InstView& inst, int param) {
  return inst.row().group == "register" && param == 0 && inst.inst().opcode != Opcode::register_store;
}

bool loads_register_from_hbm(const InstView& inst) {
  return inst.inst().opcode == Opcode::register_load && inst.in_hbm(args::register_load::src);
}

int destination(const InstView& inst) { return inst.row().find_param("dst"); }

std::optional<ActFn> function_of(const InstView& inst) {
  const int op = inst.row().find_param("op");
  if (op < 0 || inst.row().params[static_cast<std::size_t>(op)].type != AttrType::ActFn) return std::nullopt;
  return inst.act(op);
}

bool is_plain_function(ActFn function) {
  return function == ActFn::copy || function == ActFn::square || function == ActFn::relu || function == ActFn::prelu ||
         function == ActFn::abs || function == ActFn::sign;
}

bool takes_argument_from_sbuf(const InstView& inst) {
  const int data = inst.row().find_param("data");
  return data >= 0 && inst.is_tile(data) && !inst.in_psum(data);
}

std::optional<ArrayTile> array_tile(const InstView& inst) {
  const int position = inst.row().find_param("tile_position"), size = inst.row().find_param("tile_size");
  if (position < 0 || inst.integers(position).size() != 2 || inst.integers(size).size() != 2) return std::nullopt;
  const auto at = inst.integers(position), extent = inst.integers(size);
  return ArrayTile{at[0], at[1], extent[0], extent[1]};
}

DgeMode asked_dge_mode(const InstView& inst) {
  const int param = inst.row().find_param("dge_mode");
  return param >= 0 ? inst.get<DgeMode>(param) : DgeMode::unknown;
}

Engine asked_engine(const InstView& inst) {
  const int param = inst.row().engine_param;
  return param >= 0 ? inst.get<Engine>(param) : Engine::unknown;
}

}  // namespace kiln::timing
