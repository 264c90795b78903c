// kiln::blas for Python: routines of CBLAS by their names, on addresses of arrays that Python keeps alive, and the
// choice of who computes.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "kernels/backend/backend.h"
#include "kernels/backend/call.h"
#include "kernels/backend/neuron.h"
#include "kernels/backend/program_cache.h"
#include "kernels/blas/gemm.h"
#include "kernels/blas/host/blas.h"
#include "kernels/blas/host/blocking.h"
#include "kernels/blas/host/mp2.h"
#include "kernels/blas/host/precision_scope.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

using namespace blas;
using Address = std::uintptr_t;
using Programs = std::shared_ptr<isa::Program>;

// How an argument of a routine crosses: pointers as addresses, words of CBLAS as their numbers.
template <class T>
struct Crossing {
  using type = T;
  static T from(type v) { return v; }
};
template <class T>
struct Crossing<T*> {
  using type = Address;
  static T* from(type v) { return reinterpret_cast<T*>(v); }  // NOLINT: of an array that Python holds
};
template <class T>
requires std::is_enum_v<T>
struct Crossing<T> {
  using type = int;
  static T from(type v) { return static_cast<T>(v); }
};

template <class R, class... Args>
void def(nb::module_& m, const std::string& name, R (*routine)(Args...)) {
  m.def(name.c_str(), [routine](typename Crossing<Args>::type... args) {
    nb::gil_scoped_release released;
    return routine(Crossing<Args>::from(args)...);
  });
}

// A letter and the names of what differs between real and complex matrices.
struct Names {
  std::string letter, sy, sp, sb, dot, ger;
};

template <class T>
void bind_level3(nb::module_& m, const std::string& l) {
  def(m, l + "gemm", &gemm<T>);
  def(m, l + "gemm_strided_batched", &gemm_strided_batched<T>);
  def(m, l + "symm", &symm<T>);
  def(m, l + "syrk", &syrk<T>);
  def(m, l + "syr2k", &syr2k<T>);
  def(m, l + "trmm", &trmm<T>);
  def(m, l + "trsm", &trsm<T>);
  def(m, l + "gemmt", &gemmt<T>);
  if constexpr (is_complex<T>) {
    def(m, l + "hemm", &hemm<T>);
    def(m, l + "herk", &herk<T>);
    def(m, l + "her2k", &her2k<T>);
  } else {
    def(m, l + "potrf", &potrf<T>);
    def(m, l + "mp2_energy", &mp2_energy<T>);
    def(m, l + "mp2_pair_energy", &mp2_pair_energy<T>);
    def(m, l + "mp2_reduce", &mp2_reduce<T>);
  }
}

template <class T>
void bind_type(nb::module_& m, const Names& n) {
  const std::string& l = n.letter;
  def(m, l + "axpy", &axpy<T>);
  def(m, l + "scal", &scal<T>);
  def(m, l + "copy", &blas::copy<T>);
  def(m, l + "swap", &blas::swap<T>);
  def(m, l + n.dot, &dot<T>);
  if (is_complex<T>) def(m, l + "dotc", &dotc<T>);
  def(m, l + "nrm2", &nrm2<T>);
  def(m, l + "asum", &asum<T>);
  def(m, "i" + l + "amax", &iamax<T>);
  def(m, l + "rot", &rot<T>);
  def(m, l + "rotg", &rotg<T>);
  def(m, l + "gemv", &gemv<T>);
  def(m, l + "gbmv", &gbmv<T>);
  def(m, l + n.sy + "mv", &hemv<T>);
  def(m, l + n.sb + "mv", &hbmv<T>);
  def(m, l + n.sp + "mv", &hpmv<T>);
  def(m, l + "trmv", &trmv<T>);
  def(m, l + "tbmv", &tbmv<T>);
  def(m, l + "tpmv", &tpmv<T>);
  def(m, l + n.ger, &ger<T>);
  if (is_complex<T>) def(m, l + "gerc", &gerc<T>);
  def(m, l + n.sy + "r", &her<T>);
  def(m, l + n.sy + "r2", &her2<T>);
  def(m, l + n.sp + "r", &hpr<T>);
  def(m, l + n.sp + "r2", &hpr2<T>);
  def(m, l + "trsv", &trsv<T>);
  def(m, l + "tbsv", &tbsv<T>);
  def(m, l + "tpsv", &tpsv<T>);
  bind_level3<T>(m, l);
}

void bind_names(nb::module_& m) {
  bind_type<float>(m, {"s", "sy", "sp", "sb", "dot", "ger"});
  bind_type<double>(m, {"d", "sy", "sp", "sb", "dot", "ger"});
  bind_type<std::complex<float>>(m, {"c", "he", "hp", "hb", "dotu", "geru"});
  bind_type<std::complex<double>>(m, {"z", "he", "hp", "hb", "dotu", "geru"});
  def(m, "srotm", &rotm<float>);
  def(m, "drotm", &rotm<double>);
  def(m, "srotmg", &rotmg<float>);
  def(m, "drotmg", &rotmg<double>);
  def(m, "dsdot", &dsdot);
  def(m, "sdsdot", &sdsdot);
  def<void, Precision, Layout, Transpose, Transpose, Int, Int, Int, float, const float*, Int, const float*, Int, float,
      float*, Int>(m, "sgemm_in", &gemm);
  def(m, "product_error", &product_error);
}

// A buffer of Python that is given back.
struct PlainMatrix {
  Py_buffer view{};
  bool is_there;
  explicit PlainMatrix(nb::handle array, int flags)
      : is_there(PyObject_GetBuffer(array.ptr(), &view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) {
    if (!is_there) PyErr_Clear();
  }
  PlainMatrix(const PlainMatrix&) = delete;
  ~PlainMatrix() {
    if (is_there) PyBuffer_Release(&view);
  }
  char letter() const { return is_there && view.ndim == 2 && view.format && !view.format[1] ? view.format[0] : 0; }
  Int rows() const { return view.shape[0]; }
  Int columns() const { return view.shape[1]; }
};

template <class T>
void plain_product(double alpha, const PlainMatrix& a, const PlainMatrix& b, const PlainMatrix& c) {
  const Int m = a.rows(), n = b.columns(), k = a.columns();
  const auto at = [](const PlainMatrix& x) { return static_cast<T*>(x.view.buf); };
  nb::gil_scoped_release released;
  gemm<T>(Layout::row_major, Transpose::no_trans, Transpose::no_trans, m, n, k, static_cast<T>(alpha), at(a), k, at(b),
          n, T(0), at(c), n);
}

// c = alpha a b where all three are matrices by rows without gaps that fit; whether they are.
bool plain_gemm(double alpha, nb::handle a, nb::handle b, nb::handle c) {
  const PlainMatrix left(a, 0), right(b, 0), result(c, PyBUF_WRITABLE);
  const char letter = left.letter();
  if ((letter != 'f' && letter != 'd') || right.letter() != letter || result.letter() != letter) return false;
  if (left.columns() != right.rows() || result.rows() != left.rows() || result.columns() != right.columns() ||
      left.columns() == 0 || result.rows() == 0 || result.columns() == 0)
    return false;
  (letter == 'f' ? plain_product<float> : plain_product<double>)(alpha, left, right, result);
  return true;
}

// The program of a product that is cut as asked, for whoever tries what is best.
Programs gemm_program(Int m, Int n, Int k, bool trans_a, bool trans_b, const std::string& dtype, int m_tiles,
                      int n_tiles, int k_tiles, int precision, const std::string& target) {
  kernels::GemmConfig config{.m = m,
                             .n = n,
                             .k = k,
                             .trans_a = trans_a,
                             .trans_b = trans_b,
                             .precision = static_cast<kernels::Precision>(precision),
                             .blocking = {m_tiles, n_tiles, k_tiles}};
  Target chip;
  if (!parse_dtype(dtype, config.dtype)) throw nb::value_error("dtype: it is none of NKI's");
  if (!parse_target(target, chip)) throw nb::value_error("target: it is none of trn1, trn2, trn3");
  return std::make_shared<isa::Program>(kernels::gemm(config, chip));
}

void bind_tuning(nb::module_& m) {
  m.def("plain_gemm", &plain_gemm);
  m.def("gemm_program", &gemm_program, nb::arg("m"), nb::arg("n"), nb::arg("k"), nb::arg("trans_a") = false,
        nb::arg("trans_b") = false, nb::arg("dtype") = "float32", nb::arg("m_tiles") = 0, nb::arg("n_tiles") = 0,
        nb::arg("k_tiles") = 0, nb::arg("precision") = 0, nb::arg("target") = "trn2");
  m.def("set_gemm_blocking", [](Int rows, Int columns, Int inner, int m_tiles, int n_tiles, int k_tiles) {
    blas::set_gemm_blocking(rows, columns, inner, {m_tiles, n_tiles, k_tiles});
  });
}

// For a with statement: the choice of one call.
struct ScopeOfPython {
  std::string choice;
  std::unique_ptr<backend::Scope> scope = {};
};

// The same for the precision of products.
struct PrecisionOfPython {
  int precision;
  std::unique_ptr<blas::PrecisionScope> scope = {};
};

nb::dict dict_of(const backend::Array& a) {
  nb::dict out;
  out["name"] = a.name;
  out["address"] = reinterpret_cast<Address>(a.data);
  out["shape"] = nb::tuple(nb::cast(a.shape));
  out["dtype"] = std::string(name(a.dtype));
  return out;
}

void register_executor(nb::object why_not, nb::object has_device, nb::object run) {
  backend::register_neuron({.why_not =
                                [why_not] {
                                  nb::gil_scoped_acquire gil;
                                  return nb::cast<std::string>(why_not());
                                },
                            .has_device =
                                [has_device] {
                                  nb::gil_scoped_acquire gil;
                                  return nb::cast<bool>(has_device());
                                },
                            .run =
                                [run](const std::vector<std::shared_ptr<const isa::Program>>& programs,
                                      const std::vector<backend::Array>& arrays) {
                                  nb::gil_scoped_acquire gil;
                                  nb::list cores, list;
                                  for (const auto& p : programs) cores.append(std::make_shared<isa::Program>(*p));
                                  for (const backend::Array& a : arrays) list.append(dict_of(a));
                                  run(cores, list);
                                }});
}

std::optional<backend::LastCall> last_call() {
  const backend::LastCall& last = backend::last_call();
  return last.is_known() ? std::optional(last) : std::nullopt;
}

void bind_last_call(nb::module_& m) {
  using backend::LastCall;
  nb::class_<LastCall>(m, "LastCall")
      .def_ro("operation", &LastCall::operation)
      .def_prop_ro("backend", [](const LastCall& c) { return std::string(backend::name(c.backend)); })
      .def_prop_ro("target", [](const LastCall& c) { return std::string(arch(c.target).name); })
      .def("programs",
           [](const LastCall& c) {
             std::vector<Programs> cores;
             for (const auto& p : backend::programs_of(c)) cores.push_back(std::make_shared<isa::Program>(*p));
             return cores;
           })
      .def("predicted_ns", [](const LastCall& c) -> std::optional<double> {
        nb::gil_scoped_release released;
        return c.make ? std::optional(backend::predicted_ns(c)) : std::nullopt;
      });
  m.def("last_call", &last_call);
}

void bind_backend(nb::module_& m) {
  m.def(
      "set_backend", [](const std::string& choice) { backend::set_backend(choice); }, nb::arg("backend"));
  m.def("get_backend", &backend::get_backend);
  m.def("scope_choice", &backend::scope_choice);
  m.def("backend_choices", &backend::choices);
  m.def("current_backend",
        [](const std::string& library) { return std::string(backend::name(backend::current(library))); });
  m.def(
      "set_target", [](const std::string& chip) { backend::set_target(chip); }, nb::arg("chip"));
  m.def("get_target", [] { return std::string(arch(backend::current_target()).name); });
  m.def("register_neuron", &register_executor, nb::arg("why_not"), nb::arg("has_device"), nb::arg("run"));
  m.def("cached_program_count", &backend::cached_program_count);
  m.def("clear_programs", &backend::clear_programs);
  nb::class_<ScopeOfPython>(m, "BackendScope")
      .def("__init__", [](ScopeOfPython* self, std::string choice) { new (self) ScopeOfPython{std::move(choice)}; })
      .def("__enter__", [](ScopeOfPython& s) { s.scope = std::make_unique<backend::Scope>(s.choice); })
      .def("__exit__", [](ScopeOfPython& s, nb::args) { s.scope.reset(); });
  nb::class_<PrecisionOfPython>(m, "PrecisionScope")
      .def("__init__", [](PrecisionOfPython* self, int precision) { new (self) PrecisionOfPython{precision}; })
      .def("__enter__",
           [](PrecisionOfPython& s) {
             s.scope = std::make_unique<blas::PrecisionScope>(static_cast<Precision>(s.precision));
           })
      .def("__exit__", [](PrecisionOfPython& s, nb::args) { s.scope.reset(); });
}

}  // namespace

void bind_blas(nb::module_& m) {
  nb::module_ sub = m.def_submodule("blas", "The native half of kiln.blas.");
  bind_names(sub);
  bind_tuning(sub);
  bind_last_call(sub);
  bind_backend(sub);
}

}  // namespace kiln::python
