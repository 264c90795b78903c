#include "kiln/base/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <limits>

#include "kiln/base/error.h"
#include "kiln/base/file.h"
#include "kiln/base/npy_header.h"

namespace kiln {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored as they are in memory");

constexpr std::size_t kMaxDimensions = 64;  // as NumPy

// How NumPy names the dtypes that it has.
struct Descr {
  std::string_view text;
  DType dtype;
};
constexpr Descr kDescrs[] = {
    {"|b1", DType::bool_},  {"|u1", DType::uint8},   {"|i1", DType::int8},
    {"<u2", DType::uint16}, {"<i2", DType::int16},   {"<u4", DType::uint32},
    {"<i4", DType::int32},  {"<f4", DType::float32}, {"<f2", DType::float16},
};
// What numpy.save writes for ml_dtypes.float8_e5m2. NumPy cannot load it again, so it is read here and never
// written.
constexpr Descr kReadOnlyDescr = {"<f1", DType::float8_e5m2};

// What to convert common dtypes to that NKI lacks.
struct Substitute {
  std::string_view descr;
  std::string_view remedy;
};
constexpr Substitute kSubstitutes[] = {
    {"f8", "save array.astype(np.float32)"},
    {"i8", "save array.astype(np.int32)"},
    {"u8", "save array.astype(np.uint32)"},
    {"c8", "save array.real and array.imag as two arrays"},
    {"c16", "save array.real and array.imag as two arrays, each with .astype(np.float32)"},
    {"O", "the array holds Python objects: build it with a dtype, such as np.array(values, np.float32)"},
};

std::optional<DType> dtype_of(std::string_view descr) {
  for (const Descr& d : kDescrs) {
    if (d.text == descr) return d.dtype;
  }
  if (descr == kReadOnlyDescr.text) return kReadOnlyDescr.dtype;
  return std::nullopt;
}

std::string descr_of(DType dtype) {
  if (dtype == DType::tfloat32) dtype = DType::float32;
  for (const Descr& d : kDescrs) {
    if (d.dtype == dtype) return std::string(d.text);
  }
  return fmt::format("<V{}", size_bytes(dtype));
}

// Bytes of one raw element, such as 2 for '<V2'; 0 when the elements are something else.
int raw_size(std::string_view descr) {
  for (const int size : {1, 2, 4}) {
    if (descr == fmt::format("<V{}", size) || descr == fmt::format("|V{}", size)) return size;
  }
  return 0;
}

// True when elements stored as `stored` are the bits of a `wanted`.
bool same_bits(DType stored, DType wanted) {
  if (stored == wanted || (stored == DType::float32 && wanted == DType::tfloat32)) return true;
  const DTypeClass cls = info(wanted).cls;
  return (cls == DTypeClass::packed || cls == DTypeClass::scale) && info(stored).cls == DTypeClass::unsigned_int &&
         size_bytes(stored) == size_bytes(wanted);
}

[[noreturn]] void fail_dtype(const std::string& descr, const std::string& name) {
  if (descr.starts_with('>')) npy_fail(npy_rules::kLittleEndian, name, "elements of dtype " + npy_quote(descr));
  std::string help;
  for (const Substitute& s : kSubstitutes) {
    if (descr.size() > 1 && descr.substr(1) == s.descr) help = s.remedy;
  }
  npy_fail(npy_rules::kElementDtype, name, "elements of dtype " + npy_quote(descr), help);
}

DType resolve_dtype(const std::string& descr, const std::string& name, std::optional<DType> expected) {
  const int raw = raw_size(descr);
  if (raw != 0 && !expected)
    npy_fail(npy_rules::kRawElements, name, fmt::format("raw elements of {} bytes (`{}`)", raw, descr));
  if (raw != 0 && raw == size_bytes(*expected)) return *expected;
  const std::optional<DType> stored = dtype_of(descr);
  if (raw == 0 && !stored) fail_dtype(descr, name);
  if (!expected) return *stored;
  if (!stored || !same_bits(*stored, *expected)) {
    npy_fail(npy_rules::kExpectedDtype, name,
             fmt::format("elements of dtype `{}`, {} expected", descr, kiln::name(*expected)));
  }
  return *expected;
}

// Dimensions of 0 do not hide a product that overflows: strides are computed from the others.
std::size_t checked_size_bytes(const std::vector<std::int64_t>& shape, DType dtype, const std::string& name) {
  if (shape.size() > kMaxDimensions) npy_fail(npy_rules::kShape, name, fmt::format("{} dimensions", shape.size()));
  std::int64_t size = size_bytes(dtype);
  bool empty = false;
  for (const std::int64_t d : shape) {
    if (d < 0) npy_fail(npy_rules::kShape, name, fmt::format("shape ({})", fmt::join(shape, ", ")));
    if (d > 0 && size > std::numeric_limits<std::int64_t>::max() / d) {
      npy_fail(npy_rules::kShape, name, fmt::format("shape ({}) of {}", fmt::join(shape, ", "), kiln::name(dtype)));
    }
    size *= d > 0 ? d : 1;
    empty |= d == 0;
  }
  return empty ? 0 : static_cast<std::size_t>(size);
}

struct Layout {
  DType dtype;
  NpyHeader header;
};

// Everything that can be wrong with the file is found here, before its elements are touched.
Layout check_file(std::span<const std::byte> file, const std::string& name, std::optional<DType> expected) {
  NpyHeader header = parse_npy_header(file, name);
  const DType dtype = resolve_dtype(header.descr, name, expected);
  const std::size_t wanted = checked_size_bytes(header.shape, dtype, name);
  const std::size_t present = file.size() - header.data_offset;
  if (present != wanted) {
    npy_fail(present < wanted ? npy_rules::kAllElements : npy_rules::kNothingAfter, name,
             fmt::format("shape ({}) of {} needs {} bytes, {} follow the header", fmt::join(header.shape, ", "),
                         kiln::name(dtype), wanted, present));
  }
  return {dtype, std::move(header)};
}

// Copies `in`, whose first index runs fastest, to `out`, whose last one does.
void fortran_to_c(const std::byte* in, std::byte* out, const std::vector<std::int64_t>& shape, std::size_t element) {
  std::vector<std::size_t> strides;  // of `in`, in bytes
  std::size_t total = element;
  for (const std::int64_t d : shape) {
    strides.push_back(total);
    total *= static_cast<std::size_t>(d);
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < total; to += element) {
    std::memcpy(out + to, in + from, element);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
}

NpyArray in_c_order(Layout layout, const std::byte* elements, std::size_t size) {
  NpyArray array{.dtype = layout.dtype, .shape = std::move(layout.header.shape), .data = {}};
  array.data.resize(size);
  fortran_to_c(elements, array.data.data(), array.shape, static_cast<std::size_t>(size_bytes(array.dtype)));
  return array;
}

}  // namespace

void npy_fail(const Rule& rule, const std::string& name, const std::string& found, const std::string& help) {
  raise(npy_rules::kTable, rule, {.found = found, .help = help, .loc = {.file = name}});
}

NpyArray parse_npy(std::span<const std::byte> file, const std::string& name, std::optional<DType> expected) {
  Layout layout = check_file(file, name, expected);
  const auto elements = file.subspan(layout.header.data_offset);
  if (layout.header.fortran_order) return in_c_order(std::move(layout), elements.data(), elements.size());
  return {layout.dtype, std::move(layout.header.shape), {elements.begin(), elements.end()}};
}

NpyArray read_npy(const std::string& path, std::optional<DType> expected, std::int64_t most) {
  std::vector<std::byte> file = read_file_bytes(path, most);
  Layout layout = check_file(file, path, expected);
  const auto offset = static_cast<std::ptrdiff_t>(layout.header.data_offset);
  if (layout.header.fortran_order) {
    return in_c_order(std::move(layout), file.data() + offset, file.size() - static_cast<std::size_t>(offset));
  }
  file.erase(file.begin(),
             file.begin() + offset);  // moves within the buffer: no second one for a large array
  return {layout.dtype, std::move(layout.header.shape), std::move(file)};
}

std::string npy_header(const NpyArray& array, const std::string& path) {
  const std::size_t wanted = checked_size_bytes(array.shape, array.dtype, path);
  if (wanted != array.data.size()) {
    npy_fail(npy_rules::kDataSize, path,
             fmt::format("shape ({}) of {} needs {} bytes, the array has {}", fmt::join(array.shape, ", "),
                         name(array.dtype), wanted, array.data.size()));
  }
  return print_npy_header({.descr = descr_of(array.dtype), .shape = array.shape}, path);
}

void write_npy(const std::string& path, const NpyArray& array) {
  const std::string header = npy_header(array, path);
  const FileParts file{path, {std::as_bytes(std::span(header)), array.data}};
  write_all_or_none(std::span(&file, 1));
}

}  // namespace kiln
