// Copied: owns a value, or none, as std::unique_ptr does; a copy of it owns a copy of the value.
#pragma once

#include <memory>

namespace kiln {

template <class T>
class Copied : public std::unique_ptr<T> {
 public:
  Copied() = default;
  Copied(std::unique_ptr<T> from) : std::unique_ptr<T>(std::move(from)) {}
  Copied(Copied&&) noexcept = default;
  Copied(const Copied& other) : std::unique_ptr<T>(other ? std::make_unique<T>(*other) : nullptr) {}
  Copied& operator=(Copied&&) noexcept = default;
};

}  // namespace kiln
