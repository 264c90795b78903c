// What the binding files share: one function per file that adds its part to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace kiln::python {

namespace nb = nanobind;

void bind_settings(nb::module_& m);
void bind_chips(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_locations(nb::module_& m);
void bind_frames(nb::module_& m);
void bind_ops(nb::module_& m);
void bind_trace(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_isa(nb::module_& m);
void bind_program(nb::module_& m);
void bind_spare_buffer(nb::module_& m);
void bind_timing(nb::module_& m);
void bind_cli(nb::module_& m);
void bind_fragments(nb::module_& m);
void bind_probes(nb::module_& m);
void bind_last_write(nb::module_& m);
void bind_precision(nb::module_& m);
void bind_user_call(nb::module_& m);
void bind_emit(nb::module_& m);
void bind_blas(nb::module_& m);
void bind_fft(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_tensor_graph(nb::module_& m);

}  // namespace kiln::python
