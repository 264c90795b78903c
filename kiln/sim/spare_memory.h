// Spare memory: what one run leaves behind for the next one. The system clears memory page by page when it is touched
// for the first time, which takes as long as working with it.
#pragma once

#include <cstddef>

namespace kiln::sim {

// Memory at an address that kStorageAlignment divides, with any content. Throws std::bad_alloc.
std::byte* take_memory(std::size_t bytes);
void give_memory_back(std::byte* memory, std::size_t bytes);  // as many as were taken

}  // namespace kiln::sim
