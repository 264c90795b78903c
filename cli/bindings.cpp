#include "cli/bindings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/rules.h"
#include "kiln/base/suggest.h"

namespace kiln::cli {
namespace {

std::string tensor_text(const isa::Tensor& t) { return fmt::format("{} {}", name(t.dtype), shape_text(t.shape)); }

class Binder {
 public:
  void declare(const isa::Tensor& tensor) {
    Port& port = ports_[tensor.name];
    if (!port.tensor) port.tensor = &tensor;
    port.is_input |= tensor.role != isa::Role::output;
    port.is_output |= tensor.role != isa::Role::input;
    if (port.tensor->dtype != tensor.dtype || port.tensor->shape != tensor.shape) {
      report(cli_rules::kPair, fmt::format("tensor `{}` is {} in one program and {} in the other", tensor.name,
                                           tensor_text(*port.tensor), tensor_text(tensor)));
    }
  }

  void bind(const std::vector<std::string>& options, bool input) {
    for (const std::string& option : options) bind_one(option, input);
  }

  void require_complete(bool print) {
    for (const auto& [name, port] : ports_) {
      if (port.is_input && port.in_file.empty()) {
        report(cli_rules::kInputMissing, fmt::format("input `{}` ({}) has no file", name, tensor_text(*port.tensor)),
               fmt::format("add --in {}=FILE", name));
      }
      if (port.is_output && port.out_file.empty() && !print) {
        report(cli_rules::kOutputMissing, fmt::format("output `{}` ({}) has no file", name, tensor_text(*port.tensor)),
               fmt::format("add --out {}=FILE, or --print", name));
      }
    }
  }

  // Devices and pipes may take several arrays.
  void require_own_files() {
    std::map<std::filesystem::path, std::string> owners;
    for (const auto& [name, port] : ports_) {
      std::error_code ignored;
      if (port.out_file.empty() || std::filesystem::is_other(port.out_file, ignored) ||
          std::filesystem::is_character_file(port.out_file, ignored))
        continue;
      const auto [owner, is_new] = owners.emplace(
          std::filesystem::weakly_canonical(std::filesystem::absolute(port.out_file, ignored), ignored), name);
      if (!is_new)
        report(cli_rules::kOutputShared,
               fmt::format("outputs `{}` and `{}` both go to `{}`", owner->second, name, port.out_file));
    }
  }

  Ports finish() {
    if (!diagnostics_.empty()) throw Error(std::move(diagnostics_));
    return std::move(ports_);
  }

 private:
  void report(const Rule& rule, std::string found, std::string help = {}) {
    diagnostics_.push_back(broken(rule, std::move(found), std::move(help)));
  }

  void bind_one(const std::string& option, bool input) {
    const char* flag = input ? "--in" : "--out";
    const auto equals = option.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == option.size())
      return report(cli_rules::kBinding, fmt::format("{} {}", flag, option));
    const std::string tensor = option.substr(0, equals);
    const auto found = ports_.find(tensor);
    if (found == ports_.end() || !(input ? found->second.is_input : found->second.is_output))
      return report_unknown(tensor, input);
    std::string& file = input ? found->second.in_file : found->second.out_file;
    if (!file.empty())
      return report(cli_rules::kGivenOnce,
                    fmt::format("{} {} is given twice: `{}` and `{}`", flag, tensor, file, option.substr(equals + 1)));
    file = option.substr(equals + 1);
  }

  void report_unknown(const std::string& tensor, bool input) {
    std::vector<std::string_view> names;
    for (const auto& [name, port] : ports_) {
      if (input ? port.is_input : port.is_output) names.push_back(name);
    }
    const char* word = input ? "input" : "output";
    const std::string list = names.empty() ? fmt::format("the program has no {}", word)
                                           : fmt::format("the {}s of the program: {}", word, fmt::join(names, ", "));
    report(input ? cli_rules::kKnownInput : cli_rules::kKnownOutput,
           fmt::format("the program has no {} named `{}`", word, tensor), did_you_mean(suggest(tensor, names), list));
  }

  Ports ports_;
  std::vector<Diagnostic> diagnostics_;
};

// A file that is larger than its tensor is wrong, but how is told only where reading it costs little.
NpyArray load(const std::string& tensor_name, const Port& port) {
  constexpr std::int64_t kHeader = 1 << 20, kLittle = 64 << 20;
  const std::int64_t bytes = port.tensor->size() * size_bytes(port.tensor->dtype);
  NpyArray array = read_npy(port.in_file, port.tensor->dtype, std::max(bytes + kHeader, kLittle));
  if (array.shape == port.tensor->shape) return array;
  Diagnostic d =
      broken(cli_rules::kShape, fmt::format("`{}` has shape {}, tensor `{}` is {}", port.in_file,
                                            shape_text(array.shape), tensor_name, tensor_text(*port.tensor)));
  d.loc.file = port.in_file;
  throw Error(std::move(d));
}

}  // namespace

Bindings of_rank(const Bindings& bindings, int rank, int ranks) {
  if (ranks == 1) return bindings;
  Bindings own = bindings;
  const auto put_in = [&](std::string& text) {
    const std::size_t place = text.find("{}");
    if (place != std::string::npos) text.replace(place, 2, std::to_string(rank));
    return place != std::string::npos;
  };
  for (std::string& text : own.in) put_in(text);
  for (std::string& text : own.out) {
    if (put_in(text)) continue;
    const std::size_t dot = text.rfind('.'), slash = text.rfind('/');
    const bool has_extension = dot != std::string::npos && (slash == std::string::npos || dot > slash);
    text.insert(has_extension ? dot : text.size(), fmt::format(".{}", rank));
  }
  return own;
}

Ports bind_ports(const isa::Launch& launch, const Bindings& bindings) {
  Binder binder;
  for (const isa::Program* program : launch.programs) {
    for (const isa::Tensor& tensor : program->tensors) {
      if (tensor.role != isa::Role::internal) binder.declare(tensor);
    }
  }
  binder.bind(bindings.in, true);
  binder.bind(bindings.out, false);
  binder.require_complete(bindings.print);
  binder.require_own_files();
  return binder.finish();
}

Arrays load_arrays(const Ports& ports) {
  Arrays arrays;
  std::vector<Diagnostic> diagnostics;
  for (const auto& [tensor_name, port] : ports) {
    const isa::Tensor& t = *port.tensor;
    try {
      arrays[tensor_name] = port.is_input
                                ? load(tensor_name, port)
                                : NpyArray{t.dtype, t.shape, std::vector<std::byte>(t.size() * size_bytes(t.dtype))};
    } catch (const Error& e) {
      diagnostics.insert(diagnostics.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }
  if (!diagnostics.empty()) throw Error(std::move(diagnostics));
  return arrays;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace kiln::cli
