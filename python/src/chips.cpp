// The facts about the chips that kernels may ask for.
#include <nanobind/stl/string_view.h>

#include "kiln/arch/arch.h"
#include "python/src/bindings.h"

namespace kiln::python {

void bind_chips(nb::module_& m) {
  nb::class_<Arch>(m, "Chip", "A chip as its kernels see it.")
      .def_ro("name", &Arch::name)
      .def_ro("other_name", &Arch::other_name, "What the environment may also call it; empty when nothing.")
      .def_ro("generation", &Arch::generation)
      .def_ro("generation_name", &Arch::generation_name)
      .def_ro("partitions", &Arch::partitions)
      .def_ro("sbuf_partition_bytes", &Arch::sbuf_partition_bytes)
      .def_prop_ro(
          "sbuf_available_bytes", [](const Arch& a) { return a.sbuf_partition_bytes - a.sbuf_reserved_bytes; },
          "Bytes of a partition of SBUF that kernels may use.")
      .def_ro("psum_banks", &Arch::psum_banks)
      .def_ro("psum_bank_bytes", &Arch::psum_bank_bytes, "Bytes of a bank of PSUM in a partition.")
      .def_ro("matmul_columns", &Arch::matmul_columns, "Columns of the stationary operand of a matrix product.")
      .def_ro("bn_stats_elements", &Arch::bn_stats_elements, "Elements of a row that bn_stats takes.");
  nb::dict chips;
  for (const Arch* a : all_archs()) chips[nb::cast(a->name)] = nb::cast(a, nb::rv_policy::reference);
  m.attr("chips") = chips;
}

}  // namespace kiln::python
