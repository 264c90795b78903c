// Views: arithmetic on offsets and strides, nothing else.
#include <fmt/format.h>

#include "kiln/isa/builder/builder.h"
#include "kiln/isa/builder/builder_rules.h"
#include "kiln/isa/semantics/operand_rules.h"

namespace kiln::isa {
namespace {

[[noreturn]] void refuse(const std::string& found, const std::string& help) {
  raise(builder_rules::kTable, builder_rules::kView, {.found = found, .help = help});
}

void require_static(const Access& a) {
  if (a.dynamic != kNone)
    raise(builder_rules::kTable, builder_rules::kRunTime, {.found = "a second run-time address of one view"});
}

// Dimensions before `first` are partitions, or rows that indices address.
void require_free(int d, int first, int rank, const char* method) {
  if (d < first || d >= rank)
    refuse(fmt::format("{} of dimension {} of a view of {} dimensions", method, d, rank),
           first ? fmt::format("dimension 0 stays as it is on chip and in gathered rows: 1 to {}", rank - 1)
                 : fmt::format("dimensions are 0 to {}", rank - 1));
}

void add_terms(std::vector<Term>& terms, const std::vector<Term>& more, std::int64_t factor) {
  for (const Term& m : more) {
    bool merged = false;
    for (Term& t : terms) {
      if (t.loop == m.loop) t.coefficient += m.coefficient * factor, merged = true;
    }
    if (!merged) terms.push_back({m.loop, m.coefficient * factor});
  }
  std::erase_if(terms, [](const Term& t) { return t.coefficient == 0; });
}

}  // namespace

Index Index::variable(LoopId loop) {
  Index i;
  i.terms_.push_back({loop, 1});
  return i;
}

Index& Index::operator+=(const Index& other) {
  constant_ += other.constant_;
  add_terms(terms_, other.terms_, 1);
  return *this;
}

Index operator*(Index a, std::int64_t factor) {
  a.constant_ *= factor;
  for (Term& t : a.terms_) t.coefficient *= factor;
  return a;
}

Shape View::shape() const {
  Shape s;
  for (int i = 0; i < rank(); ++i) s.push_back(dim(i));
  return s;
}

bool View::is_gathered(int d) const {
  if (access_.dynamic == kNone) return false;
  return kernel_->program_.dynamics[access_.dynamic].kind == (d == 0 ? Dynamic::Kind::vector : Dynamic::Kind::indirect);
}

// Dimensions before this one cannot be moved or split: partitions, and rows that indices address.
int View::first_free() const { return on_chip() || is_gathered(0) ? 1 : 0; }

// Elements of this dtype in one partition; all of them in HBM.
std::int64_t View::row_elements() const {
  return kernel_->program_.tensors[tensor()].bytes_per_partition() / size_bytes(dtype());
}

std::int64_t View::stride(int i) const { return on_chip() && i == 0 ? row_elements() : access_.dims[i].stride; }

std::int64_t View::offset() const {
  return access_.offset.constant + (on_chip() ? access_.partition.constant * row_elements() : 0);
}

// Moves the view's first element along a dimension.
void View::move(int d, const Index& start) {
  const bool partition = on_chip() && d == 0;
  Affine& to = partition ? access_.partition : access_.offset;
  const std::int64_t stride = partition ? 1 : access_.dims[d].stride;
  to.constant += start.constant() * stride;
  add_terms(partition ? partition_terms_ : offset_terms_, start.terms(), stride);
}

View View::slice(int d, const Index& start, std::int64_t size, std::int64_t step) const {
  if (d < 0 || d >= rank() || size < 1 || step < 1 || (on_chip() && d == 0 && step != 1))
    refuse(fmt::format("slice of dimension {} with size {} and step {}", d, size, step),
           "sizes and steps are positive; the partition dimension has no step");
  if (is_gathered(d) && !(start.is_constant() && start.constant() == 0 && size == dim(d) && step == 1))
    refuse("slice of a dimension that indices address", "slice the indices, or slice before vector_offset or indirect");
  if (start.is_constant() && (start.constant() < 0 || start.constant() + (size - 1) * step >= dim(d)))
    refuse(fmt::format("{} elements from {} on of dimension {}, which has {}", size, start.constant(), d, dim(d)),
           "keep the slice inside the dimension");
  View v = *this;
  v.move(d, start);
  v.access_.dims[d] = {access_.dims[d].stride * step, size};
  return v;
}

View View::select(int d, const Index& index) const {
  View v = slice(d, index, 1);
  if (rank() == (on_chip() ? 2 : 1) || (on_chip() && d == 0)) return v;
  for (int i = d; i + 1 < rank(); ++i) v.access_.dims[i] = v.access_.dims[i + 1];
  v.access_.rank--;
  return v;
}

View View::index(const std::vector<Slice>& slices) const {
  if (static_cast<int>(slices.size()) > rank())
    refuse(fmt::format("{} indices for {} dimensions", slices.size(), rank()), "one index per dimension");
  View v = *this;
  bool drop[kMaxRank] = {};
  int d = 0;
  for (const Slice& s : slices) {
    if (s.kind != Slice::Kind::whole) v = v.slice(d, s.start, s.size, s.step);
    drop[d] = s.kind == Slice::Kind::index && !(on_chip() && d == 0);
    ++d;
  }
  int kept = 0;
  const int least = on_chip() ? 2 : 1;
  int remaining = rank();
  for (int i = 0; i < rank(); ++i) {
    if (drop[i] && remaining > least) {
      --remaining;
      continue;
    }
    v.access_.dims[kept++] = v.access_.dims[i];
  }
  v.access_.rank = static_cast<std::uint8_t>(kept);
  return v;
}

View View::permute(const std::vector<int>& dims) const {
  if (static_cast<int>(dims.size()) != rank())
    refuse(fmt::format("permutation of {} dimensions by {} numbers", rank(), dims.size()), "name every dimension once");
  View v = *this;
  int i = 0, seen = 0;
  for (int d : dims) {
    if (d < 0 || d >= rank() || (seen >> d & 1))
      refuse(fmt::format("dimension {} {} in a permutation of {} dimensions", d,
                         d < 0 || d >= rank() ? "which is none" : "twice", rank()),
             "name every dimension once");
    if (i < first_free() && i != d)
      refuse(fmt::format("a permutation that puts dimension {} first", d),
             "dimension 0 stays first on chip and in gathered rows: permute the others, or move the data with "
             "nc_transpose or a DMA");
    seen |= 1 << d;
    v.access_.dims[i++] = access_.dims[d];
  }
  return v;
}

View View::broadcast(int d, std::int64_t size) const {
  require_free(d, first_free(), rank(), "broadcast");
  if (dim(d) != 1 || size < 1)
    refuse(fmt::format("broadcast of dimension {}, which has {} elements, to {}", d, dim(d), size),
           "broadcast a dimension of size 1 to 1 or more: slice it or expand_dim first");
  View v = *this;
  v.access_.dims[d] = {0, size};
  return v;
}

View View::expand_dim(int d) const {
  if (d < first_free() || d > rank())
    refuse(fmt::format("a new dimension at {} of a view of {} dimensions", d, rank()),
           fmt::format("dimension 0 stays first on chip and in gathered rows: {} to {}", first_free(), rank()));
  if (rank() == max_rank(on_chip()))
    refuse(fmt::format("a new dimension of a view that has {}", rank()),
           "a view has at most 5 dimensions on chip, 8 in HBM: flatten_dims first");
  View v = *this;
  for (int i = rank(); i > d; --i) v.access_.dims[i] = v.access_.dims[i - 1];
  v.access_.dims[d] = {1, 1};
  v.access_.rank++;
  return v;
}

View View::reshape_dim(int d, const Shape& sizes) const {
  std::int64_t product = sizes.size() ? 1 : 0;
  for (auto s : sizes) product = s < 1 ? 0 : product * s;
  const int extra = static_cast<int>(sizes.size()) - 1;
  require_free(d, first_free(), rank(), "reshape_dim");
  if (product != dim(d))
    refuse(fmt::format("dimension {}, which has {} elements, as ({})", d, dim(d), fmt::join(sizes, ", ")),
           "the product of the sizes is the dimension's size; one of them may be -1");
  if (rank() + extra > max_rank(on_chip()))
    refuse(fmt::format("a view of {} dimensions", rank() + extra),
           "a view has at most 5 dimensions on chip, 8 in HBM: flatten_dims first");
  View v = *this;
  for (int i = rank() - 1; i > d; --i) v.access_.dims[i + extra] = access_.dims[i];
  std::int64_t stride = access_.dims[d].stride;
  for (int i = extra; i >= 0; --i) {
    v.access_.dims[d + i] = {stride, sizes[i]};
    stride *= sizes[i];
  }
  v.access_.rank = static_cast<std::uint8_t>(rank() + extra);
  return v;
}

View View::flatten_dims(int first, int last) const {
  require_free(first, first_free(), rank(), "flatten_dims");
  if (last >= rank() || first > last)
    refuse(fmt::format("flatten_dims of dimensions {} to {}", first, last), "the first one comes before the last");
  Dim merged = access_.dims[last];
  for (int i = last - 1; i >= first; --i) {
    const Dim& outer = access_.dims[i];
    if (outer.count == 1) continue;  // its stride is never taken
    if (merged.count != 1 && outer.stride != merged.stride * merged.count)
      refuse("dimensions that do not follow each other in memory", "copy the tile first");
    merged = {merged.count == 1 ? outer.stride : merged.stride, merged.count * outer.count};
  }
  View v = *this;
  v.access_.dims[first] = merged;
  for (int i = last + 1; i < rank(); ++i) v.access_.dims[first + i - last] = access_.dims[i];
  v.access_.rank = static_cast<std::uint8_t>(rank() - (last - first));
  return v;
}

View View::squeeze_dim(int d) const {
  require_free(d, first_free(), rank(), "squeeze_dim");
  if (dim(d) != 1)
    refuse(fmt::format("squeeze_dim of dimension {}, which has {} elements", d, dim(d)),
           "squeeze a dimension of size 1; to take one element of it, select(dim, index)");
  if (rank() == (on_chip() ? 2 : 1))
    refuse(fmt::format("the only free dimension of {}", rank()), "a view keeps at least one free dimension");
  View v = *this;
  for (int i = d; i + 1 < rank(); ++i) v.access_.dims[i] = v.access_.dims[i + 1];
  v.access_.rank--;
  return v;
}

// Blocks of dimensions that follow each other in memory are cut anew, from the innermost outward; a new
// dimension must divide what is left of its block.
View View::reshape(const Shape& to) const {
  const int first = first_free();
  std::int64_t product = 1, count = 1;
  for (const std::int64_t n : to) {
    if (n < 1 || __builtin_mul_overflow(product, n, &product)) product = 0;
  }
  for (int i = 0; i < rank(); ++i) count *= dim(i);
  if (product != count || static_cast<int>(to.size()) > max_rank(on_chip()) || to.size() < (on_chip() ? 2u : 1u) ||
      (first && to[0] != dim(0)))
    refuse(fmt::format("shape ({}) as ({})", fmt::join(shape(), ", "), fmt::join(to, ", ")),
           on_chip()
               ? "the number of elements and dimension 0 stay, 2 to 5 dimensions; write every size. Data changes its "
                 "partition on the way only: reshape the tensor in HBM before it is loaded, or move it with dma_copy"
               : "the number of elements stays, 1 to 8 dimensions; write every size");
  std::vector<Dim> blocks;  // outermost first, no unit dimensions
  for (int i = first; i < rank(); ++i) {
    const Dim d = access_.dims[i];
    if (d.count == 1) continue;
    if (!blocks.empty() && blocks.back().stride == d.stride * d.count)
      blocks.back() = {d.stride, blocks.back().count * d.count};
    else
      blocks.push_back(d);
  }
  View v = *this;
  v.access_.rank = static_cast<std::uint8_t>(to.size());
  for (int i = static_cast<int>(to.size()) - 1; i >= first; --i) {
    while (!blocks.empty() && blocks.back().count == 1) blocks.pop_back();
    if (to[i] == 1 || blocks.empty()) {
      v.access_.dims[i] = {1, to[i]};
      continue;
    }
    Dim& block = blocks.back();
    if (block.count % to[i])
      refuse(fmt::format("shape ({}) as ({})", fmt::join(shape(), ", "), fmt::join(to, ", ")),
             "these strides cannot take that shape without a copy: copy the tile first");
    v.access_.dims[i] = {block.stride, to[i]};
    block = {block.stride * to[i], block.count / to[i]};
  }
  return v;
}

View View::view(DType to) const {
  const std::int64_t from_size = size_bytes(dtype()), to_size = size_bytes(to);
  View v = *this;
  v.access_.dtype = to;
  if (from_size == to_size) return v;
  if (access_.dynamic != kNone)
    refuse("a view of a run-time address", "reinterpret the bytes first, then give the address");
  const auto scale = [&](std::int64_t x) {
    if (x * from_size % to_size)
      refuse(fmt::format("{} as {}, where {} elements are no whole number", name(dtype()), name(to), x),
             "last dimension, offset and outer strides are multiples of the ratio of the sizes");
    return x * from_size / to_size;
  };
  if (access_.dims[rank() - 1].stride != 1)
    refuse("a view of a strided last dimension", "the last dimension is contiguous");
  if (on_chip()) scale(row_elements());  // the stride of partitions
  for (int i = on_chip() ? 1 : 0; i < rank() - 1; ++i) v.access_.dims[i].stride = scale(access_.dims[i].stride);
  v.access_.dims[rank() - 1].count = scale(dim(rank() - 1));
  v.access_.offset.constant = scale(access_.offset.constant);
  for (Term& t : v.offset_terms_) t.coefficient = scale(t.coefficient);
  return v;
}

View View::ap(const std::vector<Dim>& pattern, const Index& offset, std::optional<DType> as) const {
  if (static_cast<int>(pattern.size()) > max_rank(on_chip()) || pattern.size() < (on_chip() ? 2u : 1u))
    refuse(fmt::format("a pattern of {} pairs", pattern.size()), "2 to 5 pairs on chip, 1 to 8 in HBM");
  if (is_gathered(0) || is_gathered(1)) require_static(access_);
  View v = *this;
  v.access_.dtype = as.value_or(dtype());
  v.offset_terms_ = offset.terms();
  v.partition_terms_.clear();
  v.access_.partition = {};
  v.access_.offset = {offset.constant(), 0, 0};
  v.access_.rank = static_cast<std::uint8_t>(pattern.size());
  std::copy(pattern.begin(), pattern.end(), v.access_.dims);
  if (!on_chip()) return v;
  const std::int64_t row = v.row_elements();
  if (pattern[0].stride != row && pattern[0].count != 1)  // a single partition takes no step
    refuse(fmt::format("a partition step of {} elements", pattern[0].stride),
           fmt::format("partitions follow each other: the step is the tensor's free size, {}", row));
  // The offset counts elements of the whole tensor: whole rows of it are partitions.
  v.access_.dims[0].stride = 1;
  v.access_.partition.constant = offset.constant() / row;
  v.access_.offset.constant = offset.constant() % row;
  std::erase_if(v.offset_terms_, [&](const Term& t) {
    if (t.coefficient % row) return false;
    v.partition_terms_.push_back({t.loop, t.coefficient / row});
    return true;
  });
  return v;
}

View View::scalar_offset(Reg reg, std::int64_t scale) const {
  require_static(access_);
  View v = *this;
  auto& dynamics = kernel_->program_.dynamics;
  v.access_.dynamic = static_cast<std::uint32_t>(dynamics.size());
  dynamics.push_back({Dynamic::Kind::scalar_register, reg.id, scale});
  return v;
}

View View::scalar_offset(const View& value, std::int64_t scale) const {
  require_static(access_);
  View v = *this;
  const std::uint32_t source = kernel_->add_access(value);
  v.access_.dynamic = static_cast<std::uint32_t>(kernel_->program_.dynamics.size());
  kernel_->program_.dynamics.push_back({Dynamic::Kind::scalar_tile, source, scale});
  return v;
}

View View::vector_offset(const View& indices) const {
  View v = vector_offset(indices, access_.dims[0].stride);
  v.access_.dims[0].count = indices.dim(0);
  return v;
}

View View::vector_offset(const View& indices, std::int64_t scale) const {
  require_static(access_);
  View v = *this;
  const std::uint32_t source = kernel_->add_access(indices);
  v.access_.dynamic = static_cast<std::uint32_t>(kernel_->program_.dynamics.size());
  kernel_->program_.dynamics.push_back({Dynamic::Kind::vector, source, scale});
  return v;
}

// Offsets count the elements that follow each other from the view's first one on.
View View::indirect(const View& indices, std::int64_t count) const {
  require_static(access_);
  Dim merged[kMaxRank];
  const int runs = merge_dims(access_.dims + 1, rank() - 1, merged);
  if (runs > 1 || (runs == 1 && merged[0].stride != 1))
    refuse("indirect on a view with gaps", "take elements that follow each other, and choose by the index");
  View v = *this;
  const std::uint32_t source = kernel_->add_access(indices);
  v.access_.dynamic = static_cast<std::uint32_t>(kernel_->program_.dynamics.size());
  kernel_->program_.dynamics.push_back({Dynamic::Kind::indirect, source, 1});
  v.access_.rank = 2;
  v.access_.dims[1] = {1, count};
  return v;
}

}  // namespace kiln::isa
