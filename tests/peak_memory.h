// What a test program has allocated, counted in its operators new and delete. For one file of it only: it defines them.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace kiln::test {

inline std::atomic<std::size_t> allocated = 0, most_allocated = 0;

inline void count(void* p, bool comes) {
  if (!p) return;
  const std::size_t size = malloc_usable_size(p);
  const std::size_t now = comes ? allocated += size : allocated -= size;
  if (now > most_allocated) most_allocated = now;
}

// The most bytes that a call had at once, beyond those that were there before.
template <class Call>
std::size_t peak_bytes(Call&& call) {
  const std::size_t before = allocated;
  most_allocated = before;
  call();
  return most_allocated - before;
}

}  // namespace kiln::test

void* operator new(std::size_t size) {
  void* p = std::malloc(size);
  if (!p) throw std::bad_alloc();
  kiln::test::count(p, true);
  return p;
}
// Not inlined: g++ would see memory of new given to free.
[[gnu::noinline]] void operator delete(void* p) noexcept {
  kiln::test::count(p, false);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
