#include "kiln/emit/same_statements.h"

#include <optional>

#include "kiln/emit/cursor.h"

namespace kiln::emit {
namespace {

// What a name of the source stands for while it runs.
struct Thing {
  Entity entity = isa::kNone;
  std::vector<Thing> elements;  // of a list
};

class Comparison {
 public:
  Comparison(const Outline& rolled, const Outline& plain) : rolled_(rolled), plain_(plain) {}

  void bind(Entity name, Entity entity) { things_[name] = {entity, {}}; }
  void around(std::int64_t value) { values_.push_back(value); }

  bool blocks(const std::vector<Item>& items, const std::vector<Item>& plain) {
    std::size_t next = 0;
    for (const Item& item : items) {
      Cursor cursor(item);
      if (!statement(item, cursor, plain, next)) return false;
    }
    return next == plain.size();
  }

 private:
  bool statement(const Item& item, Cursor& cursor, const std::vector<Item>& plain, std::size_t& next) {
    if (item.kind == Item::Kind::loop && item.source == isa::kNone) return passes(item, cursor, plain, next);
    if (item.kind == Item::Kind::guard) return guarded(item, cursor, plain, next);
    if (next == plain.size()) return false;
    const Item& other = plain[next++];
    if (item.kind != other.kind || (!item.has_body() && item.key != other.key)) return false;
    if (!own(other, cursor)) return false;
    for (std::size_t k = 0; !item.has_body() && k < item.makes.size(); ++k) make(item.makes[k], other.makes[k]);
    if (item.variable != isa::kNone) bind(item.variable, other.variable);
    if (!item.has_body()) return true;
    const bool counts = item.kind == Item::Kind::loop;
    if (counts && (item.lower != other.lower || item.upper != other.upper || item.step != other.step)) return false;
    if (counts) values_.emplace_back();
    std::size_t inside = 0;
    for (const Item& child : item.body) {
      if (!statement(child, cursor, other.body, inside)) return false;
    }
    if (counts) values_.pop_back();
    return inside == other.body.size();
  }

  bool passes(const Item& loop, Cursor& cursor, const std::vector<Item>& plain, std::size_t& next) {
    const Cursor::State state = cursor.state();
    for (const Entity list : loop.makes) things_[list] = {};
    for (std::int64_t pass = 0; pass < loop.upper; ++pass) {
      cursor.restore(state);
      values_.emplace_back(pass);
      for (const Item& child : loop.body) {
        if (!statement(child, cursor, plain, next)) return false;
      }
      values_.pop_back();
      for (const Entity list : loop.makes) {
        if (rolled_.is_kept_list(list) && !rolled_.flat.contains(list))
          things_[list].elements.push_back(things_[rolled_.entities[list].source]);
      }
    }
    return true;
  }

  bool guarded(const Item& guard, Cursor& cursor, const std::vector<Item>& plain, std::size_t& next) {
    const std::optional<std::int64_t> value = values_[guard.column - 1];
    if (!value) return false;
    if ((*value == guard.pass) == guard.runs_otherwise) {
      cursor.skip(guard);
      return true;
    }
    for (const Item& child : guard.body) {
      if (!statement(child, cursor, plain, next)) return false;
    }
    return true;
  }

  void make(Entity name, Entity entity) {
    bind(name, entity);
    const auto flat = rolled_.flat_of.find(name);
    if (flat != rolled_.flat_of.end()) things_[flat->second].elements.push_back({entity, {}});
  }

  // The numbers and references of one statement that `other` has.
  bool own(const Item& other, Cursor& cursor) {
    for (std::size_t row = 0; row < other.rows(); ++row) {
      if (!same(std::span(other.numbers).subspan(row * other.width, other.width), cursor.number())) return false;
    }
    for (const Ref& ref : other.refs) {
      if (meant(cursor.ref(), cursor.width()) != ref.entity) return false;
    }
    return true;
  }

  // The constant with the values of the variables that have one now; the coefficients of the others.
  std::vector<std::int64_t> folded(std::span<const std::int64_t> row) const {
    std::vector<std::int64_t> out{row[0]};
    for (std::size_t i = 1; i < row.size() && i <= values_.size(); ++i) {
      if (values_[i - 1]) {
        out[0] += row[i] * *values_[i - 1];
      } else {
        out.push_back(row[i]);
      }
    }
    return out;
  }

  bool same(std::span<const std::int64_t> plain, std::span<const std::int64_t> row) const {
    std::vector<std::int64_t> ours = folded(row);
    const auto first = static_cast<std::size_t>(1 + plain_.variables);
    for (std::size_t i = 1; i < ours.size(); ++i) {
      const std::size_t column = first + i - 1;
      if (ours[i] != (column < plain.size() ? plain[column] : 0)) return false;
    }
    return ours[0] == plain[0] && first + ours.size() - 1 >= plain.size();
  }

  Entity meant(const Ref& ref, std::size_t width) const {
    const auto found = things_.find(ref.entity);
    if (found == things_.end()) return isa::kNone;
    const Thing* thing = &found->second;
    Entity name = ref.entity;
    for (std::size_t i = 0; i < ref.places.size();) {
      std::int64_t place = 0;
      for (const std::int64_t size : rolled_.sizes_of(name)) {
        if (i == ref.places.size()) return isa::kNone;
        const std::int64_t index = folded(std::span(ref.places).subspan(i, width))[0];
        if (index < 0 || (size && index >= size)) return isa::kNone;
        place = place * size + index;
        i += width;
      }
      if (static_cast<std::size_t>(place) >= thing->elements.size()) return isa::kNone;
      thing = &thing->elements[static_cast<std::size_t>(place)];
      name = rolled_.entities[name].source;
    }
    return thing->entity;
  }

  const Outline &rolled_, &plain_;
  std::vector<std::optional<std::int64_t>> values_;  // of the variables around; none: a loop that both have
  std::unordered_map<Entity, Thing> things_;
};

}  // namespace

bool same_statements(const Outline& rolled, const Outline& plain, std::int64_t core,
                     const std::vector<std::pair<Entity, Entity>>& arguments) {
  Comparison comparison(rolled, plain);
  for (const auto& [ours, theirs] : arguments) comparison.bind(ours, theirs);
  if (rolled.variables) comparison.around(core);
  return comparison.blocks(rolled.items, plain.items);
}

}  // namespace kiln::emit
