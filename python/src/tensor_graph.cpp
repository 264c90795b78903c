// Tensor programs for Python: built op by op, printed, evaluated by the oracle, compiled.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/ir/weak.h"
#include "kiln/tensor/lower/model.h"
#include "kiln/tensor/lower/report.h"
#include "kiln/tensor/lower/tuner.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

using tensor::Arrays;
using tensor::Graph;
using tensor::Shape;
using tensor::Value;
using ProgramRef = std::shared_ptr<isa::Program>;
using ArrayTuple = std::tuple<std::string, Shape, nb::bytes>;  // dtype, shape, bytes

[[noreturn]] void refuse_graph(const std::string& found) {
  raise(tensor::rules::kTable, tensor::rules::kOperands, {.found = found});
}

tensor::Type type_of(const std::string& dtype, Shape shape) {
  DType t;
  if (!parse_dtype(dtype, t)) refuse_graph(fmt::format("`{}` is no dtype", dtype));
  return {t, std::move(shape)};
}

tensor::AttrValue attribute(nb::handle value, tensor::AttrKind kind) {
  using tensor::AttrKind;
  switch (kind) {
    case AttrKind::ints:
      return nb::cast<tensor::Ints>(value);
    case AttrKind::integer:
      return nb::cast<std::int64_t>(value);
    case AttrKind::real:
      return nb::cast<double>(value);
    case AttrKind::boolean:
      return nb::cast<bool>(value);
    case AttrKind::text:
      return nb::cast<std::string>(value);
    case AttrKind::dtype:
      break;
  }
  return type_of(nb::cast<std::string>(value), {}).dtype;
}

// Operands are values or Python numbers, which are weak.
Value add(Graph& graph, const std::string& op, nb::args operands, nb::kwargs attributes) {
  tensor::OpCode code;
  if (!tensor::parse_op(op, code)) refuse_graph(fmt::format("`{}` is no op", op));
  std::vector<Value> values;
  for (nb::handle h : operands) {
    if (nb::isinstance<nb::int_>(h))
      values.push_back(nb::cast<Value>(h));
    else
      refuse_graph("operands are values: numbers go through `number`");
  }
  tensor::Attrs attrs;
  for (const tensor::AttrInfo& a : tensor::info(code).attributes) {
    const nb::str name(a.name.data(), a.name.size());
    if (!attributes.contains(name)) refuse_graph(fmt::format("{} needs `{}`", op, a.name));
    attrs.push_back(attribute(attributes[name], a.kind));
  }
  std::vector<tensor::Body> bodies;
  if (attributes.contains("bodies")) {
    for (nb::handle h : attributes["bodies"]) bodies.push_back(std::make_shared<const Graph>(nb::cast<Graph&>(h)));
  }
  if (attributes.contains("program"))
    return graph.kernel(nb::cast<ProgramRef>(attributes["program"]), std::move(values));
  return graph.add(code, std::move(values), std::move(attrs), std::move(bodies));
}

Value number(Graph& graph, nb::object x, Value beside) {
  const bool is_real = nb::isinstance<nb::float_>(x);
  return tensor::weak(graph, {nb::cast<double>(x), is_real}, graph.type(beside).dtype);
}

ArrayTuple to_tuple(const tensor::Array& array) {
  const auto bytes = tensor::to_bytes(array);
  return {std::string(name(array.type.dtype)), array.type.shape, nb::bytes(bytes.data(), bytes.size())};
}

Arrays inputs_of(const Graph& graph, const std::map<std::string, nb::bytes>& given) {
  Arrays out;
  for (const tensor::Op& op : graph.ops()) {
    if (op.code != tensor::OpCode::input) continue;
    const auto it = given.find(op.text("name"));
    if (it == given.end()) refuse_graph(fmt::format("no bytes for input `{}`", op.text("name")));
    const auto wanted = static_cast<std::size_t>(op.type.size() * size_bytes(op.type.dtype));
    if (it->second.size() != wanted) refuse_graph(fmt::format("{} bytes for `{}`", it->second.size(), op.text("name")));
    out[op.text("name")] = tensor::from_bytes(op.type, reinterpret_cast<const std::byte*>(it->second.c_str()));
  }
  return out;
}

// The outputs exactly, as doubles.
using Given = std::map<std::string, nb::bytes>;
using Outputs = std::map<std::string, ArrayTuple>;
Outputs as_tuples(const Arrays& arrays) {
  Outputs out;
  for (const auto& [name, array] : arrays) {
    const nb::bytes doubles(array.data.data(), array.data.size() * sizeof(double));
    out.emplace(name, ArrayTuple{std::string(kiln::name(array.type.dtype)), array.type.shape, doubles});
  }
  return out;
}
Outputs evaluate(const Graph& graph, const Given& inputs) {
  return as_tuples(tensor::evaluate(graph, inputs_of(graph, inputs)));
}
std::vector<Outputs> evaluate_ranks(const Graph& graph, const std::vector<Given>& inputs) {
  std::vector<Arrays> ranks;
  for (const Given& own : inputs) ranks.push_back(inputs_of(graph, own));
  std::vector<Outputs> out;
  for (const Arrays& own : tensor::evaluate(graph, ranks)) out.push_back(as_tuples(own));
  return out;
}

// (value, dtype, shape) of what was added.
nb::tuple described(const Graph& graph, Value value) {
  const tensor::Type& type = graph.type(value);
  const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(type.shape.size())));
  for (std::size_t i = 0; i < type.shape.size(); ++i)
    PyTuple_SET_ITEM(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(type.shape[i]));
  return nb::make_tuple(value, static_cast<int>(type.dtype), shape);
}

// An op by its number in `tensor_ops`, attributes in the order of its row.
nb::tuple push(Graph& graph, int code, nb::tuple operands, nb::args attributes) {
  const auto op = static_cast<tensor::OpCode>(code);
  std::vector<Value> values;
  values.reserve(operands.size());
  for (nb::handle h : operands) values.push_back(nb::cast<Value>(h));
  const auto& infos = tensor::info(op).attributes;
  if (attributes.size() != infos.size()) refuse_graph(fmt::format("{} has other attributes", tensor::name(op)));
  tensor::Attrs attrs;
  for (std::size_t i = 0; i < infos.size(); ++i) attrs.push_back(attribute(attributes[i], infos[i].kind));
  return described(graph, graph.add(op, std::move(values), std::move(attrs)));
}

nb::tuple constant_of_bytes(Graph& graph, const std::string& dtype, Shape shape, const nb::bytes& bytes) {
  const tensor::Type type = type_of(dtype, std::move(shape));
  if (bytes.size() != static_cast<std::size_t>(type.size() * size_bytes(type.dtype)))
    refuse_graph(fmt::format("{} bytes for {}", bytes.size(), to_string(type)));
  tensor::Array array = tensor::from_bytes(type, reinterpret_cast<const std::byte*>(bytes.c_str()));
  auto& numbers = array.data;
  const auto same = [&](double x) { return std::memcmp(&x, numbers.data(), sizeof x) == 0; };
  if (numbers.size() > 1 && std::all_of(numbers.begin(), numbers.end(), same)) numbers = {numbers[0]};
  if (numbers.empty()) numbers = {0};
  return described(graph, graph.constant(type, std::move(numbers)));
}

tensor::CompileOptions options_of(const std::string& target, int level, std::vector<std::string> donated, int lnc) {
  tensor::CompileOptions options{.level = level, .lnc = lnc, .donated = std::move(donated)};
  if (!parse_target(target, options.target)) refuse_graph(fmt::format("`{}` is no target", target));
  return options;
}

std::shared_ptr<tensor::Compiled> compile(const Graph& graph, const std::string& target, int level,
                                          std::vector<std::string> donated, int lnc) {
  const tensor::CompileOptions options = options_of(target, level, std::move(donated), lnc);
  nb::gil_scoped_release released;
  return std::make_shared<tensor::Compiled>(tensor::compile(graph, options));
}

// `search` compiles one kernel: a function of its graph and what it may overwrite.
std::shared_ptr<tensor::Model> compile_model(const Graph& graph, const std::string& target, int level,
                                             std::vector<std::string> donated, int lnc, std::int64_t most_ops,
                                             const nb::object& search) {
  const tensor::CompileOptions options = options_of(target, level, std::move(donated), lnc);
  tensor::ModelOptions how{.most_ops = most_ops};
  if (!search.is_none()) {
    how.compile = [&](const Graph& kernel, const tensor::CompileOptions& with) {
      const nb::gil_scoped_acquire held;
      return *nb::cast<std::shared_ptr<tensor::Compiled>>(search(kernel, with.donated));
    };
  }
  nb::gil_scoped_release released;
  return std::make_shared<tensor::Model>(tensor::compile_model(graph, options, how));
}

nb::dict describe(const tensor::Buffer& b) {
  constexpr const char* kKinds[] = {"input", "output", "between"};
  nb::dict out;
  out["name"] = b.name;
  out["kind"] = kKinds[static_cast<int>(b.kind)];
  out["dtype"] = std::string(name(b.type.dtype));
  out["shape"] = b.type.shape;
  out["bytes"] = b.bytes();
  out["offset"] = b.offset;
  out["first_step"] = b.first;
  out["last_step"] = b.last;
  return out;
}

nb::dict describe(const tensor::RegionReport& r) {
  nb::dict out;
  out["ops"] = r.ops;
  out["rows"] = r.rows;
  out["packed"] = r.packed;
  out["loops"] = r.loops;
  out["tilings_compared"] = r.alternatives;
  out["instructions_static"] = r.instructions;
  out["hbm_bytes"] = r.hbm_bytes;
  out["sbuf_bytes_per_partition"] = r.tile_bytes;
  return out;
}

std::map<std::string, ArrayTuple> constants_of(const tensor::Compiled& made) {
  std::map<std::string, ArrayTuple> out;
  for (const tensor::Constant& c : made.constants) out.emplace(c.name, to_tuple(c.array));
  return out;
}

// A search that is driven from outside.
void bind_tuner(nb::module_& m) {
  nb::class_<tensor::Tuner>(m, "TensorTuner", "A search for a faster program: asks for candidates, is told times.")
      .def(
          "__init__",
          [](tensor::Tuner* self, const Graph& graph, const std::string& target, std::vector<std::string> donated,
             int lnc,
             unsigned seed) { new (self) tensor::Tuner(graph, options_of(target, 2, std::move(donated), lnc), seed); },
          nb::arg("graph"), nb::arg("target"), nb::arg("donated"), nb::arg("lnc"), nb::arg("seed"))
      .def("ask", &tensor::Tuner::ask, nb::call_guard<nb::gil_scoped_release>(),
           "The next candidates whose times are not known; none when nothing is left to try.")
      .def("time", &tensor::Tuner::time, nb::arg("candidate"), nb::call_guard<nb::gil_scoped_release>(),
           "Predicted nanoseconds of a candidate; infinity when it is not legal.")
      .def("tell", &tensor::Tuner::tell, nb::arg("candidate"), nb::arg("ns"), "The time of a candidate.")
      .def_prop_ro("tried", &tensor::Tuner::tried, "How many candidates have a time.")
      .def_prop_ro("first_ns", &tensor::Tuner::first_ns, "The time at level 2.")
      .def_prop_ro("best_ns", &tensor::Tuner::best_ns, "The best time.")
      .def(
          "compiled", [](tensor::Tuner& t) { return std::make_shared<tensor::Compiled>(t.compiled()); },
          nb::call_guard<nb::gil_scoped_release>(), "The fastest program.")
      .def("state", &tensor::Tuner::state, "All times that are known, as text.")
      .def("restore", &tensor::Tuner::restore, nb::arg("text"), "Times of an earlier search of the same program.");
}

void bind_compiled(nb::module_& m) {
  nb::class_<tensor::Compiled>(m, "TensorCompiled", "What the compiler made of a tensor program.")
      .def_prop_ro(
          "program", [](std::shared_ptr<tensor::Compiled> made) { return ProgramRef(made, &made->program); },
          "The program of instructions; of a pair that of core 0.")
      .def_prop_ro(
          "programs",
          [](std::shared_ptr<tensor::Compiled> made) {
            std::vector<ProgramRef> out{ProgramRef(made, &made->program)};
            if (made->peer) out.push_back(ProgramRef(made, &*made->peer));
            return out;
          },
          "The programs of all cores.")
      .def_ro("split", &tensor::Compiled::split, "What each core of a pair does.")
      .def_prop_ro("groups", &tensor::groups_in_words, "By core, by instruction: its group in a few words.")
      .def_prop_ro("constants", &constants_of, "Inputs that the program brings itself.")
      .def_ro("by_tile_limits", &tensor::Compiled::by_tile_limits, "Instructions that tiles of 128 rows would need.")
      .def_ro("aliases", &tensor::Compiled::aliases, "Outputs that are inputs, updated in place.")
      .def_prop_ro(
          "regions",
          [](const tensor::Compiled& made) {
            nb::list out;
            for (const auto& r : made.regions) out.append(describe(r));
            return out;
          },
          "What the report says of each fused group.");
}

void bind_model(nb::module_& m) {
  nb::class_<tensor::Model>(m, "TensorModel", "A tensor program as one kernel, or several that are called in order.")
      .def_prop_ro(
          "kernels",
          [](std::shared_ptr<tensor::Model> model) {
            std::vector<std::shared_ptr<tensor::Compiled>> out;
            for (tensor::Compiled& k : model->kernels) out.emplace_back(model, &k);
            return out;
          },
          "Each kernel once.")
      .def_prop_ro(
          "steps",
          [](const tensor::Model& model) {
            nb::list out;
            for (const tensor::Step& s : model.steps) out.append(nb::make_tuple(s.kernel, s.buffers));
            return out;
          },
          "The calls: which kernel, and which buffer each argument and result is.")
      .def_prop_ro(
          "buffers",
          [](const tensor::Model& model) {
            nb::list out;
            for (const tensor::Buffer& b : model.buffers) out.append(describe(b));
            return out;
          },
          "Tensors of the caller and between kernels.")
      .def_ro("aliases", &tensor::Model::aliases, "Outputs that are inputs, updated in place.")
      .def_ro("between_bytes", &tensor::Model::between_bytes, "HBM that buffers between kernels need.")
      .def_ro("handed_on_bytes", &tensor::Model::handed_on_bytes, "What they would need side by side.")
      .def_ro("scratch_bytes", &tensor::Model::scratch_bytes, "HBM within a kernel, the most of all.")
      .def("plan", &tensor::plan_json, nb::arg("files"), "Calls and buffers as JSON, with the files of the kernels.");
}

}  // namespace

void bind_tensor_graph(nb::module_& m) {
  nb::class_<Graph>(m, "TensorGraph", "A tensor program: what the compiler takes.")
      .def(nb::init<std::string>(), nb::arg("name") = "program")
      .def_static(
          "parse", [](const std::string& text, const std::string& file) { return tensor::parse(text, file); },
          nb::arg("text"), nb::arg("file_name") = "text", "A program in text form.")
      .def("__str__", [](const Graph& g) { return tensor::print(g); })
      .def(
          "input",
          [](Graph& g, std::string name, const std::string& dtype, Shape shape) {
            return g.input(std::move(name), type_of(dtype, std::move(shape)));
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), "An argument of the program.")
      .def(
          "constant",
          [](Graph& g, const std::string& dtype, Shape shape, std::vector<double> numbers) {
            return g.constant(type_of(dtype, std::move(shape)), std::move(numbers));
          },
          nb::arg("dtype"), nb::arg("shape"), nb::arg("numbers"), "One number for all elements, or one for each.")
      .def(
          "iota",
          [](Graph& g, const std::string& dtype, Shape shape, std::int64_t axis) {
            return g.iota(type_of(dtype, std::move(shape)), axis);
          },
          nb::arg("dtype"), nb::arg("shape"), nb::arg("axis"), "The index along an axis.")
      .def("number", &number, nb::arg("x"), nb::arg("beside"),
           "A Python number in the dtype that it takes beside a value.")
      .def("add", &add, nb::arg("op"), nb::arg("operands"), nb::arg("attributes"), "An op by its name.")
      .def(
          "output", [](Graph& g, std::string name, Value v) { g.output(std::move(name), v); }, nb::arg("name"),
          nb::arg("value"), "A result of the program.")
      .def(
          "type",
          [](const Graph& g, Value v) {
            if (v >= g.size()) refuse_graph(fmt::format("there is no value {}", v));
            return std::tuple(std::string(kiln::name(g.type(v).dtype)), g.type(v).shape);
          },
          nb::arg("value"), "dtype and shape of a value.")
      .def("evaluate", &evaluate, nb::arg("inputs"),
           "What the program means: outputs as doubles, from bytes of inputs.")
      .def("evaluate_ranks", &evaluate_ranks, nb::arg("inputs"),
           "The same on several ranks, which meet in collectives: inputs and outputs of each.")
      .def(
          "compile", &compile, nb::arg("target") = "trn2", nb::arg("level") = 2,
          nb::arg("donated") = std::vector<std::string>(), nb::arg("lnc") = 1,
          "The program of instructions; `donated` inputs may be overwritten; with `lnc` 2 one for each core of a pair.")
      .def("compile_model", &compile_model, nb::arg("target"), nb::arg("level"), nb::arg("donated"), nb::arg("lnc"),
           nb::arg("most_ops"), nb::arg("search").none(),
           "The same as one kernel, or as several that have at most `most_ops` ops each.")
      .def(
          "at",
          [](Graph& g, const std::string& file, int line) {
            g.at({file, line, {}, false});
          },
          nb::arg("file"), nb::arg("line"), "Ops that follow come from this line.")
      .def("push", &push, nb::arg("code"), nb::arg("operands"), nb::arg("attributes"),
           "An op by its number: (value, dtype, shape).")
      .def("constant_of_bytes", &constant_of_bytes, nb::arg("dtype"), nb::arg("shape"), nb::arg("data"),
           "A constant with these elements: (value, dtype, shape).")
      .def(
          "text",
          [](const Graph& g, bool places, bool digests) {
            return tensor::print(g, {.places = places, .digests = digests});
          },
          nb::arg("places") = false, nb::arg("digests") = false,
          "The program in text form; with `digests` in place of large constants, to tell programs apart.");
  bind_compiled(m);
  bind_model(m);
  bind_tuner(m);
  m.def(
      "tensor_ops",
      [] {
        std::map<std::string, std::tuple<int, bool>> out;
        for (tensor::OpCode code : tensor::all_ops())
          out[std::string(tensor::name(code))] = {tensor::info(code).operands, tensor::is_elementwise(code)};
        return out;
      },
      "Every op: how many operands, and whether it is elementwise.");
  m.def(
      "tensor_op_codes",
      [] {
        std::map<std::string, int> out;
        for (tensor::OpCode code : tensor::all_ops()) out[std::string(tensor::name(code))] = static_cast<int>(code);
        return out;
      },
      "The number of every op.");
  m.attr("MOST_KERNEL_OPS") = tensor::kMostOps;
}

}  // namespace kiln::python
