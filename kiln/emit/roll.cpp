#include "kiln/emit/roll.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kiln::emit {
namespace {

constexpr std::size_t kMostStatements = 4096;  // in the body of a loop that is made here
constexpr int kMostTries = 24;                 // bodies that are tried from one statement on
constexpr std::int64_t kLeastForTwo = 3;       // lines of a body that runs twice: any two numbers are evenly spaced
constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15u;

// Hashes of the keys from the first one on, so that two stretches compare in no time.
class Stretches {
 public:
  explicit Stretches(const std::vector<Item>& items) : hashes_(items.size() + 1), powers_(items.size() + 1, 1) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      hashes_[i + 1] = hashes_[i] * kBase + items[i].key + 1;
      powers_[i + 1] = powers_[i] * kBase;
    }
  }
  bool equal(std::size_t a, std::size_t b, std::size_t size) const { return hash(a, size) == hash(b, size); }

 private:
  std::uint64_t hash(std::size_t first, std::size_t size) const {
    return hashes_[first + size] - hashes_[first] * powers_[size];
  }
  std::vector<std::uint64_t> hashes_, powers_;
};

struct Run {
  std::size_t first, size;  // statements of one pass
  std::int64_t passes;
  std::vector<std::int64_t> steps;  // by which the numbers grow, then those of the references
};

// By entity: the statement of the block that makes it, and the how-manieth of what that makes. One table serves all
// blocks, one after the other, so that a small block costs what it has and not what the program has.
constexpr std::size_t kNowhere = ~std::size_t{0};
struct Place {
  std::size_t item = kNowhere, ordinal = 0;
};
class Places {
 public:
  void set(Entity entity, Place place) {
    if (entity >= places_.size()) places_.resize(entity + 1);
    places_[entity] = place;
    touched_.push_back(entity);
  }
  Place of(Entity entity) const { return entity < places_.size() ? places_[entity] : Place{}; }
  void clear() {
    for (const Entity entity : touched_) places_[entity] = {};
    touched_.clear();
  }

 private:
  std::vector<Place> places_;
  std::vector<Entity> touched_;
};

// Why passes of one size do not repeat: the statement that differs, and the last start of a run for which it does.
struct Difference {
  std::size_t item, last_start;
};

// One block, once through.
class Sweep {
 public:
  Sweep(Outline& outline, std::vector<Item>& items, std::size_t column, Keys& keys, Places& places)
      : outline_(outline), items_(items), column_(column), keys_(keys), stretches_(items), places_(places) {
    places.clear();
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (std::size_t k = 0; k < items[i].makes.size(); ++k) places.set(items[i].makes[k], {i, k});
    }
    std::unordered_map<std::uint32_t, std::size_t> seen;
    next_.resize(items.size(), kNowhere);
    for (std::size_t i = items.size(); i-- > 0;) {
      const auto [it, is_new] = seen.try_emplace(items[i].key, i);
      if (!is_new) next_[i] = std::exchange(it->second, i);
    }
  }

  // Whether anything was rolled. Bodies have at most `longest` statements.
  bool run(std::size_t longest) {
    longest_ = longest;
    std::vector<Item> out;
    bool changed = false;
    for (std::size_t i = 0; i < items_.size();) {
      const std::optional<Run> found = find(i);
      if (!found) {
        out.push_back(std::move(items_[i++]));
        continue;
      }
      out.push_back(make_loop(*found));
      i += found->size * static_cast<std::size_t>(found->passes);
      changed = true;
    }
    items_ = std::move(out);
    return changed;
  }

 private:
  std::optional<Run> find(std::size_t first) {
    int tries = 0;
    for (std::size_t next = next_[first]; next != kNowhere && tries < kMostTries; next = next_[next], ++tries) {
      Run run{first, next - first, 1, {}};
      if (run.size > longest_ || first + 2 * run.size > items_.size()) break;
      if (is_known_to_differ(run)) continue;
      while (first + (run.passes + 1) * run.size <= items_.size() && continues(run)) ++run.passes;
      if (run.passes > 1 && saves_lines(run)) return run;
    }
    return std::nullopt;
  }

  // A long body whose last statement differs would be compared again from each of its statements on.
  bool is_known_to_differ(const Run& run) const {
    const auto known = differences_.find(run.size);
    if (known == differences_.end()) return false;
    const auto& [item, last_start] = known->second;
    return run.first <= last_start && item >= run.first && item < run.first + run.size;
  }

  std::size_t start(const Run& run, std::int64_t pass) const {
    return run.first + static_cast<std::size_t>(pass) * run.size;
  }

  // Whether the pass behind the last one of the run goes on as the run does. The first such pass sets the steps.
  bool continues(Run& run) {
    const std::size_t a = start(run, run.passes - 1), b = start(run, run.passes);
    if (!stretches_.equal(a, b, run.size)) return false;
    std::vector<std::int64_t> steps;
    for (std::size_t i = 0; i < run.size; ++i) {
      if (items_[a + i].key != items_[b + i].key) return false;
      last_start_ = kNowhere;
      if (compare(run, run.passes, items_[a + i], items_[b + i], steps)) continue;
      if (run.passes == 1) differences_[run.size] = {a + i, last_start_};
      return false;
    }
    if (run.passes == 1) {
      run.steps = std::move(steps);
      return true;
    }
    return steps == run.steps;
  }

  bool compare(const Run& run, std::int64_t pass, const Item& a, const Item& b, std::vector<std::int64_t>& steps) {
    if (a.width != b.width || !compare_rows(a.numbers, b.numbers, a.width, steps)) return false;
    for (std::size_t r = 0; r < a.refs.size(); ++r) {
      const Ref x = resolve(outline_, a.refs[r], a.width), y = resolve(outline_, b.refs[r], b.width);
      if (x.bound != y.bound || (!x.bound && !same_role(run, pass, x.entity, y.entity))) return false;
      if (!compare_rows(x.places, y.places, a.width, steps)) return false;
    }
    return true;
  }

  // Constants may differ, and by how much is noted; coefficients may not.
  static bool compare_rows(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::size_t width,
                           std::vector<std::int64_t>& steps) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i % width == 0) {
        steps.push_back(b[i] - a[i]);
      } else if (a[i] != b[i]) {
        return false;
      }
    }
    return true;
  }

  // One thing made before the run, or what each pass makes at the same place. What differs does so for runs that start
  // later too, but for what they find made before them.
  bool same_role(const Run& run, std::int64_t pass, Entity a, Entity b) {
    const Place pa = places_.of(a), pb = places_.of(b);
    if (a == b) {
      if (pa.item == kNowhere || pa.item < run.first) return true;
      last_start_ = pa.item;
      return false;
    }
    if (pa.item == kNowhere || pb.item == kNowhere || pa.ordinal != pb.ordinal) return false;
    return pa.item >= start(run, pass - 1) && pa.item < start(run, pass) && pb.item == pa.item + run.size;
  }

  // A list takes a line where it begins and one where it grows.
  bool saves_lines(const Run& run) const {
    std::int64_t lines = 0, lists = 0;
    for (std::size_t i = 0; i < run.size; ++i) {
      const Item& item = items_[run.first + i];
      lines += item.lines;
      for (std::size_t k = 0; k < item.makes.size(); ++k) {
        if (!leaves(run, i, k)) continue;
        const auto kind = outline_.entities[item.makes[k]].kind;
        if (kind != EntityInfo::Kind::tensor && kind != EntityInfo::Kind::list) return false;
        ++lists;
      }
    }
    const std::int64_t least = run.passes == 2 ? kLeastForTwo : 1;
    return lines >= least && (run.passes - 1) * lines > 1 + 2 * lists;
  }

  // Whether something that every pass makes at this place is used behind its pass.
  bool leaves(const Run& run, std::size_t item, std::size_t ordinal) const {
    for (std::int64_t pass = 0; pass < run.passes; ++pass) {
      const Entity made = items_[start(run, pass) + item].makes[ordinal];
      if (outline_.entities[made].last_use > items_[start(run, pass + 1) - 1].last) return true;
    }
    return false;
  }

  Item make_loop(const Run& run) {
    Item loop{.kind = Item::Kind::loop, .last = items_[start(run, run.passes) - 1].last, .upper = run.passes};
    std::vector<Entity> lists;
    std::vector<std::vector<Entity>> elements;
    for (std::size_t i = 0; i < run.size; ++i) {
      for (std::size_t k = 0; k < items_[run.first + i].makes.size(); ++k) {
        lists.push_back(new_list(run, i, k));
        auto& row = elements.emplace_back();
        for (std::int64_t pass = 0; pass < run.passes; ++pass) row.push_back(items_[start(run, pass) + i].makes[k]);
      }
    }
    std::size_t step = 0;
    for (std::size_t i = 0; i < run.size; ++i) {
      loop.body.push_back(std::move(items_[run.first + i]));
      add_column(loop.body.back(), run.steps, step);
    }
    const std::uint32_t last = loop.last;
    seal(outline_, loop, keys_);
    loop.last = last;
    loop.makes = lists;
    for (const Entity list : lists) loop.lines += outline_.entities[list].leaves_its_loop ? 2 : 0;
    for (std::size_t l = 0; l < lists.size(); ++l) {
      for (std::size_t pass = 0; pass < elements[l].size(); ++pass) {
        outline_.entities[elements[l][pass]].list = lists[l];
        outline_.entities[elements[l][pass]].position = static_cast<std::int64_t>(pass);
      }
    }
    return loop;
  }

  Entity new_list(const Run& run, std::size_t item, std::size_t ordinal) {
    EntityInfo list{.kind = EntityInfo::Kind::list, .source = items_[run.first + item].makes[ordinal]};
    list.leaves_its_loop = leaves(run, item, ordinal);
    for (std::int64_t pass = 0; pass < run.passes; ++pass)
      keep_as(list.source, items_[start(run, pass) + item].makes[ordinal]);
    list.last_use = outline_.entities[list.source].last_use;
    outline_.entities.push_back(list);
    const Entity made = static_cast<Entity>(outline_.entities.size() - 1);
    places_.set(made, {run.first, 0});
    return made;
  }

  // The first pass is written for all: what one of the others uses, or keeps in a list, it does as well.
  void keep_as(Entity first, Entity other) {
    EntityInfo &a = outline_.entities[first], &b = outline_.entities[other];
    a.last_use = std::max(a.last_use, b.last_use);
    if (a.kind != EntityInfo::Kind::list) return;
    a.leaves_its_loop = a.leaves_its_loop || b.leaves_its_loop;
    keep_as(a.source, b.source);
  }

  // The variable of the new loop stands behind those around it.
  void add_column(Item& item, const std::vector<std::int64_t>& steps, std::size_t& step) {
    const std::size_t width = item.width;
    for (Ref& ref : item.refs) ref = resolve(outline_, std::move(ref), width);
    const auto with_column = [&](const std::vector<std::int64_t>& rows) {
      std::vector<std::int64_t> out;
      for (std::size_t i = 0; i < rows.size(); i += width) {
        const auto row = rows.begin() + static_cast<std::ptrdiff_t>(i);
        out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(column_));
        out.push_back(steps[step++]);
        out.insert(out.end(), row + static_cast<std::ptrdiff_t>(column_), row + static_cast<std::ptrdiff_t>(width));
      }
      return out;
    };
    item.numbers = with_column(item.numbers);
    for (Ref& ref : item.refs) ref.places = with_column(ref.places);
    ++item.width;
  }

  Outline& outline_;
  std::vector<Item>& items_;
  std::size_t column_;  // of the variable of a new loop
  std::size_t longest_ = 0;
  Keys& keys_;
  Stretches stretches_;
  Places& places_;
  std::vector<std::size_t> next_;                            // statement of the same key
  std::unordered_map<std::size_t, Difference> differences_;  // by the size of a pass: the last one found
  std::size_t last_start_ = kNowhere;                        // of the runs for which the last comparison holds
};

void roll_block(Outline& outline, std::vector<Item>& items, std::size_t column, Keys& keys, Places& places, bool roll) {
  for (Item& item : items) {
    if (!item.has_body()) continue;
    roll_block(outline, item.body, column + (item.kind == Item::Kind::loop ? 1 : 0), keys, places, roll);
    seal(outline, item, keys);
  }
  // What is inside a body is rolled before the body is: short bodies first, and again when one was found.
  for (std::size_t longest = 1; roll && longest <= kMostStatements; longest *= 2) {
    while (Sweep(outline, items, column, keys, places).run(longest)) longest = 1;
  }
}

}  // namespace

void roll_up(Outline& outline, Keys& keys, bool roll) {
  Places places;
  roll_block(outline, outline.items, 1 + static_cast<std::size_t>(outline.variables), keys, places, roll);
  for (Item& item : outline.items) {
    for (Ref& ref : item.refs) ref = resolve(outline, std::move(ref), item.width);
  }
}

}  // namespace kiln::emit
