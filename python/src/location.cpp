#include "python/src/location.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>

#include "python/src/convert.h"
#include "python/src/error.h"
#include "python/src/settings.h"

namespace kiln::python {
namespace {

int instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti * 2;  // 3.10 counts instructions, and all else bytes
#endif
}

// What runs scripts, imports modules and keeps values of properties is nobody's business either.
bool is_machinery(std::string_view file) {
  return file.starts_with("<frozen ") || file.ends_with("/runpy.py") || file.ends_with("/importlib/__init__.py") ||
         file.ends_with("/functools.py");
}

// Whose a frame is. `entry`: of the command `kiln`; what called it is the launcher, which is nobody's business either.
enum class Owner : unsigned char { user, ours, entry };

// Code objects that were asked about are kept for good: their addresses are keys.
Owner owner_of(PyCodeObject* code) {
  static std::unordered_map<PyCodeObject*, Owner> known;
  const auto it = known.find(code);
  if (it != known.end()) return it->second;
  const std::string file = text_of(code->co_filename);
  const std::string_view folder = settings().package_folder;
  if (folder.empty()) return is_machinery(file) ? Owner::ours : Owner::user;  // not set up yet: ask again
  Owner owner = file.starts_with(folder) || is_machinery(file) ? Owner::ours : Owner::user;
  if (owner == Owner::ours && file.substr(std::min(folder.size(), file.size())) == "__main__.py") owner = Owner::entry;
  Py_INCREF(code);
  return known[code] = owner;
}

// Calls fn(frame, code) for the user's frames, innermost first, up to the kernel or the command; fn returns whether to
// go on.
template <class Fn>
void for_user_frames(Fn&& fn) {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool root = reinterpret_cast<PyObject*>(code) == settings().root_code.ptr();
    const Owner owner = owner_of(code);
    const bool go_on = !root && owner != Owner::entry && (owner == Owner::ours || fn(frame, code));
    Py_DECREF(code);
    PyFrameObject* back = go_on ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = back;
  }
}

// Where the lines of some code begin: first bytes of instructions, in order, and their lines.
using LineTable = std::vector<std::pair<int, int>>;

LineTable lines_of(PyCodeObject* code) {
  LineTable table;
  for (const nb::handle row : nb::borrow(reinterpret_cast<PyObject*>(code)).attr("co_lines")())
    table.emplace_back(nb::cast<int>(row[0]), row[2].is_none() ? -1 : nb::cast<int>(row[2]));
  return table;
}

// Python looks for a line from the beginning of the code on. In code that is long, such as emitted kernels, that takes
// longer than all else.
int line_of(PyFrameObject* frame, PyCodeObject* code) {
  constexpr Py_ssize_t kLong = 2048;
  static std::unordered_map<PyCodeObject*, LineTable> known;
  if (PyBytes_GET_SIZE(code->co_linetable) < kLong) return PyFrame_GetLineNumber(frame);
  const auto [it, is_new] = known.try_emplace(code);
  if (is_new) it->second = lines_of(code);
  const LineTable& table = it->second;
  const auto behind = std::upper_bound(table.begin(), table.end(), instruction_of(frame),
                                       [](int at, const auto& row) { return at < row.first; });
  return behind == table.begin() ? -1 : std::prev(behind)->second;
}

SourceLoc make_location() {
  SourceLoc loc;
  for_user_frames([&](PyFrameObject* frame, PyCodeObject* code) {
    const std::string file = text_of(code->co_filename);
    const int line = line_of(frame, code);
    if (!loc.known()) {
      loc.file = file;
      loc.line = line;
    } else {
      loc.stack.push_back(fmt::format("{}:{}", file, line));
    }
    return loc.stack.size() < 50;
  });
  return loc;
}

}  // namespace

SourceLoc current_location() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return {};
  return make_location();
}

isa::LocId Locator::locate(isa::Program& program) {
  chain_.clear();
  std::uint64_t hash = 14695981039346656037ull;
  for_user_frames([&](PyFrameObject* frame, PyCodeObject* code) {
    for (const std::uintptr_t part :
         {reinterpret_cast<std::uintptr_t>(code), static_cast<std::uintptr_t>(instruction_of(frame))}) {
      chain_.push_back(part);
      hash = (hash ^ part) * 1099511628211ull;
    }
    return true;
  });
  std::vector<Entry>& entries = places_[hash];
  for (const Entry& e : entries) {
    if (e.chain == chain_) return e.loc;
  }
  const isa::LocId loc = program.add_loc(make_location());
  entries.push_back({chain_, loc});
  return loc;
}

const std::string& Locator::assigned_name() const {
  static const std::string none;
  static std::map<std::pair<std::uintptr_t, std::uintptr_t>, std::string> known;
  if (chain_.empty()) return none;
  const auto [it, is_new] = known.try_emplace({chain_[0], chain_[1]});
  if (is_new && settings().assigned_name) {
    nb::object found = settings().assigned_name(nb::borrow(reinterpret_cast<PyObject*>(chain_[0])),
                                                static_cast<std::int64_t>(chain_[1]));
    it->second = nb::cast<std::string>(found);
  }
  return it->second;
}

void bind_locations(nb::module_& m) {
  m.def("current_location", [] { return current_location(); });
}

}  // namespace kiln::python
