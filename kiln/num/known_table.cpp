#include "kiln/num/known_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace kiln {
namespace {

// All that live, by their addresses, as numbers: pointers into different arrays have no order.
struct Living {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, const KnownTable*> tables;
  std::atomic<std::size_t> count{0};

  static Living& get() {
    static Living* const living = new Living;  // never destroyed: tables may outlive other statics
    return *living;
  }
};

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

KnownTable::KnownTable(const float* data, std::size_t rows, std::size_t columns)
    : id(next_id()), data(data), rows(rows), columns(columns), of_columns(columns) {
  find_ranges();
  find_twins();
  Living& living = Living::get();
  std::lock_guard lock(living.mutex);
  living.tables[number_of(data)] = this;
  living.count = living.tables.size();
}

KnownTable::~KnownTable() {
  Living& living = Living::get();
  std::lock_guard lock(living.mutex);
  const auto it = living.tables.find(number_of(data));
  if (it != living.tables.end() && it->second == this) living.tables.erase(it);
  living.count = living.tables.size();
}

const KnownTable* KnownTable::at(const void* address) {
  Living& living = Living::get();
  if (living.count == 0) return nullptr;
  std::shared_lock lock(living.mutex);
  const auto after = living.tables.upper_bound(number_of(address));
  if (after == living.tables.begin()) return nullptr;
  const auto& [begin, table] = *std::prev(after);
  return number_of(address) - begin < table->rows * table->columns * sizeof(float) ? table : nullptr;
}

void KnownTable::find_ranges() {
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(data[i]) & 0x7fffffffu;
    largest = std::max(largest, magnitude);
    before_least = std::min(before_least, magnitude - 1);
    if (magnitude == 0) continue;
    Column& column = of_columns[i % columns];
    const auto row = static_cast<std::uint32_t>(i / columns);
    if (column.end == 0) column.begin = row;
    column.end = row + 1;
  }
}

// Columns are compared with the sign that makes their first number positive.
void KnownTable::find_twins() {
  const auto number = [&](std::size_t row, std::size_t column) { return data[row * columns + column]; };
  const auto sign = [&](std::size_t column) {
    return of_columns[column].end > 0 && number(of_columns[column].begin, column) < 0 ? -1.0f : 1.0f;
  };
  const auto hash = [&](std::size_t column) {
    std::uint64_t h = of_columns[column].begin;
    for (std::size_t row = of_columns[column].begin; row < of_columns[column].end; ++row)
      h = (h ^ std::bit_cast<std::uint32_t>(sign(column) * number(row, column) + 0.0f)) * 0x9e3779b97f4a7c15u;
    return h;
  };
  const auto are_alike = [&](std::size_t a, std::size_t b) {
    for (std::size_t row = 0; row < rows; ++row) {
      if (sign(a) * number(row, a) != sign(b) * number(row, b)) return false;
    }
    return true;
  };
  std::unordered_map<std::uint64_t, std::size_t> alone;
  for (std::size_t c = 0; c < columns; ++c) {
    const auto [it, fresh] = alone.try_emplace(hash(c), c);
    if (fresh) continue;
    const std::size_t other = std::exchange(it->second, c);
    if (!are_alike(other, c)) continue;
    alone.erase(it);
    const bool negated = sign(other) != sign(c);
    of_columns[other] = {static_cast<std::int32_t>(c - other), negated, of_columns[other].begin, of_columns[other].end};
    of_columns[c] = {-static_cast<std::int32_t>(c - other), negated, of_columns[c].begin, of_columns[c].end};
  }
}

}  // namespace kiln
