#include "python/src/trace.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>

#include "kiln/check/placement.h"
#include "kiln/isa/instructions/shared/sendrecv.h"
#include "python/src/convert.h"
#include "python/src/error.h"
#include "python/src/spare_lists.h"

namespace kiln::python {
namespace {
thread_local TraceRef active;
}

Trace* current_trace_or_null() { return active.get(); }

Trace& current_trace(const char* what) {
  if (!active)
    refuse(nki_rules::kInsideKernel, fmt::format("`{}` called outside a kernel", what),
           "call it from a function that runs under nki.simulate(kernel)(...) or kernel(...)");
  return *active;
}

void check_owner(const Trace& trace, const Trace* owner, const char* what) {
  if (owner != &trace)
    refuse(nki_rules::kOwnTensors, fmt::format("a {} of another kernel run", what),
           "pass arrays into the kernel; do not keep tensors between runs");
}

Trace::Trace(std::string name, Target target, int lnc, int program_id, std::int64_t max_instructions)
    : kernel(std::move(name), target),
      arch(kiln::arch(target)),
      lnc(lnc),
      program_id(program_id),
      max_instructions_(max_instructions) {
  take_spare_lists(kernel.program());
  if (lnc == 2) kernel.pair();
}

Trace::~Trace() { leave_spare_lists(kernel.program()); }

isa::LocId Trace::here() {
  const isa::LocId loc = locator_.locate(kernel.program());
  kernel.at(loc);
  return loc;
}

// Of names that were made of others, only how many there are is kept: base_2, base_4, ...
std::string Trace::unique_name(const std::string& base) {
  const auto [it, is_new] = names_.try_emplace(base, 0);
  int& count = it->second;
  if (is_new && was_made(base)) count = 1;
  if (!count++) return base;
  std::string name;
  do {
    name = base;
    name += '_';
    name += std::to_string(count);
    count += 2;
  } while (names_.contains(name));
  --count;
  return name;
}

// Whether a name was made of another one.
bool Trace::was_made(const std::string& name) const {
  const std::size_t end = name.rfind('_');
  if (end == std::string::npos) return false;
  const std::string number = name.substr(end + 1);
  int parsed = 0;
  const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), parsed);
  if (error != std::errc() || rest != number.data() + number.size() || std::to_string(parsed) != number) return false;
  const auto base = names_.find(name.substr(0, end));
  return base != names_.end() && parsed >= 2 && parsed % 2 == 0 && parsed < base->second;
}

namespace {

std::string shape_help(Memory memory, const isa::Shape& shape) {
  if (is_on_chip(memory) && shape.size() == 1)
    return fmt::format("the first dimension is the partition dimension: (1, {}){}", shape[0],
                       shape[0] == 1 ? std::string() : fmt::format(" or ({}, 1)", shape[0]));
  if (static_cast<int>(shape.size()) > isa::max_rank(is_on_chip(memory)))
    return "fold neighbouring dimensions, (128, a * b, c), and index them with i * b + j; or keep a list of "
           "tiles";
  if (shape.empty()) return is_on_chip(memory) ? "write (1, 1) for one element" : "write (1,) for one element";
  return "leave the code out for empty shapes";
}

}  // namespace

Tensor Trace::tensor(Memory memory, isa::Role role, isa::Shape shape, DType dtype, std::string name,
                     std::optional<isa::Address> address) {
  const isa::LocId loc = here();
  const std::size_t least = is_on_chip(memory) ? 2 : 1;
  if (shape.size() < least || static_cast<int>(shape.size()) > isa::max_rank(is_on_chip(memory)) ||
      std::ranges::any_of(shape, [](std::int64_t n) { return n < 1; }))
    refuse(nki_rules::kTensorShape,
           fmt::format("shape ({}{}) in {}", fmt::join(shape, ", "), shape.size() == 1 ? "," : "", kiln::name(memory)),
           shape_help(memory, shape));
  if (name.empty()) name = locator_.assigned_name();
  if (name.empty()) name = is_hbm(memory) ? "hbm" : std::string(kiln::name(memory));
  name = unique_name(name);
  // Here, so that the line of the tensor is told and not that of its use.
  if (address) {
    found_.clear();
    check::check_tensor(
        kernel.program(),
        {.name = name, .memory = memory, .dtype = dtype, .role = role, .shape = shape, .address = address, .loc = loc},
        arch, found_);
    if (!found_.empty()) throw Error(found_);
  }
  return {shared_from_this(), kernel.tensor(memory, role, std::move(shape), dtype, {name, address})};
}

// A core of a pair does not send to itself. Only here is it known which core the program is for.
void Trace::check_rank(const isa::Instruction& inst) {
  const isa::InstView view(kernel.program(), inst);
  const int receiver = view.facts().exchange.to;
  if (receiver < 0 || lnc != 2 || !found_.empty()) return;
  const std::int64_t to = view.integer(receiver);
  if (to == program_id)
    found_.push_back(
        broken(view, arch, isa::kSendrecvRanks,
               {.found = fmt::format("core {} has send_to_rank {}", program_id, to), .operand = "send_to_rank"}));
}

Instruction Trace::issue(std::string name) {
  isa::Kernel::Handle handle = kernel.end();
  isa::Program& program = kernel.program();
  found_.clear();
  check_instruction(program, program.instructions.back(), arch, sound_, found_);
  check_rank(program.instructions.back());
  bool failed = false;
  for (const Diagnostic& d : found_) failed |= d.severity == Severity::error;
  if (failed) {
    kernel.abandon();
    std::erase_if(found_, [](const Diagnostic& d) { return d.severity != Severity::error; });
    throw Error(found_);
  }
  if (static_cast<std::int64_t>(program.instructions.size()) > max_instructions_)
    refuse(nki_rules::kBoundedSize, fmt::format("{} instructions and no end", max_instructions_),
           "look for a Python loop that does not stop; KILN_MAX_INSTRUCTIONS raises the limit");
  if (!name.empty()) handle.named(std::move(name));
  if (no_reorder_) {
    if (last_ordered_) handle.depends_on({{&kernel, *last_ordered_}});
    last_ordered_ = handle.id();
  }
  return {shared_from_this(), handle.id()};
}

std::vector<std::pair<SourceLoc, std::int64_t>> Trace::places() const {
  const isa::Program& p = kernel.program();
  std::vector<std::pair<SourceLoc, std::int64_t>> found;
  std::vector<std::int64_t> count(p.locs.size());
  for (const isa::Instruction& inst : p.instructions) ++count[inst.loc];
  for (std::size_t loc = 0; loc < count.size(); ++loc) {
    if (count[loc]) found.emplace_back(p.locs[loc], count[loc]);
  }
  return found;
}

std::vector<isa::InstructionId> Trace::named(const std::string& name) const {
  std::vector<isa::InstructionId> found;
  const isa::Program& p = kernel.program();
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    const std::uint32_t label = p.instructions[i].name;
    if (label != isa::kNone && p.strings[label] == name) found.push_back(static_cast<isa::InstructionId>(i));
  }
  if (found.empty())
    refuse(nki_rules::kSchedule, fmt::format("no instruction `{}`", name), "give the instruction name=");
  return found;
}

// A name may stand in a loop: each consumer then waits for the latest producer before it.
void Trace::schedule(const std::string& consumer, const std::vector<std::string>& producers) {
  for (const std::string& producer : producers) {
    const auto sources = named(producer);
    for (const isa::InstructionId id : named(consumer)) {
      const auto after = std::lower_bound(sources.begin(), sources.end(), id);
      if (after == sources.begin())
        refuse(nki_rules::kSchedule,
               consumer == producer ? fmt::format("`{}` would wait for itself", consumer)
                                    : fmt::format("`{}` comes before `{}`", consumer, producer),
               "edges are (consumer, producer), and Kiln keeps the order in which the kernel issues "
               "instructions: "
               "issue the producer first");
      isa::Kernel::Handle(&kernel, id).depends_on({{&kernel, *(after - 1)}});
    }
  }
}

namespace {

void bind_instruction(nb::module_& m) {
  nb::class_<Instruction>(m, "NkiInstruction", "An issued instruction.")
      .def_ro("id", &Instruction::id)
      .def(
          "leave_open", [](Instruction& me) { me.trace->kernel.program().instructions[me.id].left_open = true; },
          "For nl.load and nl.store: their queue is the compiler's choice.")
      .def(
          "depends_on",
          [](nb::handle self, nb::args producers) {
            auto& me = nb::cast<Instruction&>(self);
            for (nb::handle p : producers) {
              if (!nb::isinstance<Instruction>(p))
                refuse(nki_rules::kDependencies, fmt::format("a {}", kind_of(p)), "pass what nki.isa functions return");
              const auto& producer = nb::cast<const Instruction&>(p);
              check_owner(*me.trace, producer.trace.get(), "instruction");
              isa::Kernel::Handle(&me.trace->kernel, me.id).depends_on({{&me.trace->kernel, producer.id}});
            }
            return nb::borrow(self);
          },
          "This instruction runs after each of the producers; returns itself.")
      .def("__repr__", [](const Instruction& i) { return fmt::format("<NkiInstruction {}>", i.id); });
}

Register open_fori_loop(Trace& t, nb::handle lower, nb::handle upper, IntArg step) {
  t.here();
  const isa::Reg r =
      t.kernel.open_fori_loop(to_int_or_reg(t, lower), to_int_or_reg(t, upper), to_int(step, "the step of a loop"));
  return {t.shared_from_this(), r.id};
}

void bind_trace_class(nb::module_& m) {
  nb::class_<Trace>(m, "Trace", nb::dynamic_attr())
      .def("__init__",
           [](Trace* t, TextArg name, std::string target, int lnc, int program_id, std::int64_t max_instructions) {
             Target parsed;
             if (!parse_target(target, parsed))
               refuse(nki_rules::kTarget, fmt::format("`{}`", target),
                      "set NEURON_PLATFORM_TARGET_OVERRIDE to trn1, trn2 or trn3", Category::config);
             new (t) Trace(std::move(name.value), parsed, lnc, program_id, max_instructions);
           })
      .def_ro("lnc", &Trace::lnc)
      .def_ro("program_id", &Trace::program_id)
      .def_prop_rw(
          "nki", [](const Trace& t) { return t.kernel.program().nki; },
          [](Trace& t, int minor) { t.kernel.set_nki(minor); })
      .def_prop_ro(
          "chip", [](const Trace& t) { return &t.arch; }, nb::rv_policy::reference)
      .def_prop_ro("instructions", [](const Trace& t) { return t.kernel.program().instructions.size(); })
      .def(
          "places",
          [](const Trace& t) {
            nb::list out;
            for (const auto& [loc, count] : t.places())
              out.append(nb::make_tuple(loc.file, loc.line, loc.stack, count));
            return out;
          },
          "(file, line, callers, instructions) of every place that has issued some.")
      .def_prop_ro("open_loops", [](const Trace& t) { return t.kernel.open_loops(); })
      .def("open_fori_loop", &open_fori_loop)
      .def("open_while_loop",
           [](Trace& t, const Register& condition) {
             check_owner(t, condition.trace.get(), "register");
             t.here();
             t.kernel.open_while_loop({condition.id});
           })
      .def(
          "usually", [](Trace& t, std::int64_t passes) { t.kernel.usually(passes); },
          "How many passes the innermost open loop usually has; `kiln time` counts with them.")
      .def("close_loop", [](Trace& t) { t.kernel.close_loop(); })
      .def("add_probe", &Trace::add_probe, nb::arg("tensor"))
      .def("new_register",
           [](Trace& t) {
             return Register{t.shared_from_this(), t.kernel.new_register().id};
           })
      .def(
          "note_loop",
          [](Trace& trace, isa::InstructionId first, std::int64_t passes) {
            isa::Program& program = trace.kernel.program();
            const auto end = static_cast<isa::InstructionId>(program.instructions.size());
            if (end > first && passes > 1) program.traced_loops.push_back({first, end, passes});
          },
          "The instructions since `first` are so many passes of a loop.")
      .def("enter_no_reorder", &Trace::enter_no_reorder)
      .def("leave_no_reorder", &Trace::leave_no_reorder)
      .def_prop_ro("in_no_reorder", &Trace::in_no_reorder)
      .def(
          "schedule",
          [](Trace& t, const TextArg& consumer, const std::vector<TextArg>& producers) {
            std::vector<std::string> names;
            for (const TextArg& p : producers) names.push_back(p.value);
            t.schedule(consumer.value, names);
          },
          "Instructions named `consumer` run after those named in `producers`.");
}

void bind_register(nb::module_& m) {
  nb::class_<Register>(m, "VirtualRegister", "A 32-bit register of an engine's sequencer.")
      .def_ro("id", &Register::id)
      .def_prop_ro("trace", [](const Register& r) { return r.trace; })
      .def_prop_ro("is_frozen", [](const Register& r) { return r.trace->kernel.program().registers[r.id].frozen; })
      .def("thaw", [](const Register& r) { r.trace->kernel.thaw({r.id}); })
      .def_prop_ro("name", [](const Register& r) { return r.trace->kernel.program().registers[r.id].name; })
      .def("__repr__", [](const Register& r) {
        return fmt::format("<VirtualRegister {}>", r.trace->kernel.program().registers[r.id].name);
      });
}

}  // namespace

void bind_trace(nb::module_& m) {
  bind_instruction(m);
  bind_trace_class(m);
  bind_register(m);
  m.def(
      "activate", [](std::shared_ptr<Trace> trace) { active = std::move(trace); }, nb::arg().none());
  m.def("active_trace", [] { return active; });
  m.attr("nki_versions") = nb::make_tuple(isa::kOldestNki, isa::kNewestNki);  // n of 0.n.0
}

}  // namespace kiln::python
