#include "kiln/emit/outline.h"

#include <algorithm>

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
  if (item.kind == Item::Kind::ordered) return true;
  return item.kind == Item::Kind::loop && outline.entities[entity].kind != EntityInfo::Kind::tensor;
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
  std::size_t width = item.width;
  for (const Item& child : item.body) width = std::max(width, child.width);
  widen(item, width);
  for (Item& child : item.body) {
    key.add(child.key);
    widen(child, width);
    item.numbers.insert(item.numbers.end(), child.numbers.begin(), child.numbers.end());
    for (std::uint32_t r = 0; r < child.refs.size(); ++r) {
      Ref ref = resolve(outline, std::move(child.refs[r]), width);
      const auto maker = makers.find(ref.entity);
      if (!ref.bound && maker != makers.end()) {
        ref.bound = true;
        key.add(r).add(maker->second.child).add(maker->second.place);
      }
      item.refs.push_back(std::move(ref));
    }
    child.numbers = {};
    child.refs = {};
    item.lines += child.lines;
    item.last = std::max(item.last, child.last);
    for (const Entity made : child.makes) {
      if (is_seen_behind(outline, item, made)) item.makes.push_back(made);
    }
  }
  item.key = keys.number(std::move(key).text());
}

}  // namespace kiln::emit
