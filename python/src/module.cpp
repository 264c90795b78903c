#include "python/src/bindings.h"

// The native half of the package `kiln`. Everything here is private: users see it through kiln and kiln.nki.
NB_MODULE(_kiln, m) {
  using namespace kiln::python;
  nanobind::set_leak_warnings(false);  // tokens and dtypes live as long as the interpreter
  m.attr("__version__") = KILN_VERSION;
  bind_settings(m);
  bind_chips(m);
  bind_errors(m);
  bind_locations(m);
  bind_frames(m);
  bind_ops(m);
  bind_trace(m);
  bind_tensor(m);
  bind_isa(m);
  bind_program(m);
  bind_spare_buffer(m);
  bind_timing(m);
  bind_cli(m);
  bind_fragments(m);
  bind_probes(m);
  bind_last_write(m);
  bind_precision(m);
  bind_user_call(m);
  bind_emit(m);
  bind_blas(m);
  bind_fft(m);
  bind_sparse(m);
  bind_tensor_graph(m);
}
