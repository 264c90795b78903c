// The library that bench/run.py loads, so that NumPy and Kiln work in one process on the same arrays.
// Functions return null or false after an error; kiln_bench_error has its text.
#include <chrono>
#include <string>

#include "bench/compile_patterns.h"
#include "bench/programs.h"
#include "kiln/check/check_program.h"
#include "kiln/sim/machine.h"
#include "kiln/tensor/lower/lower.h"

#define KILN_BENCH_API extern "C" __attribute__((visibility("default")))

namespace {

using kiln::isa::Program;
using kiln::sim::NanMode;
using Clock = std::chrono::steady_clock;

constexpr int kCheckRounds = 5;  // the best counts, as with the other times

std::string last_error;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void check(const Program& program) {
  kiln::check::Report report = kiln::check::check_program(program, kiln::arch(program.target));
  if (!report.ok()) throw kiln::Error(std::move(report.diagnostics));
}

// `arrays`: one per input and output, in the order of their declaration.
void run(const Program& program, void* const* arrays, int threads, bool looks_for_nan) {
  kiln::sim::Buffers buffers;
  for (const kiln::isa::Tensor& t : program.tensors) {
    if (t.role == kiln::isa::Role::internal) continue;
    buffers[t.name] = {*arrays++, static_cast<std::size_t>(t.size() * size_bytes(t.dtype))};
  }
  kiln::sim::run(program, kiln::arch(program.target), buffers,
                 {.threads = threads, .nan = looks_for_nan ? NanMode::warn : NanMode::off});
}

template <class Body>
bool guarded(Body&& body) {
  try {
    body();
    return true;
  } catch (const std::exception& e) {
    last_error = e.what();
    return false;
  }
}

}  // namespace

KILN_BENCH_API const char* kiln_bench_error() { return last_error.c_str(); }

// A program of bench/programs.h that passed all checks; `check_seconds` is how long they took.
KILN_BENCH_API Program* kiln_bench_program(const char* name, std::int64_t rows, std::int64_t columns,
                                           double* check_seconds) {
  Program* made = nullptr;
  guarded([&] {
    Program program = kiln::bench::program(name, rows, columns);
    for (int round = 0; round < kCheckRounds; ++round) {
      const auto start = Clock::now();
      check(program);
      const double seconds = seconds_since(start);
      if (round == 0 || seconds < *check_seconds) *check_seconds = seconds;
    }
    made = new Program(std::move(program));
  });
  return made;
}

// What the compiler makes of a pattern of bench/compile_patterns.h.
KILN_BENCH_API Program* kiln_bench_pattern(const char* name) {
  Program* made = nullptr;
  guarded([&] {
    for (const kiln::bench::Pattern& pattern : kiln::bench::patterns()) {
      if (pattern.name == name) made = new Program(kiln::tensor::compile(pattern.make()).program);
    }
    if (!made) throw std::runtime_error(std::string("no pattern ") + name);
  });
  return made;
}

// The names of a program's inputs and outputs, in the order of their declaration, a blank behind each.
KILN_BENCH_API const char* kiln_bench_arguments(const Program* program) {
  static std::string names;
  names.clear();
  for (const kiln::isa::Tensor& t : program->tensors) {
    if (t.role != kiln::isa::Role::internal) names += t.name + " ";
  }
  return names.c_str();
}

KILN_BENCH_API void kiln_bench_free(Program* program) { delete program; }

KILN_BENCH_API bool kiln_bench_run(const Program* program, void* const* arrays, int threads, bool looks_for_nan) {
  return guarded([&] { run(*program, arrays, threads, looks_for_nan); });
}

// Builds, checks and runs small_instructions on one thread; seconds[0 … 2] are the times of the three.
KILN_BENCH_API bool kiln_bench_small_instructions(std::int64_t instructions, void* const* arrays, bool looks_for_nan,
                                                  double* seconds) {
  return guarded([&] {
    auto start = Clock::now();
    const Program program = kiln::bench::small_instructions(instructions);
    seconds[0] = seconds_since(start);
    start = Clock::now();
    check(program);
    seconds[1] = seconds_since(start);
    start = Clock::now();
    run(program, arrays, 1, looks_for_nan);
    seconds[2] = seconds_since(start);
  });
}
