// kiln::sparse for Python: operations on addresses of arrays that Python keeps alive.
#include "kernels/sparse/host/sparse.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "kernels/sparse/sparse_rules.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

using namespace sparse;
using Address = std::uintptr_t;

template <class T>
T* at(Address a) {
  return reinterpret_cast<T*>(a);  // NOLINT: of an array that Python holds
}

// Starts may have been written since the matrix was made: nothing is read beyond what Python holds.
template <class Matrix>
Matrix holding(const Matrix& matrix, const nb::handle& held) {
  const Int count = nb::cast<Int>(held);
  if (matrix.count() != count)
    raise(kernels::sparse_rules::kTable, kernels::sparse_rules::kIndex,
          {.found = fmt::format("starts that end at {} for {} elements", matrix.count(), count)});
  return matrix;
}

// A matrix crosses as a tuple: (rows, columns, row_start, column, values, count), for blocks with their size.
template <class T>
Csr<T> csr(const nb::tuple& t) {
  return holding(Csr<T>{nb::cast<Int>(t[0]), nb::cast<Int>(t[1]), at<const Int>(nb::cast<Address>(t[2])),
                        at<const Int>(nb::cast<Address>(t[3])), at<const T>(nb::cast<Address>(t[4]))},
                 t[5]);
}

template <class T>
Bsr<T> bsr(const nb::tuple& t) {
  return holding(
      Bsr<T>{nb::cast<Int>(t[0]), nb::cast<Int>(t[1]), nb::cast<Int>(t[2]), at<const Int>(nb::cast<Address>(t[3])),
             at<const Int>(nb::cast<Address>(t[4])), at<const T>(nb::cast<Address>(t[5]))},
      t[6]);
}

// The memory of an array without gaps, asked for once: its address by way of Python takes as long as a small product.
class ArrayMemory {
 public:
  ArrayMemory(const nb::handle& array, int flags) {
    if (PyObject_GetBuffer(array.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  ~ArrayMemory() { PyBuffer_Release(&view_); }
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;
  template <class T>
  T* data() const {
    return static_cast<T*>(view_.buf);
  }

 private:
  Py_buffer view_{};
};

template <class T>
void bind_products(nb::module_& m, const std::string& l) {
  // c = a b, of arrays whose shapes the caller has looked at.
  m.def((l + "plain_spmm").c_str(), [](const nb::tuple& a, Int n, const nb::handle& b, const nb::handle& c) {
    const Csr<T> matrix = csr<T>(a);
    const ArrayMemory from(b, PyBUF_SIMPLE), to(c, PyBUF_WRITABLE);
    nb::gil_scoped_release released;
    spmm<T>(matrix, n, T(1), from.data<const T>(), T(0), to.data<T>());
  });
  m.def((l + "spmm").c_str(), [](const nb::tuple& a, Int n, T alpha, Address b, T beta, Address c) {
    const Csr<T> matrix = csr<T>(a);
    nb::gil_scoped_release released;
    spmm<T>(matrix, n, alpha, at<const T>(b), beta, at<T>(c));
  });
  m.def((l + "bsr_spmm").c_str(), [](const nb::tuple& a, Int n, Address b, Address c) {
    const Bsr<T> matrix = bsr<T>(a);
    nb::gil_scoped_release released;
    bsr_spmm<T>(matrix, n, at<const T>(b), at<T>(c));
  });
  m.def((l + "sddmm").c_str(), [](const nb::tuple& a, Int n, Address x, Address y, Address values) {
    const Csr<T> matrix = csr<T>(a);
    nb::gil_scoped_release released;
    sddmm<T>(matrix, n, at<const T>(x), at<const T>(y), at<T>(values));
  });
  m.def((l + "bsr_sddmm").c_str(), [](const nb::tuple& a, Int n, Address x, Address y, Address blocks) {
    const Bsr<T> matrix = bsr<T>(a);
    nb::gil_scoped_release released;
    bsr_sddmm<T>(matrix, n, at<const T>(x), at<const T>(y), at<T>(blocks));
  });
  m.def((l + "screened_spmm").c_str(), [](Int rows, Int columns, Int n, bool trans_a, Address a, Address row_bound,
                                          Address column_bound, T limit, Address b, Address c) {
    nb::gil_scoped_release released;
    screened_spmm<T>(rows, columns, n, trans_a, at<const T>(a), at<const T>(row_bound), at<const T>(column_bound),
                     limit, at<const T>(b), at<T>(c));
  });
  m.def((l + "spgemm").c_str(), [](const nb::tuple& a, const nb::tuple& b, const nb::tuple& places, Address values) {
    const Csr<T> left = csr<T>(a), right = csr<T>(b), result = csr<T>(places);
    nb::gil_scoped_release released;
    spgemm<T>(left, right, result, at<T>(values));
  });
}

using PairOfResults = std::pair<Int, double>;

template <class T>
void bind_solvers(nb::module_& m, const std::string& l) {
  m.def((l + "conjugate_gradient").c_str(),
        [](const nb::tuple& a, Address b, Address x, double tol, Int most, int kind, Address inverse,
           std::optional<nb::tuple> preconditioner) -> PairOfResults {
          const Bsr<T> matrix = bsr<T>(a), m = preconditioner ? bsr<T>(*preconditioner) : Bsr<T>();
          nb::gil_scoped_release released;
          const Solved s =
              conjugate_gradient<T>(matrix, at<const T>(b), at<T>(x), tol, most, static_cast<Preconditioned>(kind),
                                    at<const T>(inverse), preconditioner ? &m : nullptr);
          return {s.passes, s.residual};
        },
        nb::arg("a"), nb::arg("b"), nb::arg("x"), nb::arg("tol"), nb::arg("most"), nb::arg("kind"), nb::arg("inverse"),
        nb::arg("preconditioner").none());
  m.def((l + "fixed_iteration").c_str(),
        [](const nb::tuple& a, Address b, Address x, Int steps, Address alpha, Address beta) -> PairOfResults {
          const Bsr<T> matrix = bsr<T>(a);
          nb::gil_scoped_release released;
          const Solved s =
              fixed_iteration<T>(matrix, at<const T>(b), at<T>(x), steps, at<const T>(alpha), at<const T>(beta));
          return {s.passes, s.residual};
        });
  m.def((l + "power_iteration").c_str(), [](const nb::tuple& a, Address v, double tol, Int most) -> PairOfResults {
    const Bsr<T> matrix = bsr<T>(a);
    nb::gil_scoped_release released;
    const Solved s = power_iteration<T>(matrix, at<T>(v), tol, most);
    return {s.passes, s.residual};
  });
}

// (heads, queries, keys, head, row_start, column, mask, masks, mask_count, scale)
Attention attention_of(const nb::tuple& t) {
  Attention a;
  a.heads = nb::cast<Int>(t[0]), a.queries = nb::cast<Int>(t[1]), a.keys = nb::cast<Int>(t[2]);
  a.head = nb::cast<Int>(t[3]);
  a.row_start = at<const Int>(nb::cast<Address>(t[4])), a.column = at<const Int>(nb::cast<Address>(t[5]));
  a.mask = at<const Int>(nb::cast<Address>(t[6])), a.masks = at<const float>(nb::cast<Address>(t[7]));
  a.mask_count = nb::cast<Int>(t[8]), a.scale = nb::cast<double>(t[9]);
  return a;
}

void bind_attention(nb::module_& m) {
  m.def("attention", [](const nb::tuple& given, int elements, Address q, Address k, Address v, Address out,
                        Address minus_lse, Address unrounded) {
    const Attention a = attention_of(given);
    nb::gil_scoped_release released;
    attention(a, static_cast<Elements>(elements), at<void>(q), at<void>(k), at<void>(v), at<void>(out),
              at<void>(minus_lse), at<float>(unrounded));
  });
  m.def("attention_backward", [](const nb::tuple& given, int elements, Address q, Address k, Address v, Address out,
                                 Address minus_lse, Address dout, Address dq, Address dk, Address dv) {
    const Attention a = attention_of(given);
    nb::gil_scoped_release released;
    attention_backward(a, static_cast<Elements>(elements), at<void>(q), at<void>(k), at<void>(v), at<void>(out),
                       at<void>(minus_lse), at<void>(dout), at<void>(dq), at<void>(dk), at<void>(dv));
  });
}

}  // namespace

void bind_sparse(nb::module_& m) {
  nb::module_ sub = m.def_submodule("sparse", "The native half of kiln.sparse.");
  bind_products<float>(sub, "s");
  bind_products<double>(sub, "d");
  bind_solvers<float>(sub, "s");
  bind_solvers<double>(sub, "d");
  bind_attention(sub);
  sub.def("spgemm_places", [](const nb::tuple& a, const nb::tuple& b) {
    std::vector<Int> row_start, column;
    spgemm_places<double>(csr<double>(a), csr<double>(b), row_start, column);
    return std::pair(row_start, column);
  });
}

}  // namespace kiln::python
