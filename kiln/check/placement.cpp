#include "kiln/check/placement.h"

#include <fmt/format.h>

#include "kiln/analysis/allocate.h"
#include "kiln/check/rules.h"
#include "kiln/check/tensor_text.h"

namespace kiln::check {
using namespace analysis;
namespace {

class TensorCheck {
 public:
  TensorCheck(const isa::Program& program, const isa::Tensor& tensor, const Arch& arch, std::vector<Diagnostic>& out)
      : program_(program), tensor_(tensor), arch_(arch), out_(out) {}

  void size() {
    const std::int64_t available = available_bytes(arch_, tensor_.memory);
    if (tensor_.partitions() > arch_.partitions) {
      report(memory_rules::kPartitions, fmt::format("{} partitions", tensor_.partitions()),
             fmt::format("at most {} ({})", arch_.partitions, arch_.name));
    }
    // What is placed by hand answers to memory.R3 instead.
    if (!tensor_.address && tensor_.bytes_per_partition() > available) {
      report(memory_rules::kSize, fmt::format("{} bytes per partition", tensor_.bytes_per_partition()),
             fmt::format("at most {} ({})", available, arch_.name));
    }
  }

  void address() {
    if (!tensor_.address) return;
    const auto [partition, offset] = *tensor_.address;
    const std::int64_t physical = psum() ? arch_.psum_partition_bytes : arch_.sbuf_partition_bytes;
    const std::int64_t bytes = tensor_.bytes_per_partition();
    const std::int64_t count = tensor_.partitions();
    if (partition < 0 || partition > arch_.partitions - count) {
      report(memory_rules::kInside, fmt::format("{} partitions from {} on", count, partition),
             fmt::format("partitions 0 to {} ({})", arch_.partitions - 1, arch_.name));
    } else if (!is_start_partition(partition, count)) {
      report(memory_rules::kStartPartition, fmt::format("{} partitions from {} on", count, partition), {});
    }
    if (offset < 0 || offset > physical - bytes) {
      report(memory_rules::kInside, fmt::format("{} bytes from byte {} of each partition on", bytes, offset),
             fmt::format("bytes 0 to {}{} ({})", physical - 1,
                         psum() ? fmt::format(", {} banks of {}", arch_.psum_banks, arch_.psum_bank_bytes) : "",
                         arch_.name));
    } else if (psum() && offset % arch_.psum_bank_bytes != 0) {
      report(memory_rules::kBank, fmt::format("byte offset {}", offset),
             fmt::format("a multiple of {}", arch_.psum_bank_bytes));
    } else if (offset % size_bytes(tensor_.dtype) != 0) {
      report(memory_rules::kAlignment, fmt::format("byte offset {}", offset),
             fmt::format("a multiple of {}", size_bytes(tensor_.dtype)));
    }
  }

 private:
  bool psum() const { return tensor_.memory == Memory::psum; }

  void report(const Rule& rule, std::string found, std::string allowed) {
    out_.push_back(broken(memory_rules::kTable, rule,
                          {.found = std::move(found),
                           .allowed = std::move(allowed),
                           .loc = program_.locs[tensor_.loc],
                           .context = fmt::format("{}, {}", title(tensor_), type_text(tensor_))}));
  }

  const isa::Program& program_;
  const isa::Tensor& tensor_;
  const Arch& arch_;
  std::vector<Diagnostic>& out_;
};

}  // namespace

void check_tensor(const isa::Program& program, const isa::Tensor& tensor, const Arch& arch,
                  std::vector<Diagnostic>& out) {
  if (!is_on_chip(tensor.memory)) return;
  TensorCheck check(program, tensor, arch, out);
  check.size();
  check.address();
}

void check_placement(const isa::Program& program, const Arch& arch, std::vector<Diagnostic>& out) {
  for (const isa::Tensor& tensor : program.tensors) check_tensor(program, tensor, arch, out);
}

}  // namespace kiln::check
