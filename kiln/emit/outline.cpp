#include "kiln/emit/outline.h"

#include <algorithm>
#include <iterator>

#include "kiln/emit/key_text.h"

namespace kiln::emit {
namespace {

std::vector<std::int64_t> widened(const std::vector<std::int64_t>& rows, std::size_t from, std::size_t to) {
  std::vector<std::int64_t> out(rows.size() / from * to);
  for (std::size_t row = 0; row * from < rows.size(); ++row) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * from), from,
                out.begin() + static_cast<std::ptrdiff_t>(row * to));
  }
  return out;
}

struct Maker {
  std::uint32_t child, place;
};

// Who in a body makes what.
std::unordered_map<Entity, Maker> makers_of(const std::vector<Item>& body) {
  std::unordered_map<Entity, Maker> makers;
  for (std::uint32_t i = 0; i < body.size(); ++i) {
    for (std::uint32_t k = 0; k < body[i].makes.size(); ++k) makers[body[i].makes[k]] = {i, k};
  }
  return makers;
}

// A tensor lives as long as its block; registers and instructions have names of the whole function.
bool is_seen_behind(const Outline& outline, const Item& item, Entity entity) {
  if (item.kind == Item::Kind::ordered || item.kind == Item::Kind::guard) return true;
  return item.kind == Item::Kind::loop && outline.entities[entity].kind != EntityInfo::Kind::tensor;
}

// The numbers and references of a child go behind those that the statement has.
void move_up(Item& child, Item& item) {
  child.row_count = static_cast<std::uint32_t>(child.rows());
  child.ref_count = static_cast<std::uint32_t>(child.refs.size());
  item.numbers.insert(item.numbers.end(), child.numbers.begin(), child.numbers.end());
  item.refs.insert(item.refs.end(), std::make_move_iterator(child.refs.begin()),
                   std::make_move_iterator(child.refs.end()));
  child.numbers = {};
  child.refs = {};
}

void widen_all(Item& item) {
  std::size_t width = item.width;
  for (const Item& child : item.body) width = std::max(width, child.width);
  widen(item, width);
  for (Item& child : item.body) widen(child, width);
}

}  // namespace

std::int64_t Item::trips() const { return upper <= lower ? 0 : (upper - lower + step - 1) / step; }

void widen(Item& item, std::size_t width) {
  if (item.width >= width) return;
  item.numbers = widened(item.numbers, item.width, width);
  for (Ref& ref : item.refs) ref.places = widened(ref.places, item.width, width);
  item.width = width;
}

Ref resolve(const Outline& outline, Ref ref, std::size_t width) {
  while (!ref.bound && outline.entities[ref.entity].list != isa::kNone) {
    const EntityInfo& info = outline.entities[ref.entity];
    ref.places.insert(ref.places.begin(), width, 0);
    ref.places[0] = info.position;
    ref.entity = info.list;
  }
  return ref;
}

void seal(Outline& outline, Item& item, Keys& keys) {
  KeyText key;
  key.add(item.key).add(item.kind).add(item.lower).add(item.upper).add(item.step).add(item.body.size());
  auto makers = makers_of(item.body);
  if (item.variable != isa::kNone) makers[item.variable] = {isa::kNone, 0};
  widen_all(item);
  for (Item& child : item.body) {
    key.add(child.key);
    for (std::uint32_t r = 0; r < child.refs.size(); ++r) {
      Ref& ref = child.refs[r] = resolve(outline, std::move(child.refs[r]), item.width);
      const auto maker = makers.find(ref.entity);
      if (ref.bound || maker == makers.end()) continue;
      ref.bound = true;
      key.add(r).add(maker->second.child).add(maker->second.place);
    }
    move_up(child, item);
    item.lines += child.lines;
    item.last = std::max(item.last, child.last);
    for (const Entity made : child.makes) {
      if (is_seen_behind(outline, item, made)) item.makes.push_back(made);
    }
  }
  item.key = keys.number(std::move(key).text());
}

void open(Item& item) {
  std::size_t row = item.rows(), ref = item.refs.size();
  for (std::size_t i = item.body.size(); i-- > 0;) {
    Item& child = item.body[i];
    row -= child.row_count;
    ref -= child.ref_count;
    const auto numbers = item.numbers.begin() + static_cast<std::ptrdiff_t>(row * item.width);
    const auto refs = item.refs.begin() + static_cast<std::ptrdiff_t>(ref);
    child.width = item.width;
    child.numbers.assign(numbers, item.numbers.end());
    child.refs.assign(std::make_move_iterator(refs), std::make_move_iterator(item.refs.end()));
    item.numbers.erase(numbers, item.numbers.end());
    item.refs.erase(refs, item.refs.end());
    open(child);
  }
}

void close(Item& item) {
  for (Item& child : item.body) close(child);
  widen_all(item);
  for (Item& child : item.body) move_up(child, item);
}

}  // namespace kiln::emit
