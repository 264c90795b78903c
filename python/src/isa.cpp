// The functions of nki.isa, walked from the instruction table: one C function serves them all. Arguments are
// bound by position or name, converted by the kind that the table gives them, and pushed in the table's
// order.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <deque>

#include "kiln/isa/default_arg.h"
#include "kiln/isa/table.h"
#include "kiln/isa/text/print.h"
#include "python/src/convert.h"
#include "python/src/error.h"
#include "python/src/instance.h"
#include "python/src/isa_function.h"
#include "python/src/op.h"
#include "python/src/settings.h"
#include "python/src/trace.h"

namespace kiln::python {
namespace {

using isa::AttrType;
using isa::ParamInfo;
using isa::ParamKind;
constexpr int kMaxParams = 24;

// One function: the row and the interned names of its parameters.
struct Function {
  isa::Opcode opcode;
  std::string name;
  std::string called;  // nisa.tensor_copy
  std::vector<PyObject*> names;
};
std::deque<Function> functions;
PyObject* name_keyword = nullptr;  // "name"

// What to tell about a call in the form of an older NKI, or `otherwise`.
std::string hint(const char* kind, const Function& f, std::string_view parameter, nb::handle value,
                 std::string otherwise) {
  if (!settings().call_hint) return otherwise;
  nb::object text = settings().call_hint(kind, f.name, std::string(parameter), value);
  return text.is_none() ? otherwise : text_of(text);
}

[[noreturn]] void bad_call(const Function& f, std::string found, std::string help, std::string allowed = {}) {
  raise(nki_rules::kTable, nki_rules::kSignature,
        {.found = std::move(found),
         .allowed = std::move(allowed),
         .help = std::move(help),
         .rule = fmt::format("the call fits the signature {}", signature(info(f.opcode)))});
}

[[noreturn]] void bad_argument(const Function& f, const ParamInfo& param, nb::handle value, std::string help) {
  if (const std::string large = too_large(value); !large.empty())
    bad_call(
        f, fmt::format("`{}` of {} {}", param.name, f.called, large),
        param.is_tile() || param.type == AttrType::Number ? "pass a float, or a smaller int" : "pass a smaller int",
        kAllowedInts);
  const std::string found = nb::isinstance<nb::str>(value) ? fmt::format("the string `{}`", text_of(value))
                            : nb::isinstance<Op>(value)
                                ? fmt::format("the operator nl.{}", nb::cast<std::string>(value.attr("name")))
                                : fmt::format("a `{}`", kind_of(value));
  bad_call(f, fmt::format("`{}` of {} is {}", param.name, f.called, found),
           hint("argument", f, param.name, value, std::move(help)));
}

const Tensor& tile_of(const Function& f, const ParamInfo& param, Trace& trace, nb::handle value) {
  if (!nb::isinstance<Tensor>(value))
    bad_argument(f, param, value,
                 nb::hasattr(value, "dtype") && !nb::isinstance<Op>(value)
                     ? "pass arrays as arguments of the kernel; inside it they are tensors"
                     : "pass a tensor, e.g. from nl.ndarray, or a view of one");
  const auto& tensor = nb::cast<const Tensor&>(value);
  check_owner(trace, tensor.trace.get(), "tensor");
  check_inside(tensor);
  return tensor;
}

// An int stays one: rules about integers speak of it.
bool push_number(isa::Kernel& k, nb::handle value) {
  if (const auto i = as_int(value)) return k.push(*i), true;
  if (!too_large(value).empty()) return false;
  if (PyBool_Check(value.ptr())) return k.push(std::int64_t{value.is(Py_True)}), true;
  if (const auto r = as_real(value)) return k.push(*r), true;
  return false;
}

void push_tile(const Function& f, const ParamInfo& param, Trace& trace, nb::handle value) {
  isa::Kernel& k = trace.kernel;
  const bool scalar = param.kind == ParamKind::scalar_or_in || param.kind == ParamKind::opt_scalar_or_in;
  if (scalar && !nb::isinstance<Tensor>(value)) {
    if (push_number(k, value)) return;
    bad_argument(f, param, value, "pass a number or a (P, 1) tile");
  }
  if (param.is_list()) {
    std::vector<isa::View> views;
    if (nb::isinstance<Tensor>(value) || !is_sequence(value)) bad_argument(f, param, value, "pass a list of tensors");
    for (nb::handle item : value) views.push_back(tile_of(f, param, trace, item).view);
    return k.push(views);
  }
  k.push(tile_of(f, param, trace, value).view);
}

// Numbers are no enum members since NKI 0.3.0. Public kernels still keep two of dge_mode's in constants:
// those that leave the choice to the compiler (0) and that prebuild the descriptors (3).
bool is_old_number(AttrType type, nb::handle value) {
  if (type != AttrType::DgeMode || !PyLong_CheckExact(value.ptr())) return false;
  const auto number = as_int(value);
  return number == static_cast<std::int64_t>(isa::DgeMode::unknown) ||
         number == static_cast<std::int64_t>(isa::DgeMode::none);
}

void push_enum(const Function& f, const ParamInfo& param, isa::Kernel& k, nb::handle value) {
  const nb::handle cls = enum_class(param.type);
  if (cls && value.type().is(cls)) return k.push_enum(*as_int(value));
  if (is_old_number(param.type, value)) return k.push_enum(*as_int(value));
  if (nb::isinstance<nb::str>(value) && param.type == AttrType::MatmulPerfMode) {
    const auto members = isa::enum_members(param.type);
    const std::string text = text_of(value);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] == text) return k.push_enum(static_cast<std::int64_t>(i));
    }
  }
  const auto members = isa::enum_members(param.type);
  std::string cls_name = cls ? nb::cast<std::string>(cls.attr("__name__")) : std::string();
  bad_argument(f, param, value, fmt::format("pass a member of nisa.{}: {}", cls_name, fmt::join(members, ", ")));
}

void push_op(const Function& f, const ParamInfo& param, isa::Kernel& k, nb::handle value) {
  const bool activation = param.type == AttrType::ActFn;
  if (!nb::isinstance<Op>(value))
    bad_argument(f, param, value, activation ? "pass an activation such as nl.exp" : "pass an operator such as nl.add");
  const Op& op = nb::cast<const Op&>(value);
  const int number = activation ? op.act : op.alu;
  if (number < 0)
    bad_call(f, fmt::format("`{}` of {} is nl.{}", param.name, f.called, op.name),
             hint("argument", f, param.name, value,
                  activation ? "nl." + op.name +
                                   " is no activation function; the scalar engine has exp, relu, gelu, rsqrt, ..."
                             : "nl." + op.name + " is no ALU operator; those are add, multiply, maximum, ..."));
  k.push_enum(number);
}

// Members of our enums are ints to Python; as a number each is a slip.
bool is_enum_member(nb::handle value) {
  return !PyLong_CheckExact(value.ptr()) && nb::isinstance(value, nb::module_::import_("enum").attr("Enum"));
}

std::vector<std::int64_t> to_ints(const Function& f, const ParamInfo& param, nb::handle value) {
  std::vector<std::int64_t> out;
  if (const auto one = as_int(value)) return {*one};
  if (!is_sequence(value)) bad_argument(f, param, value, "pass ints");
  for (nb::handle item : value) {
    const auto i = as_int(item);
    if (!i) bad_argument(f, param, item, "pass ints");
    out.push_back(*i);
  }
  return out;
}

void push_pattern(const Function& f, const ParamInfo& param, isa::Kernel& k, nb::handle value) {
  isa::Pattern pattern;
  if (!is_sequence(value)) bad_argument(f, param, value, "pass [[step, num], ...]");
  for (nb::handle pair : value) {
    const auto two = to_ints(f, param, pair);
    if (two.size() != 2) bad_argument(f, param, pair, "pass [[step, num], ...]");
    pattern.push_back({two[0], two[1]});
  }
  k.push(pattern);
}

void push_groups(const Function& f, const ParamInfo& param, isa::Kernel& k, nb::handle value) {
  isa::Groups groups;
  if (!is_sequence(value)) bad_argument(f, param, value, "pass [[0, 1], [2, 3]]");
  for (nb::handle list : value) groups.push_back(to_ints(f, param, list));
  k.push(groups);
}

void push_attribute(const Function& f, const ParamInfo& param, Trace& trace, nb::handle value) {
  isa::Kernel& k = trace.kernel;
  switch (param.type) {
    case AttrType::AluOp:
    case AttrType::OptAlu:
    case AttrType::ActFn:
      return push_op(f, param, k, value);
    case AttrType::Engine:
    case AttrType::ReduceCmd:
    case AttrType::DgeMode:
    case AttrType::OobMode:
    case AttrType::MatmulPerfMode:
    case AttrType::DmaEngine:
      return push_enum(f, param, k, value);
    case AttrType::Bool:
    case AttrType::OptBool:
      if (PyBool_Check(value.ptr())) return k.push(value.is(Py_True));
      if (const auto i = as_int(value); i && (*i == 0 || *i == 1)) return k.push(*i == 1);
      return bad_argument(f, param, value, "pass True or False");
    case AttrType::Int:
    case AttrType::OptInt:
      if (const auto i = as_int(value); i && !is_enum_member(value)) return k.push(*i);
      return bad_argument(f, param, value, "pass an int");
    case AttrType::Float:
      if (const auto i = as_int(value)) return k.push(static_cast<double>(*i));
      if (const auto r = as_real(value)) return k.push(*r);
      return bad_argument(f, param, value, "pass a number");
    case AttrType::Number:
      if (push_number(k, value)) return;
      return bad_argument(f, param, value, "pass a number");
    case AttrType::Ints:
      return k.push(to_ints(f, param, value));
    case AttrType::Floats: {
      std::vector<double> reals;
      if (!is_sequence(value)) bad_argument(f, param, value, "pass a list of numbers");
      for (nb::handle item : value) {
        const auto r = as_real(item);
        if (!r) bad_argument(f, param, item, "pass numbers");
        reals.push_back(*r);
      }
      return k.push(reals);
    }
    case AttrType::Pattern:
      return push_pattern(f, param, k, value);
    case AttrType::Groups:
      return push_groups(f, param, k, value);
    case AttrType::Reg:
      if (!nb::isinstance<Register>(value)) bad_argument(f, param, value, "pass a register of nisa.register_alloc");
      check_owner(trace, nb::cast<const Register&>(value).trace.get(), "register");
      return k.push(isa::Reg{nb::cast<const Register&>(value).id});
    case AttrType::IntOrReg:
      if (nb::isinstance<Register>(value) || as_int(value)) return k.push(to_int_or_reg(trace, value));
      return bad_argument(f, param, value, "pass an int or a register");
  }
}

// A keyword that a positional argument has taken: an old order of arguments, or one too many.
std::string help_with_positions(const Function& f, PyObject* const* args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < std::min(count, static_cast<Py_ssize_t>(f.names.size())); ++i) {
    std::string help = hint("argument", f, nb::cast<std::string>(nb::borrow(f.names[i])), args[i], {});
    if (!help.empty()) return help;
  }
  return "pass it once";
}

// Binds positional and keyword arguments to parameters, as Python would.
void bind(const Function& f, PyObject* const* args, Py_ssize_t count, PyObject* keywords, PyObject** bound,
          PyObject*& name) {
  const auto params = static_cast<Py_ssize_t>(f.names.size());
  if (count > params + 1)
    bad_call(f, fmt::format("{} positional arguments of {}, at most {} fit", count, f.called, params + 1),
             "pass attributes by name");
  for (Py_ssize_t i = 0; i < count; ++i) (i < params ? bound[i] : name) = args[i];
  const Py_ssize_t given = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < given; ++i) {
    PyObject* key = PyTuple_GET_ITEM(keywords, i);
    PyObject** slot = nullptr;
    for (Py_ssize_t p = 0; p < params && !slot; ++p) {
      if (f.names[p] == key) slot = &bound[p];
    }
    if (!slot && key == name_keyword) slot = &name;
    for (Py_ssize_t p = 0; p < params && !slot; ++p) {
      if (PyUnicode_Compare(f.names[p], key) == 0) slot = &bound[p];
    }
    if (!slot) {
      const std::string word = text_of(key);
      bad_call(f, fmt::format("{} has no parameter `{}`", f.called, word),
               hint("keyword", f, word, nb::none(), "see the signature"));
    }
    if (*slot)
      bad_call(f, fmt::format("`{}` of {} is given twice", text_of(key), f.called),
               help_with_positions(f, args, count));
    *slot = args[count + i];
  }
}

nb::object issue(const Function& f, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  Trace& trace = current_trace(f.name.c_str());
  PyObject* bound[kMaxParams] = {};
  PyObject* name = nullptr;
  bind(f, args, count, keywords, bound, name);
  const auto& params = info(f.opcode).params;
  const auto defaults = isa::default_args(f.opcode);
  trace.here();
  trace.kernel.begin(f.opcode);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const ParamInfo& param = params[i];
    const bool none = !bound[i] || bound[i] == Py_None;
    if (none && param.required)
      bad_call(f, fmt::format("{} without `{}`{}", f.called, param.name, bound[i] ? " (None)" : ""),
               hint("missing", f, param.name, nb::none(), fmt::format("pass {}=", param.name)));
    if (none) {
      trace.kernel.push_default(defaults[i]);
    } else if (param.is_tile()) {
      push_tile(f, param, trace, bound[i]);
    } else {
      push_attribute(f, param, trace, bound[i]);
    }
  }
  std::string label;
  if (name && name != Py_None) label = to_name(name, fmt::format("`name` of {}", f.called).c_str());
  return instance_of(trace.issue(std::move(label)));
}

// The call in a kernel that is traced as an older NKI: the package says what it does there, and issues it.
nb::object issue_as_older(const Function& f, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  nb::list positional;
  nb::dict named;
  for (Py_ssize_t i = 0; i < count; ++i) positional.append(nb::handle(args[i]));
  const Py_ssize_t given = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < given; ++i) named[nb::handle(PyTuple_GET_ITEM(keywords, i))] = nb::handle(args[count + i]);
  return settings().older_call(f.name, positional, named);
}

bool is_older(const Trace* trace) { return trace && trace->kernel.program().nki != isa::kNewestNki; }

PyObject* entry(std::size_t number, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto& f = functions[number];
  return returned([&] {
    const bool older = is_older(current_trace_or_null()) && settings().older_call;
    return (older ? issue_as_older : issue)(f, args, count, keywords);
  });
}

// As a call of nisa.<name> in the newest NKI, whatever the kernel is traced as.
nb::object issue_named(const std::string& name, nb::sequence args, nb::dict kwargs) {
  isa::Opcode op;
  if (!isa::parse_opcode(name, op)) throw nb::key_error(name.c_str());
  std::vector<PyObject*> values;
  for (nb::handle value : args) values.push_back(value.ptr());
  const auto count = static_cast<Py_ssize_t>(values.size());
  nb::list names;
  for (auto [key, value] : kwargs) {
    names.append(key);
    values.push_back(value.ptr());
  }
  return issue(functions[static_cast<std::size_t>(op)], values.data(), count, nb::tuple(names).ptr());
}

}  // namespace

// A module-level dict: name -> function.
void bind_isa(nb::module_& m) {
  bind_convert(m);
  name_keyword = PyUnicode_InternFromString("name");
  nb::dict table;
  int opcode = 0;
  for (const isa::InstructionInfo& row : isa::all_instructions()) {
    Function& f = functions.emplace_back();
    f.opcode = static_cast<isa::Opcode>(opcode++);
    f.name = row.name;
    f.called = fmt::format("{}.{}", row.is_of_ranks() ? "nki.collectives" : "nisa", row.name);
    if (row.is_query()) continue;
    for (const ParamInfo& p : row.params) f.names.push_back(PyUnicode_InternFromString(std::string(p.name).c_str()));
    if (row.is_of_ranks()) continue;  // nki.collectives issues them by name
    const std::string doc = fmt::format("nisa.{}\n\n{}\n", signature(row), row.summary);
    table[f.name.c_str()] = make_isa_function(entry, functions.size() - 1, f.name, doc);
  }
  m.attr("isa_functions") = table;
  m.def("issue", &issue_named, nb::arg("function"), nb::arg("args"), nb::arg("kwargs"),
        "A call of a function of nki.isa as the newest NKI has it, whatever the kernel is traced as.");
  m.def("isa_signature", [](const std::string& name) {
    isa::Opcode op;
    if (!isa::parse_opcode(name, op)) throw nb::key_error(name.c_str());
    return signature(isa::info(op));
  });
  m.def("isa_parameters", [](const std::string& name) {
    isa::Opcode op;
    if (!isa::parse_opcode(name, op)) throw nb::key_error(name.c_str());
    nb::list out;
    for (const ParamInfo& p : isa::info(op).params) {
      const char* kind = p.is_list()                                                                  ? "tiles"
                         : p.kind == ParamKind::scalar_or_in || p.kind == ParamKind::opt_scalar_or_in ? "scalar or tile"
                         : p.is_tile()                                                                ? "tile"
                                                                                                      : "";
      out.append(nb::make_tuple(std::string(p.name), *kind ? std::string(kind) : std::string(p.type_text), p.required,
                                std::string(p.default_text)));
    }
    return out;
  });
  m.def("isa_summary", [](const std::string& name) {
    isa::Opcode op;
    if (!isa::parse_opcode(name, op)) throw nb::key_error(name.c_str());
    return std::string(isa::info(op).summary);
  });
}

}  // namespace kiln::python
