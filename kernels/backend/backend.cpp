#include "kernels/backend/backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "kernels/backend/backend_rules.h"
#include "kernels/backend/neuron.h"
#include "kiln/base/suggest.h"

namespace kiln::backend {
namespace {

struct Settings {
  std::mutex mutex;
  std::string choice = "auto";
  std::optional<Target> target;
};
Settings& settings() {
  static Settings s;
  return s;
}
thread_local std::vector<std::string> scopes;

std::string word_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

bool is_set(const std::string& variable) {
  std::string word = word_of(variable.c_str());
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word == "1" || word == "true" || word == "yes";
}

void require_known(std::string_view choice, std::string_view where) {
  if (std::find(choices().begin(), choices().end(), choice) != choices().end()) return;
  raise(backend_rules::kTable, backend_rules::kKnown,
        {.found = fmt::format("{}backend {}", where, choice),
         .allowed = fmt::format("{}", fmt::join(choices(), ", ")),
         .operand = "backend"});
}

void require_present() {
  const std::string why_not = why_no_neuron();
  if (why_not.empty()) return;
  raise(backend_rules::kTable, backend_rules::kPresent,
        {.found = why_not, .allowed = "native and simulator are there", .operand = "backend"});
}

// A device, or the simulator, which runs the same kernels.
Backend some_kernel() { return has_device() ? Backend::neuron : Backend::simulator; }

std::optional<Backend> backend_of(std::string_view choice) {
  if (choice == "native" || choice == "pytorch") return Backend::native;
  if (choice == "simulator") return Backend::simulator;
  if (choice == "neuron") return Backend::neuron;
  if (choice == "nki") return some_kernel();
  return std::nullopt;  // auto
}

Backend automatic(std::string_view library) {
  const std::string asked = word_of("KILN_BACKEND");
  if (!asked.empty()) {
    require_known(asked, "KILN_BACKEND: ");
    if (const auto found = backend_of(asked)) return *found;
  }
  if (is_set(fmt::format("TRN{}_USE_SIMULATOR", library))) return Backend::simulator;
  if (is_set(fmt::format("TRN{}_REQUIRE_NKI", library))) return some_kernel();
  return has_device() ? Backend::neuron : Backend::native;
}

Target target_of(std::string_view chip) {
  Target target;
  if (parse_target(chip, target)) return target;
  raise(backend_rules::kTable, backend_rules::kChip,
        {.found = fmt::format("chip {}", chip), .allowed = "trn1, trn2, trn3", .operand = "target"});
}

}  // namespace

const std::vector<std::string>& choices() {
  static const std::vector<std::string> words = {"auto", "native", "simulator", "neuron", "pytorch", "nki"};
  return words;
}

void set_backend(std::string_view choice) {
  require_known(choice, "");
  if (choice == "neuron") require_present();
  std::lock_guard lock(settings().mutex);
  settings().choice = choice;
}

std::string get_backend() {
  std::lock_guard lock(settings().mutex);
  return settings().choice;
}

Scope::Scope(std::string_view choice) {
  require_known(choice, "");
  if (choice == "neuron") require_present();
  scopes.emplace_back(choice);
}
Scope::~Scope() { scopes.pop_back(); }
std::string scope_choice() { return scopes.empty() ? "" : scopes.back(); }

Backend current(std::string_view library) {
  const std::optional<Backend> asked = backend_of(scopes.empty() ? get_backend() : scopes.back());
  const Backend chosen = asked ? *asked : automatic(library);
  if (chosen == Backend::neuron) require_present();
  return chosen;
}

void set_target(std::string_view chip) {
  const Target target = target_of(chip);
  std::lock_guard lock(settings().mutex);
  settings().target = target;
}

Target current_target() {
  {
    std::lock_guard lock(settings().mutex);
    if (settings().target) return *settings().target;
  }
  const std::string asked = word_of("KILN_TARGET");
  return asked.empty() ? Target::trn2 : target_of(asked);
}

}  // namespace kiln::backend
