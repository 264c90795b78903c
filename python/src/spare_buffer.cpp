// SpareBuffer: memory for a result that goes back to where runs take theirs from when Python is done with it.
#include "kiln/sim/spare_memory.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

class SpareBuffer {
 public:
  explicit SpareBuffer(std::size_t bytes) : bytes_(bytes), data_(sim::take_memory(bytes)) {}
  ~SpareBuffer() { sim::give_memory_back(data_, bytes_); }
  SpareBuffer(const SpareBuffer&) = delete;
  SpareBuffer& operator=(const SpareBuffer&) = delete;

  static int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    const SpareBuffer& me = *nb::inst_ptr<SpareBuffer>(self);
    return PyBuffer_FillInfo(view, self, me.data_, static_cast<Py_ssize_t>(me.bytes_), 0, flags);
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&SpareBuffer::get_buffer)}, {0, nullptr}};

}  // namespace

void bind_spare_buffer(nb::module_& m) {
  nb::class_<SpareBuffer>(m, "SpareBuffer", nb::type_slots(buffer_slots), "Bytes of any content, for an array.")
      .def(nb::init<std::size_t>(), nb::arg("bytes"));
}

}  // namespace kiln::python
