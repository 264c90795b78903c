// Cursor: reads the numbers and references of a sealed statement, one after the other, in the order of slots.h.
#pragma once

#include <span>

#include "kiln/emit/outline.h"

namespace kiln::emit {

class Cursor {
 public:
  explicit Cursor(const Item& item) : item_(item) {}
  // The constant, then the coefficients of the variables around.
  std::span<const std::int64_t> number() {
    return std::span(item_.numbers).subspan(item_.width * number_++, item_.width);
  }
  const Ref& ref() { return item_.refs[ref_++]; }
  std::size_t width() const { return item_.width; }
  // Past all that a statement in the body has.
  void skip(const Item& inside) {
    number_ += inside.row_count;
    ref_ += inside.ref_count;
  }

  struct State {
    std::size_t number, ref;
  };
  State state() const { return {number_, ref_}; }
  void restore(State state) {
    number_ = state.number;
    ref_ = state.ref;
  }

 private:
  const Item& item_;
  std::size_t number_ = 0, ref_ = 0;
};

}  // namespace kiln::emit
