// Programs of Python: finished traces and text files; checking, running, printing.
#include "kiln/isa/program.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "kiln/analysis/engine_counts.h"
#include "kiln/analysis/statements.h"
#include "kiln/analysis/writers.h"
#include "kiln/base/file.h"
#include "kiln/base/quantity_text.h"
#include "kiln/check/capacity.h"
#include "kiln/check/check_program.h"
#include "kiln/check/reserved_banks.h"
#include "kiln/check/same_work.h"
#include "kiln/check/summary.h"
#include "kiln/isa/text/parse.h"
#include "kiln/isa/text/print.h"
#include "kiln/rewrite/border.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/memory_need.h"
#include "kiln/sim/mpi_processes.h"
#include "kiln/sim/processes.h"
#include "python/src/convert.h"
#include "python/src/error.h"
#include "python/src/trace.h"
#include "python/src/verdict.h"

namespace kiln::python {
namespace {

using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Where the program first writes a tensor, by name.
std::optional<SourceLoc> first_write(const isa::Program& program, const std::string& tensor) {
  for (const isa::Instruction& inst : program.instructions) {
    const auto is_it = [&](isa::TensorId id) { return program.tensors[id].name == tensor; };
    if (analysis::writes(program, inst, is_it)) return program.locs[inst.loc];
  }
  return std::nullopt;
}

// The traced program, of a trace that has ended; returned tensors are its outputs. It stays where it is: a copy would
// take as long as checking it.
ProgramRef finish(const TraceRef& trace, const std::vector<isa::TensorId>& outputs) {
  rewrite::draw_border(trace->kernel.program(), outputs);
  return {trace, &trace->kernel.program()};
}

// What was traced so far.
ProgramRef copy_so_far(const Trace& trace) {
  return std::make_shared<isa::Program>(rewrite::with_border(trace.kernel.program(), {}));
}

// Lets Ctrl-C through while the machine runs without the interpreter.
void poll_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Calls see(core, instruction, bytes, bytes that are 1 where nobody has written).
std::function<void(const sim::Sight&)> seeing(nb::object see) {
  if (see.is_none()) return {};
  return [see](const sim::Sight& s) {
    nb::gil_scoped_acquire gil;
    see(s.core, s.instruction, nb::bytes(s.bytes.data(), s.bytes.size()),
        nb::bytes(s.is_missing.data(), s.is_missing.size()));
  };
}

// Calls describe(core, instruction, [(loop, value, whether the value is that of a variable), ...]).
std::function<std::string(int, isa::InstructionId, const sim::NamedPass&)> describing(nb::object describe) {
  if (describe.is_none()) return {};
  return [describe](int core, isa::InstructionId instruction, const sim::NamedPass& pass) {
    nb::gil_scoped_acquire gil;
    nb::list loops;
    for (const sim::NamedLoop& loop : pass) loops.append(nb::make_tuple(loop.name, loop.value, loop.is_counted));
    return nb::cast<std::string>(describe(core, instruction, loops));
  };
}

sim::NanMode nan_mode(const std::string& word) {
  sim::NanMode mode;
  if (!sim::parse_nan_mode(word, mode)) throw nb::value_error("nan is off, warn or error");
  return mode;
}

// The programs of all ranks, rank by rank.
isa::Launch launch_of(const std::vector<ProgramRef>& programs, int ranks = 1) {
  std::vector<const isa::Program*> cores;
  for (const ProgramRef& p : programs) cores.push_back(p.get());
  isa::Launch launch(std::move(cores));
  launch.ranks = ranks;
  launch.cores_per_rank /= ranks;
  return launch;
}

void require_memory(const std::vector<ProgramRef>& programs, std::int64_t max_memory, int ranks) {
  sim::require_memory(launch_of(programs, ranks), max_memory);
}

void write_file(const nb::bytes& name, const nb::bytes& data) {
  const std::string path(name.c_str(), name.size());
  try {
    write_atomically(path, {data.c_str(), data.size()});
  } catch (const WriteError& e) {
    errno = e.number();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
    throw nb::python_error();
  }
}

sim::RunReport run_programs(const std::vector<ProgramRef>& programs,
                            std::vector<std::map<std::string, Bytes>> arrays_of_ranks, int threads, bool plain,
                            std::int64_t max_iterations, std::int64_t max_memory,
                            std::vector<std::vector<isa::InstructionId>> watched, nb::object see,
                            const std::string& nan, nb::object describe_pass) {
  std::vector<sim::Buffers> buffers;
  for (auto& arrays : arrays_of_ranks) {
    sim::Buffers& of_rank = buffers.emplace_back();
    for (auto& [name, bytes] : arrays) of_rank[name] = {bytes.data(), bytes.size()};
  }
  const isa::Launch launch = launch_of(programs, static_cast<int>(arrays_of_ranks.size()));
  sim::RunOptions options;
  options.threads = threads;
  options.plain = plain;
  options.fill_unwritten = true;
  options.max_passes = max_iterations;
  options.max_memory = max_memory;
  options.poll = poll_signals;
  options.watched = std::move(watched);
  options.see = seeing(std::move(see));
  options.nan = nan_mode(nan);
  options.describe_pass = describing(std::move(describe_pass));
  nb::gil_scoped_release released;
  if (launch.ranks > 1) options.processes = sim::mpi_processes();
  return sim::run(launch, kiln::arch(launch.target()), buffers, options);
}

nb::dict describe(const isa::Tensor& t) {
  nb::dict out;
  out["name"] = t.name;
  out["memory"] = std::string(name(t.memory));
  out["dtype"] = std::string(name(t.dtype));
  out["role"] = std::string(name(t.role));
  out["shape"] = nb::tuple(nb::cast(t.shape));
  return out;
}

nb::dict memory_use(const analysis::MemoryUse& use) {
  nb::dict out;
  out["available_bytes"] = use.available_bytes;
  out["peak_bytes"] = use.peak_bytes;
  out["written_bytes"] = use.written_bytes;
  out["in_place"] = use.in_place;
  return out;
}

nb::dict dict_of(const analysis::EngineCounts& counts) {
  nb::dict out;
  analysis::for_each_engine(counts,
                            [&](const std::string& engine, std::int64_t count) { out[engine.c_str()] = count; });
  return out;
}

// Of an illegal program, whose instructions need not have an engine: {}.
nb::dict instructions_by_engine(const isa::Program& program) {
  try {
    return dict_of(analysis::count_by_engine(program, kiln::arch(program.target)));
  } catch (const Error&) {
    return {};
  }
}

void bind_run_report(nb::module_& m) {
  nb::class_<sim::RunReport>(m, "RunReport")
      .def_ro("warnings", &sim::RunReport::warnings)
      .def_ro("instructions", &sim::RunReport::instructions)
      .def_prop_ro("loops",
                   [](const sim::RunReport& r) {
                     nb::dict out;
                     for (const auto& [name, count] : r.loops)
                       out[name.c_str()] = nb::make_tuple(count.entries, count.iterations);
                     return out;
                   })
      .def_prop_ro("instructions_by_engine", [](const sim::RunReport& r) { return dict_of(r.instructions_by_engine); });
}

std::string check_summary(std::string title, const CheckedCores& cores, std::size_t errors, std::size_t warnings) {
  return check::summary(verdict_of(std::move(title), cores, errors, warnings));
}

void bind_check_report(nb::module_& m) {
  m.def("check_summary", &check_summary, nb::arg("title"), nb::arg("cores"), nb::arg("errors"), nb::arg("warnings"));
  nb::class_<check::Report>(m, "CheckReport")
      .def_ro("diagnostics", &check::Report::diagnostics)
      .def_ro("left_out", &check::Report::left_out)
      .def_prop_ro("ok", &check::Report::ok)
      .def_prop_ro("sbuf", [](const check::Report& r) { return memory_use(r.allocation.sbuf); })
      .def_prop_ro("psum", [](const check::Report& r) { return memory_use(r.allocation.psum); })
      .def("raise_if_failed", [](const check::Report& r) {
        std::vector<Diagnostic> errors;
        for (const Diagnostic& d : r.diagnostics) {
          if (d.severity == Severity::error) errors.push_back(d);
        }
        if (!errors.empty()) throw Error(std::move(errors));
      });
}

void save(const isa::Program& p, nb::handle path) {
  const auto bytes = nb::cast<nb::bytes>(nb::module_::import_("os").attr("fsencode")(path));
  const std::string name(bytes.c_str(), bytes.size());
  write_atomically(name, print(p, {.locations = true}));
}

check::Report check_with(const isa::Program& p, int reserved_psum_banks, bool strict_order, bool unwritten) {
  nb::gil_scoped_release released;
  return check::check_program(p, check::with_reserved_psum_banks(arch(p.target), reserved_psum_banks),
                              {.strict_order = strict_order, .unwritten = unwritten});
}

ProgramRef for_chip(const isa::Program& p, const Arch& chip) {
  auto copy = std::make_shared<isa::Program>(p);
  copy->target = chip.target;
  return copy;
}

// The headers of loops on registers, in order, each as far to the right as it is nested. Which register a
// loop runs on does not count.
std::vector<std::string> device_loops(const isa::Program& program) {
  const auto text = [](const isa::Bound& b) { return b.is_register ? "r" : std::to_string(b.value); };
  std::vector<std::string> out;
  analysis::for_each_statement(program, [&](const analysis::Statement& s) {
    if (!s.is_loop()) return;
    const isa::Loop& loop = program.loops[s.node.index];
    const std::string indent(2 * static_cast<std::size_t>(s.depth), ' ');
    if (loop.kind == isa::Loop::Kind::dynamic_for) {
      const std::string step = loop.step == 1 ? "" : fmt::format(" step {}", loop.step);
      out.push_back(fmt::format("{}for r = {} .. {}{}", indent, text(loop.lower), text(loop.upper), step));
    } else if (loop.kind == isa::Loop::Kind::dynamic_while) {
      out.push_back(indent + "while r");
    }
  });
  return out;
}

void bind_program_class(nb::module_& m) {
  nb::class_<isa::Program>(m, "Program",
                           "Tensors, instructions and loops of one core: what Kiln checks, runs and times.")
      .def_ro("name", &isa::Program::name)
      .def_prop_ro("target", [](const isa::Program& p) { return std::string(kiln::arch(p.target).name); })
      .def_ro("lnc", &isa::Program::lnc)
      .def_prop_ro("tensors",
                   [](const isa::Program& p) {
                     nb::list out;
                     for (const isa::Tensor& t : p.tensors) out.append(describe(t));
                     return out;
                   })
      .def_prop_ro(
          "border",
          [](const isa::Program& p) {
            nb::list out;
            for (const isa::Tensor& t : p.tensors) {
              if (t.role != isa::Role::internal) out.append(describe(t));
            }
            return out;
          },
          "The tensors that whoever runs it sees: inputs, outputs and what it changes.")
      .def("first_write", &first_write, nb::arg("tensor"), "Where it first writes a tensor, by name; or None.")
      .def_prop_ro("device_loops", &device_loops)
      .def_prop_ro("instruction_count", [](const isa::Program& p) { return p.instructions.size(); })
      .def_prop_ro("instructions_by_engine", &instructions_by_engine)
      .def("save", &save, nb::arg("path"),
           "Writes the program as text; `kiln check`, `kiln run` and `kiln time` take the file.")
      .def("check", &check_with, nb::arg("reserved_psum_banks") = 0, nb::arg("strict_order") = false,
           nb::arg("unwritten") = false)
      .def("for_chip", &for_chip, nb::arg("chip"), "The same instructions for another chip.")
      .def(
          "text", [](const isa::Program& p, bool locations) { return print(p, {.locations = locations}); },
          nb::arg("locations") = true)
      .def("__str__", [](const isa::Program& p) { return print(p, {.locations = false}); });
}

}  // namespace

void bind_program(nb::module_& m) {
  bind_run_report(m);
  bind_check_report(m);
  bind_program_class(m);
  m.def("finish", &finish, nb::arg("trace"), nb::arg("outputs"));
  m.def("copy_so_far", &copy_so_far, nb::arg("trace"));
  nb::list nan_modes;
  for (const std::string_view mode : sim::kNanModes) nan_modes.append(std::string(mode));
  m.attr("nan_modes") = nb::tuple(nan_modes);
  m.def("parse_program", [](const std::string& text, const std::string& file) {
    return std::make_shared<isa::Program>(isa::parse(text, file));
  });
  m.def("require_memory", &require_memory, nb::arg("programs"), nb::arg("max_memory"), nb::arg("ranks") = 1,
        "Raises when the tensors of a run take more bytes than `max_memory`; 0: nine tenths of what this machine has.");
  m.def("parse_bytes", &parse_bytes, nb::arg("text"), "The bytes of a text such as 8G; None when it is none.");
  m.def("write_file", &write_file, nb::arg("path"), nb::arg("data"),
        "Writes a file completely or not at all. Raises OSError.");
  m.def(
      "process",
      [] {
        const sim::Processes* all = sim::mpi_processes();
        return all ? all->self() : 0;
      },
      "Which of the processes this is that mpirun started, from 0 on; 0 without mpirun.");
  m.def("run", &run_programs, nb::arg("programs"), nb::arg("arrays_of_ranks"), nb::arg("threads") = 0,
        nb::arg("plain") = false, nb::arg("max_iterations") = sim::RunOptions().max_passes, nb::arg("max_memory") = 0,
        nb::arg("watched") = std::vector<std::vector<isa::InstructionId>>(), nb::arg("see") = nb::none(),
        nb::arg("nan") = "warn", nb::arg("describe_pass") = nb::none());
  m.def("spilling_helps", &check::spilling_helps, nb::arg("diagnostic"),
        "Whether it is about on-chip memory that is too small.");
  m.def(
      "check_launch",
      [](const std::vector<ProgramRef>& programs) {
        std::vector<Diagnostic> found;
        check::check_shared_work(launch_of(programs), found);
        return found;
      },
      nb::arg("programs"), "What is to be said about the programs of all cores together.");
}

}  // namespace kiln::python
