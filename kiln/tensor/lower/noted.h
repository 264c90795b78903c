// Noted: an option that knows whether anybody asked for it. A program that was built without asking for an option is
// the same whatever the option says.
#pragma once

namespace kiln::tensor {

template <class T>
class Noted {
 public:
  Noted(T value) : value_(value) {}  // NOLINT(google-explicit-constructor): an option is written as its value
  operator T() const {               // NOLINT(google-explicit-constructor): and read as it
    asked_ = true;
    return value_;
  }
  void forget() const { asked_ = false; }
  bool was_asked() const { return asked_; }
  bool says_the_same(const Noted& other) const { return value_ == other.value_; }  // which does not ask

 private:
  T value_;
  mutable bool asked_ = false;
};

}  // namespace kiln::tensor
