#include "kiln/emit/kernel_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "kiln/emit/access_text.h"
#include "kiln/emit/argument_text.h"
#include "kiln/emit/cursor.h"
#include "kiln/emit/emit_rules.h"
#include "kiln/emit/load_store.h"
#include "kiln/isa/default_arg.h"
#include "kiln/isa/table.h"

namespace kiln::emit {
namespace {

using ArgKind = isa::Arg::Kind;
using EntityKind = EntityInfo::Kind;

class KernelText {
 public:
  KernelText(const Statements& statements, const Border& border, Names names, std::vector<Variable> around,
             SourceLines& lines)
      : program_(statements.program),
        outline_(statements.outline),
        groups_(statements.groups),
        free_(std::move(names)),
        variables_(std::move(around)),
        lines_(lines) {
    names_.resize(outline_.entities.size());
    is_seen_.resize(outline_.entities.size());
    for (std::size_t t = 0; t < border.names.size(); ++t) {
      names_[t] = border.names[t];
      is_seen_[t] = !names_[t].empty();
    }
    for (const isa::Tensor& t : program_.tensors) tensor_names_.insert(t.name);
    name_all(outline_.items);
  }

  void run() {
    for (std::size_t i = 0; i < outline_.items.size(); ++i) {
      Cursor cursor(outline_.items[i]);
      statement(outline_.items, i, cursor);
    }
  }

 private:
  // Everything gets its name before a variable of a loop takes one.
  void name_all(const std::vector<Item>& items) {
    for (const Item& item : items) {
      if (item.variable != isa::kNone) name_entity(item.variable);
      name_all(item.body);
      for (const Entity made : item.makes) name_entity(made);
    }
  }

  void name_entity(Entity entity) {
    const EntityInfo& info = outline_.entities[entity];
    if (!names_[entity].empty() || (info.kind == EntityKind::list && !info.leaves_its_loop)) return;
    names_[entity] = free_.take(wish(entity));
  }

  std::string wish(Entity entity) const {
    const EntityInfo& info = outline_.entities[entity];
    switch (info.kind) {
      case EntityKind::tensor:
        return without_number(program_.tensors[info.source].name, info.list != isa::kNone);
      case EntityKind::reg:
        return program_.registers[info.source].name;
      case EntityKind::instruction:
        return std::string(isa::info(program_.instructions[info.source].opcode).name);
      case EntityKind::list:
        return wish(info.source) + "_list";
    }
    return "";
  }

  // A trace numbers what the source gave one name: the first one has none. What a loop makes has one name for all.
  std::string without_number(std::string name, bool is_of_loop) const {
    for (;; is_of_loop = false) {
      const std::size_t end = name.find_last_not_of("0123456789");
      const bool is_numbered = end != std::string::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
      if (!is_numbered || (!is_of_loop && !tensor_names_.contains(name.substr(0, end)))) return name;
      name.resize(end);
    }
  }

  void statement(const std::vector<Item>& block, std::size_t at, Cursor& cursor) {
    const Item& item = block[at];
    if (is_part_of_while(block, at, cursor)) return;
    name_group(block, at);
    switch (item.kind) {
      case Item::Kind::declare:
        if (!is_loaded(block, at)) declare(item, cursor);
        break;
      case Item::Kind::instruction:
        instruction(block, at, cursor);
        break;
      case Item::Kind::loop:
        loop(item, cursor);
        break;
      case Item::Kind::device_loop:
        device_loop(item, cursor);
        break;
      case Item::Kind::ordered:
        lines_.line("with nl.no_reorder():");
        body(item, cursor);
        break;
      case Item::Kind::guard:
        lines_.line(question(block, at));
        body(item, cursor);
        break;
    }
    for (const Entity made : item.makes) is_seen_[made] = true;
  }

  // The body of a function: what it makes, nobody sees outside.
  void function(const std::string& header, const Item& item, Cursor& cursor) {
    const std::vector<bool> seen_outside = is_seen_;
    if (item.variable != isa::kNone) is_seen_[item.variable] = true;
    lines_.apart();
    lines_.line(header);
    body(item, cursor);
    is_seen_ = seen_outside;
  }

  // The first instruction of a statement; null: it has none.
  static const Item* first_instruction(const Item& item) {
    if (item.kind == Item::Kind::instruction) return &item;
    for (const Item& child : item.body) {
      if (const Item* found = first_instruction(child)) return found;
    }
    return nullptr;
  }

  // Where a group begins: with what its first instruction declares, and the loops that it begins with.
  void name_group(const std::vector<Item>& block, std::size_t at) {
    if (groups_.empty()) return;
    const Item* first = nullptr;
    for (std::size_t i = at; i < block.size() && !first; ++i) {
      first = first_instruction(block[i]);
      if (block[i].kind != Item::Kind::declare) break;
    }
    if (!first || first->source >= groups_.size()) return;
    const std::string& group = groups_[first->source];
    if (group != group_ && !group.empty()) lines_.line("# " + in_one_line(group));
    group_ = group;
  }

  // At most half a line, cut between characters.
  static std::string in_one_line(std::string text) {
    for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    std::size_t end = std::min(text.size(), kColumns / 2);
    while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end);
  }

  void body(const Item& item, Cursor& cursor) {
    lines_.deeper();
    const std::size_t before = lines_.count();
    for (std::size_t i = 0; i < item.body.size(); ++i) {
      statement(item.body, i, cursor);
      if (is_loaded(item.body, i)) continue;
      for (std::size_t made = i > 0 && is_loaded(item.body, i - 1) ? i - 1 : i; made <= i; ++made) {
        if (item.kind == Item::Kind::loop && item.source == isa::kNone) collect(item, item.body[made]);
        if (item.kind == Item::Kind::guard) collect_in_loops(item.body[made]);
      }
    }
    if (lines_.count() == before) lines_.line("pass");
    lines_.back();
  }

  // What a pass of a rolled loop makes for others goes into its list.
  void collect(const Item& loop, const Item& child) {
    for (const Entity list : loop.makes) {
      if (!outline_.is_kept_list(list) || outline_.flat.contains(list)) continue;
      for (const Entity made : child.makes) {
        if (made == outline_.entities[list].source) append(list, made);
      }
    }
  }

  // What several loops make for others, in one pass of a loop around them.
  void collect_in_loops(const Item& child) {
    for (const Entity made : child.makes) {
      const auto list = outline_.flat_of.find(made);
      if (list != outline_.flat_of.end()) append(list->second, made);
    }
  }

  void append(Entity list, Entity made) { lines_.line(fmt::format("{}.append({})", names_[list], names_[made])); }

  // Whether the body of a guard runs.
  std::string question(const std::vector<Item>& block, std::size_t at) {
    const Item& guard = block[at];
    if (guard.runs_otherwise && at > 0 && block[at - 1].kind == Item::Kind::guard) return "else:";
    const std::size_t variable = guard.column - 1;
    used_[variable] = true;
    const char* is = !guard.runs_otherwise ? "==" : guard.pass == 0 ? ">" : "<";
    return fmt::format("if {} {} {}:", variables_[variable].name, is, guard.pass);
  }

  void declare(const Item& item, Cursor& cursor) {
    const isa::Tensor& t = program_.tensors[item.source];
    std::vector<std::string> arguments = ndarray_arguments(t);
    const Entity entity = item.makes[0];
    const bool is_used = outline_.entities[entity].last_use > 0;
    if (t.address) {
      const std::string partition = number(cursor), byte = number(cursor);
      arguments.push_back(fmt::format("address=({}, {})", partition, byte));
    }
    if (outline_.named.contains(item.source)) arguments.push_back("name=" + string_text(t.name));
    lines_.call(is_used ? fmt::format("{} = nl.ndarray", names_[entity]) : "nl.ndarray", arguments);
  }

  Sum sum(Cursor& cursor) { return note(Sum::of(cursor.number())); }

  // Remembers which variables are used.
  Sum note(Sum sum) {
    used_.resize(std::max(used_.size(), variables_.size()));
    for (std::size_t i = 0; i < sum.coefficients.size(); ++i) {
      if (sum.coefficients[i]) used_[i] = true;
    }
    return sum;
  }

  std::string number(Cursor& cursor) { return text_of(sum(cursor), variables_); }

  std::string ref(Cursor& cursor) {
    const Ref& r = cursor.ref();
    std::string text = names_[r.entity];
    if (!is_seen_[r.entity])
      raise(emit_rules::kTable, emit_rules::kRegister,
            {.found = fmt::format("`{}` is used where it is not known", wish(r.entity))});
    Entity list = r.entity;
    for (std::size_t i = 0; i < r.places.size();) {
      Sum place;
      for (const std::int64_t size : outline_.sizes_of(list)) {
        place = place.times(size).plus(Sum::of(std::span(r.places).subspan(i, cursor.width())));
        i += cursor.width();
      }
      text += fmt::format("[{}]", text_of(note(place), variables_));
      list = outline_.entities[list].source;
    }
    return text;
  }

  std::string access(const isa::Access& a, Cursor& cursor) {
    AccessWords words{.tensor = ref(cursor), .of = program_.tensors[a.tensor], .access = a};
    words.partition = sum(cursor);
    words.offset = sum(cursor);
    if (a.dynamic != isa::kNone) {
      const isa::Dynamic& d = program_.dynamics[a.dynamic];
      const bool is_register = d.kind == isa::Dynamic::Kind::scalar_register;
      words.run_time = {d.kind, d.scale, is_register ? ref(cursor) : access(program_.accesses[d.source], cursor),
                        is_register ? 1 : program_.accesses[d.source].rows()};
    }
    return text_of(words, variables_);
  }

  std::string argument(const isa::ParamInfo& param, const isa::Arg& arg, Cursor& cursor, bool by_channel = false) {
    std::vector<std::string> parts;
    switch (arg.kind) {
      case ArgKind::none:
        return "None";
      case ArgKind::access:
        return access(program_.accesses[arg.index], cursor);
      case ArgKind::accesses:
        for (std::uint32_t i = 0; i < arg.count; ++i)
          parts.push_back(one_of(access(program_.accesses[arg.index + i], cursor), by_channel));
        return fmt::format("[{}]", fmt::join(parts, ", "));
      case ArgKind::integer:
        return number(cursor);
      case ArgKind::real:
        return real_text(arg.real);
      case ArgKind::boolean:
        return arg.integer ? "True" : "False";
      case ArgKind::enumerator:
        return member_text(param, arg.integer);
      case ArgKind::integers:
        for (std::uint32_t i = 0; i < arg.count; ++i) parts.push_back(number(cursor));
        if (param.type == isa::AttrType::Groups) return lists(arg, parts);
        return param.type == isa::AttrType::Pattern ? pairs(parts) : tuple(parts);
      case ArgKind::reals:
        for (std::uint32_t i = 0; i < arg.count; ++i) parts.push_back(real_text(program_.reals[arg.index + i]));
        return fmt::format("[{}]", fmt::join(parts, ", "));
      case ArgKind::reg:
        return ref(cursor);
    }
    return "";
  }

  static std::string pairs(const std::vector<std::string>& parts) {
    std::string out;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
      out += fmt::format("{}[{}, {}]", i ? ", " : "", parts[i], parts[i + 1]);
    return fmt::format("[{}]", out);
  }

  static std::string one_of(const std::string& tile, bool by_channel) {
    return by_channel ? fmt::format("[{}]", tile) : tile;
  }

  // Each list stands after its length.
  std::string lists(const isa::Arg& arg, const std::vector<std::string>& parts) const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < parts.size();) {
      const std::int64_t length = program_.integers[arg.index + i];
      out.push_back(fmt::format("[{}]", fmt::join(std::span(parts).subspan(i + 1, length), ", ")));
      i += 1 + length;
    }
    return fmt::format("[{}]", fmt::join(out, ", "));
  }

  static std::string tuple(const std::vector<std::string>& parts) {
    return parts.size() == 1 ? parts[0] : fmt::format("({})", fmt::join(parts, ", "));
  }

  bool is_loaded(const std::vector<Item>& block, std::size_t at) const {
    return is_made_by_load(program_, outline_, block, at);
  }

  void load(const Item& item, Cursor& cursor) {
    const auto [tile, source] = operands(item, cursor);
    const DType made = operand(program_, item, kDestination).dtype;
    std::vector<std::string> arguments{source};
    if (made != operand(program_, item, kSource).dtype) arguments.push_back(fmt::format("dtype=nl.{}", name(made)));
    lines_.call(tile + " = nl.load", arguments);
  }

  void store(const Item& item, Cursor& cursor) {
    const auto [place, tile] = operands(item, cursor);
    lines_.call("nl.store", {place, tile});
  }

  // Destination and source. What else an instruction has is a default here, and read over.
  std::pair<std::string, std::string> operands(const Item& item, Cursor& cursor) {
    const isa::Instruction& inst = program_.instructions[item.source];
    const isa::InstructionInfo& row = info(inst.opcode);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < row.params.size(); ++i)
      texts.push_back(argument(row.params[i], program_.arg(inst, static_cast<int>(i)), cursor));
    return {texts[kDestination], texts[kSource]};
  }

  void instruction(const std::vector<Item>& block, std::size_t at, Cursor& cursor) {
    const Item& item = block[at];
    if (at > 0 && is_loaded(block, at - 1)) return load(item, cursor);
    if (is_store(program_, item)) return store(item, cursor);
    const isa::Instruction& inst = program_.instructions[item.source];
    const isa::InstructionInfo& row = info(inst.opcode);
    const isa::Facts& facts = row.semantics->facts;
    const auto defaults = isa::default_args(inst.opcode);
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < row.params.size(); ++i) {
      if (facts.declares_register && static_cast<int>(i) == facts.sets_register) continue;
      const isa::Arg& arg = program_.arg(inst, static_cast<int>(i));
      std::string text = argument(row.params[i], arg, cursor, facts.collective && facts.collective->by_channel);
      if (static_cast<int>(i) == row.group_param) text = fmt::format("ncc.ReplicaGroup({})", text);
      const bool empty = (arg.kind == ArgKind::integers || arg.kind == ArgKind::reals) && arg.count == 0;
      if (empty || is_default(arg, defaults[i], text)) continue;
      arguments.push_back(fmt::format("{}={}", row.params[i].name, text));
    }
    if (inst.name != isa::kNone) arguments.push_back(fmt::format("name={}", string_text(program_.strings[inst.name])));
    std::vector<std::string> waits;
    while (waits.size() < item.waits) waits.push_back(ref(cursor));
    lines_.call(fmt::format("{}{}.{}", assigned(item), row.is_of_ranks() ? "ncc" : "nisa", row.name), arguments,
                waits.empty() ? ")" : fmt::format(").depends_on({})", fmt::join(waits, ", ")));
  }

  // The name that the result of an instruction gets: of the register that it makes, or of itself.
  std::string assigned(const Item& item) const {
    if (item.makes.size() > 1)
      raise(emit_rules::kTable, emit_rules::kRegister,
            {.found = fmt::format("`{}`, which others wait for, gives back a register", wish(item.makes[1]))});
    const bool is_used = !item.makes.empty() && outline_.entities[item.makes[0]].last_use > 0;
    return is_used ? names_[item.makes[0]] + " = " : "";
  }

  // An integer may be a default at first and another number later.
  static bool is_default(const isa::Arg& arg, const isa::Arg& otherwise, const std::string& text) {
    if (arg.kind == ArgKind::integer && otherwise.kind == ArgKind::integer)
      return text == fmt::format("{}", otherwise.integer);
    return isa::same_scalar(arg, otherwise);
  }

  void loop(const Item& item, Cursor& cursor) {
    for (const Entity list : item.makes) {
      if (!outline_.is_kept_list(list)) continue;
      lines_.line(names_[list] + " = []");
      is_seen_[list] = true;
    }
    const std::size_t header = lines_.hold();
    const std::int64_t trips = std::max<std::int64_t>(item.trips(), 1);
    const std::string name = variable_name(item);
    variables_.push_back({name, item.lower, item.lower + (trips - 1) * item.step});
    used_.resize(variables_.size());
    used_.back() = false;
    body(item, cursor);
    const std::string range = item.step != 1 ? fmt::format("{}, {}, {}", item.lower, item.upper, item.step)
                              : item.lower   ? fmt::format("{}, {}", item.lower, item.upper)
                                             : fmt::format("{}", item.upper);
    const std::string_view kind = is_affine(item) ? "nl.affine_range" : "range";
    lines_.fill(header, fmt::format("for {} in {}({}):", used_.back() ? name : "_", kind, range));
    used_.pop_back();
    variables_.pop_back();
    free_.give_back(name);
  }

  // Whether a rolled loop is one that was traced as nl.affine_range, which tells the vendor's compiler that its passes
  // may run together.
  bool is_affine(const Item& item) const {
    if (program_.traced_loops.empty() || item.source != isa::kNone) return false;
    isa::InstructionId first = isa::kNone;
    const auto count = static_cast<isa::InstructionId>(instructions_in(item, first));
    const auto ends = std::ranges::equal_range(program_.traced_loops, first + count, {}, &isa::TracedLoop::end);
    return count > 0 && std::ranges::any_of(ends, [&](const isa::TracedLoop& loop) {
             return loop.first == first && loop.passes == item.trips();
           });
  }

  // How many instructions of a trace a statement stands for, and the first of them.
  std::int64_t instructions_in(const Item& item, isa::InstructionId& first) const {
    if (item.kind == Item::Kind::declare) return 0;
    if (item.kind == Item::Kind::instruction) {
      if (first == isa::kNone) first = item.source;
      return 1;
    }
    std::int64_t count = 0;
    for (const Item& inside : item.body) count += instructions_in(inside, first);
    return item.kind == Item::Kind::loop ? count * item.trips() : count;
  }

  std::string variable_name(const Item& item) {
    if (item.source != isa::kNone) return free_.borrow(program_.loops[item.source].variable);
    for (const char* wish : {"i", "j", "k", "m", "n", "p", "q"}) {
      if (free_.is_free(wish)) return free_.borrow(wish);
    }
    return free_.borrow("i");
  }

  void device_loop(const Item& item, Cursor& cursor) {
    const isa::Loop& loop = program_.loops[item.source];
    if (loop.kind == isa::Loop::Kind::dynamic_while) return while_loop(item, cursor);
    std::vector<std::string> arguments;
    for (const isa::Bound& bound : {loop.lower, loop.upper})
      arguments.push_back(bound.is_register ? ref(cursor) : number(cursor));
    const std::string name = free_.take("body");
    function(fmt::format("def {}({}):", name, names_[item.variable]), item, cursor);
    arguments.push_back(name);
    if (loop.step != 1) arguments.push_back(fmt::format("step={}", loop.step));
    lines_.line();
    usual_passes(loop);
    lines_.call("nl.fori_loop", arguments);
  }

  // NKI has no word for it; Kiln's tracer reads the comment.
  void usual_passes(const isa::Loop& loop) {
    if (loop.usual != isa::Loop::kUnsaid) lines_.line(fmt::format("# kiln: usually {}", loop.usual));
  }

  // nl.while_loop makes a register of its own, moves the first condition there and, behind each pass, the next one. A
  // program that has this is written without it. One that has not gets it: its condition is copied.
  void while_loop(const Item& item, Cursor& cursor) {
    const isa::RegisterId condition = program_.loops[item.source].reg;
    const std::string own = ref(cursor), name = free_.take("body");
    const auto first = first_conditions_.find(condition);
    const bool has_own = first != first_conditions_.end();
    whiles_.push_back({has_own ? &item.body : nullptr, condition, own});
    function(fmt::format("def {}({}):", name, has_own ? own : "_"), item, cursor);
    lines_.deeper();
    lines_.line("return " + whiles_.back().next);
    lines_.back();
    lines_.line();
    usual_passes(program_.loops[item.source]);
    lines_.call("nl.while_loop", {has_own ? first->second : own, name});
    whiles_.pop_back();
    first_conditions_.erase(condition);
  }

  const isa::Instruction* instruction_of(const std::vector<Item>& block, std::size_t at) const {
    const bool is_one = at < block.size() && block[at].kind == Item::Kind::instruction;
    return is_one ? &program_.instructions[block[at].source] : nullptr;
  }

  // The register that an instruction allocates without a value; kNone: it does something else.
  isa::RegisterId allocated(const isa::Instruction* inst) const {
    if (!inst || !info(inst->opcode).semantics->facts.declares_register) return isa::kNone;
    const int dst = info(inst->opcode).semantics->facts.sets_register;
    for (int i = 0; i < static_cast<int>(info(inst->opcode).params.size()); ++i) {
      if (i != dst && program_.arg(*inst, i).kind != ArgKind::none) return isa::kNone;
    }
    return program_.arg(*inst, dst).index;
  }

  // The register that an instruction moves another one into.
  isa::RegisterId moved_into(const isa::Instruction* inst) const {
    if (!inst || inst->dep_count || inst->name != isa::kNone) return isa::kNone;
    const isa::InstructionInfo& row = info(inst->opcode);
    const int dst = row.semantics->facts.sets_register, src = row.find_param(isa::AttrType::IntOrReg);
    if (!row.is_register() || dst < 0 || src < 0 || program_.arg(*inst, src).kind != ArgKind::reg) return isa::kNone;
    return program_.arg(*inst, dst).index;
  }

  bool is_while_on(const Item& item, isa::RegisterId reg) const {
    if (item.kind != Item::Kind::device_loop || item.body.empty()) return false;
    const isa::Loop& loop = program_.loops[item.source];
    return loop.kind == isa::Loop::Kind::dynamic_while && loop.reg == reg &&
           outline_.entities[outline_.reg(reg)].last_use <= item.last &&
           moved_into(instruction_of(item.body, item.body.size() - 1)) == reg;
  }

  // Whether nl.while_loop issues the statement by itself; then its conditions are read and nothing is written.
  bool is_part_of_while(const std::vector<Item>& block, std::size_t at, Cursor& cursor) {
    const isa::Instruction* inst = instruction_of(block, at);
    const isa::RegisterId made = allocated(inst);
    if (made != isa::kNone && moved_into(instruction_of(block, at + 1)) == made && at + 2 < block.size() &&
        is_while_on(block[at + 2], made)) {
      is_seen_[outline_.reg(made)] = true;
      first_conditions_[made] = "";
      return true;
    }
    const isa::RegisterId moved = moved_into(inst);
    if (moved == isa::kNone) return false;
    const auto first = first_conditions_.find(moved);
    const bool is_first = first != first_conditions_.end() && first->second.empty();
    const bool is_next = !whiles_.empty() && whiles_.back().body == &block && whiles_.back().condition == moved &&
                         at + 1 == block.size();
    if (!is_first && !is_next) return false;
    ref(cursor);
    (is_first ? first->second : whiles_.back().next) = ref(cursor);
    return true;
  }

  // A loop whose body is being written.
  struct While {
    const std::vector<Item>* body;  // that ends with the move of the next condition; null: it has no such move
    isa::RegisterId condition;
    std::string next;
  };

  const isa::Program& program_;
  const Outline& outline_;
  std::span<const std::string> groups_;
  std::string group_;  // of the last instruction
  Names free_;
  std::unordered_set<std::string> tensor_names_;
  std::vector<std::string> names_;  // by entity
  std::vector<bool> is_seen_;       // by entity: its name stands for it here
  std::vector<Variable> variables_;
  std::vector<bool> used_;                                   // by variable
  std::map<isa::RegisterId, std::string> first_conditions_;  // of loops that have registers of their own
  std::vector<While> whiles_;
  SourceLines& lines_;
};

}  // namespace

std::vector<std::string> ndarray_arguments(const isa::Tensor& t) {
  if (t.dtype == DType::float8_e3m4)
    raise(emit_rules::kTable, emit_rules::kDtype, {.found = fmt::format("`{}` is {}", t.name, name(t.dtype))});
  // An output is seen by the caller.
  const std::string_view buffer = t.role == isa::Role::output ? "shared_hbm" : name(t.memory);
  return {shape_text(t.shape), fmt::format("dtype=nl.{}", name(t.dtype)), fmt::format("buffer=nl.{}", buffer)};
}

void write_statements(const Statements& statements, const Border& border, Names names, std::vector<Variable> around,
                      SourceLines& lines) {
  KernelText(statements, border, std::move(names), std::move(around), lines).run();
}

}  // namespace kiln::emit
