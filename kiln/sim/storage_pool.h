// Storages for tensors that get theirs when they are declared. In a loop a tensor gets another one while the
// previous one is in use, so iterations overlap.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/sim/storage.h"

namespace kiln::sim {

class StoragePool {
 public:
  // Helps `queue` along where it has to wait for a storage.
  StoragePool(const isa::Program& program, TaskQueue& queue)
      : program_(program), queue_(queue), of_tensor_(program.tensors.size()) {}

  // A storage of the tensor's size that nobody uses.
  std::shared_ptr<Storage> take(isa::TensorId id);
  // A tensor that nothing uses any more gives its storages to the next ones of its size.
  void give_back(isa::TensorId id);

 private:
  std::shared_ptr<Storage> make(std::int64_t rows, std::int64_t row_bytes);
  std::shared_ptr<Storage> take_spare(std::int64_t rows, std::int64_t row_bytes);
  std::shared_ptr<Storage> make_small(std::int64_t rows, std::int64_t row_bytes);

  const isa::Program& program_;
  TaskQueue& queue_;
  std::vector<std::vector<std::shared_ptr<Storage>>> of_tensor_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::shared_ptr<Storage>>> spare_;  // given back, by size
  std::int64_t spare_bytes_ = 0;
  std::shared_ptr<std::byte> block_;  // small storages lie side by side in blocks,
  std::size_t block_used_ = 0;        // of which so many bytes of the last are taken
};

}  // namespace kiln::sim
