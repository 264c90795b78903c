// ShortVector: a vector of plain values of which the first few need no memory of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace kiln {

template <class T, std::uint32_t kFew>
class ShortVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ShortVector() = default;
  ShortVector(const ShortVector& other) { assign(other); }
  ShortVector(ShortVector&& other) noexcept { take(other); }
  ShortVector& operator=(const ShortVector& other) {
    if (this != &other) assign(other);
    return *this;
  }
  ShortVector& operator=(ShortVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~ShortVector() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }  // what it has grown to, it keeps
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }

  void push_back(T value) {
    if (size_ == room_) grow(2 * room_);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void resize_down(std::size_t count) { size_ = static_cast<std::uint32_t>(count); }  // to its first ones

 private:
  T* data() { return more_ ? more_.get() : few_; }
  const T* data() const { return more_ ? more_.get() : few_; }

  void grow(std::uint32_t room) {
    auto larger = std::make_unique_for_overwrite<T[]>(room);
    std::copy_n(data(), size_, larger.get());
    more_ = std::move(larger);
    room_ = room;
  }
  void assign(const ShortVector& other) {
    size_ = 0;
    if (room_ < other.size_) grow(other.size_);
    std::copy_n(other.data(), other.size_, data());
    size_ = other.size_;
  }
  void take(ShortVector& other) {
    if (!other.more_) return assign(other);
    more_ = std::move(other.more_);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, kFew);
  }

  std::unique_ptr<T[]> more_;  // nothing: few_
  std::uint32_t size_ = 0, room_ = kFew;
  T few_[kFew];
};

}  // namespace kiln
