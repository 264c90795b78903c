// What the files about NkiTensor share. Every view is arithmetic on a builder's View.
#pragma once

#include <optional>
#include <string>

#include "python/src/bindings.h"
#include "python/src/convert.h"
#include "python/src/trace.h"

namespace kiln::python {

[[noreturn]] void bad_index(std::string found, std::string help);

// A dimension by number, negative ones from the end; throws when there is none.
int to_dim(const Tensor& tensor, std::int64_t dim);
inline int to_dim(const Tensor& tensor, IntArg dim) { return to_dim(tensor, to_int(dim, "a dimension")); }

// The tensor seen through another view of it.
Tensor with(const Tensor& tensor, isa::View view);

// Whether a view has elements that its storage has not.
bool reaches_outside(const Tensor& tensor, const isa::View& view);

// t[key], t.select, t.slice: indexing.cpp.
Tensor get_item(const Tensor& tensor, nb::handle key);
Tensor select(const Tensor& tensor, IntArg dim, nb::handle index);
Tensor slice(const Tensor& tensor, IntArg dim, nb::handle start, nb::handle end, nb::handle step);
void bind_dynamic_slice(nb::module_& m);

// t.ap: access_pattern.cpp.
Tensor ap(const Tensor& tensor, nb::handle pattern, nb::handle offset, nb::handle scalar_offset,
          nb::handle vector_offset, IntArg indirect_dim, nb::handle dtype);

// t.rearrange: rearrange.cpp.
Tensor rearrange(const Tensor& tensor, nb::handle src, nb::handle dst, nb::handle fixed_sizes);

// A tensor of the kernel that runs, as an object of Python.
nb::object new_tensor(Memory memory, isa::Role role, nb::handle shape, nb::handle dtype, nb::handle name,
                      std::optional<isa::Address> address);
void bind_ndarray(nb::module_& m);  // ndarray.cpp

// The methods that make views: tensor_views.cpp.
void bind_views(nb::class_<Tensor>& cls);

}  // namespace kiln::python
