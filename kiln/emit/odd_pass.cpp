#include "kiln/emit/odd_pass.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kiln::emit {
namespace {

constexpr std::size_t kMostInBody = 256;  // in the body of a loop that gets a pass
constexpr int kMostCuts = 4;              // beginnings, or ends, of a pass that are tried
constexpr std::int64_t kLeastSaved = 4;   // lines
constexpr std::size_t kEver = std::numeric_limits<std::size_t>::max();

using Block = std::span<const Item>;

bool is_rolled(const Item& item) { return item.kind == Item::Kind::loop && item.source == isa::kNone; }

std::int64_t lines_of(Block items) {
  std::int64_t lines = 0;
  for (const Item& item : items) lines += item.lines;
  return lines;
}

// Calls `visit` for a statement and all inside.
template <class Visit>
void each(const Item& item, const Visit& visit) {
  visit(item);
  for (const Item& child : item.body) each(child, visit);
}
template <class Visit>
void each(Item& item, const Visit& visit) {
  visit(item);
  for (Item& child : item.body) each(child, visit);
}

// Calls `visit` for every row of numbers of one statement.
template <class Visit>
void each_row(Item& item, const Visit& visit) {
  const auto rows = [&](std::vector<std::int64_t>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); i += item.width) visit(&numbers[i]);
  };
  rows(item.numbers);
  for (Ref& ref : item.refs) rows(ref.places);
}

// A loop and the number that the odd pass would have in it, counted as its passes are now.
struct OddPlace {
  const Item& loop;
  std::size_t column;  // of the loop's variable
  std::int64_t pass;
};

// Where an odd pass and the body of a loop differ: behind `prefix` statements, inside of the loops there, one in the
// other; `odd` statements in the pass, `regular` ones in the body.
class Alignment {
 public:
  Alignment(const Outline& outline, const OddPlace& place) : outline_(outline), place_(place) {}

  std::vector<std::size_t> prefixes;  // one for every loop around the place, and one there
  std::size_t odd = 0, regular = 0;
  std::unordered_map<Entity, Entity> twins;  // what the odd pass makes: what the body makes instead of it
  // Lists of what is made at the place, by the loop that makes them, innermost loop first; and their trips.
  std::vector<std::vector<Entity>> lists;
  std::vector<std::int64_t> trips;

  bool find(Block pass, Block body) {
    std::size_t prefix = 0;
    while (prefix < std::min(pass.size(), body.size()) && same(pass[prefix], body[prefix])) ++prefix;
    prefixes.push_back(prefix);
    if (prefix < pass.size() && pass.size() == body.size() && descend(pass.subspan(prefix), body.subspan(prefix)))
      return true;
    for (std::size_t suffix = std::min(pass.size(), body.size()) - prefix;; --suffix) {
      const auto before = twins;
      odd = pass.size() - suffix - prefix;
      regular = body.size() - suffix - prefix;
      if (all_same(pass.last(suffix), body.last(suffix))) return true;
      twins = before;
    }
  }

  // Whether a statement of the odd pass is the one that the body would issue in it. Then what both make is twins.
  bool same(const Item& x, const Item& y) {
    const auto before = twins.size();
    if (is_same(x, y)) return true;
    if (twins.size() != before) std::erase_if(twins, [&](const auto& pair) { return is_made_in(x, pair.first); });
    return false;
  }

 private:
  // Into loops that differ inside.
  bool descend(Block pass, Block body) {
    const Item &x = pass[0], &y = body[0];
    if (!is_rolled(x) || !is_rolled(y) || x.upper != y.upper) return false;
    const auto before = *this;
    if (find(x.body, y.body) && pair_lists(x, y) && all_same(pass.subspan(1), body.subspan(1))) return true;
    prefixes = before.prefixes;
    twins = before.twins;
    lists.clear();
    trips.clear();
    return false;
  }

  // Lists of what both make are twins. Of the rest, the loop may have none, and the odd pass those that all loops
  // around the place fill with tensors.
  bool pair_lists(const Item& x, const Item& y) {
    std::unordered_map<Entity, Entity> by_source;
    for (const Entity list : y.makes) {
      if (!is_plain_list(list)) return false;
      by_source[outline_.entities[list].source] = list;
    }
    std::vector<Entity> own;
    for (const Entity list : x.makes) {
      if (!is_plain_list(list)) return false;
      const auto twin = twins.find(outline_.entities[list].source);
      const auto theirs = twin == twins.end() ? by_source.end() : by_source.find(twin->second);
      if (theirs != by_source.end()) {
        twins[list] = theirs->second;
        by_source.erase(theirs);
      } else if (outline_.is_kept_list(list)) {
        own.push_back(list);
      }
    }
    const bool has_other =
        std::ranges::any_of(by_source, [&](auto& pair) { return outline_.is_kept_list(pair.second); });
    if (has_other || !are_filled_here(own)) return false;
    lists.push_back(std::move(own));
    trips.insert(trips.begin(), x.trips());
    return true;
  }

  bool is_plain_list(Entity list) const {
    return outline_.entities[list].kind == EntityInfo::Kind::list && !outline_.flat.contains(list);
  }

  // Lists of the tensors that are made at the place; further out, of all the lists inside.
  bool are_filled_here(const std::vector<Entity>& own) const {
    if (!lists.empty() && lists.back().size() != own.size()) return false;
    return std::ranges::all_of(own, [&](Entity list) {
      const Entity source = outline_.entities[list].source;
      if (lists.empty()) return outline_.entities[source].kind == EntityInfo::Kind::tensor;
      return std::ranges::find(lists.back(), source) != lists.back().end();
    });
  }

  bool all_same(Block xs, Block ys) {
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (!same(xs[i], ys[i])) return false;
    }
    return true;
  }

  static bool is_made_in(const Item& item, Entity entity) {
    bool found = false;
    each(item, [&](const Item& i) { found = found || std::ranges::find(i.makes, entity) != i.makes.end(); });
    return found;
  }

  bool is_same(const Item& x, const Item& y) {
    if (x.kind != y.kind || x.body.size() != y.body.size() || x.makes.size() != y.makes.size()) return false;
    if (x.lower != y.lower || x.upper != y.upper || x.step != y.step) return false;
    const bool is_whole = !x.has_body() || x.source != isa::kNone || y.source != isa::kNone;
    if (is_whole && x.key != y.key) return false;
    if (x.kind == Item::Kind::guard &&
        (x.column + 1 != y.column || x.pass != y.pass || x.runs_otherwise != y.runs_otherwise))
      return false;
    if (!same_rows(x.numbers, x.width, y.numbers, y.width) || x.refs.size() != y.refs.size()) return false;
    for (std::size_t r = 0; r < x.refs.size(); ++r) {
      if (!same_ref(x.refs[r], x.width, y.refs[r], y.width)) return false;
    }
    for (std::size_t i = 0; i < x.body.size(); ++i) {
      if (!is_same(x.body[i], y.body[i])) return false;
    }
    for (std::size_t k = 0; k < x.makes.size(); ++k) {
      if (!std::ranges::equal(outline_.sizes_of(x.makes[k]), outline_.sizes_of(y.makes[k]))) return false;
      twins[x.makes[k]] = y.makes[k];
    }
    return true;
  }

  bool same_ref(const Ref& x, std::size_t x_width, const Ref& y, std::size_t y_width) const {
    const auto twin = twins.find(x.entity);
    return (twin == twins.end() ? x.entity : twin->second) == y.entity &&
           same_rows(x.places, x_width, y.places, y_width);
  }

  // Rows of the odd pass have no column for the loop's variable, and the values that the loop's have in that pass.
  bool same_rows(std::span<const std::int64_t> xs, std::size_t x_width, std::span<const std::int64_t> ys,
                 std::size_t y_width) const {
    if (xs.size() / x_width != ys.size() / y_width) return false;
    for (; !xs.empty(); xs = xs.subspan(x_width), ys = ys.subspan(y_width)) {
      const auto in_x = [&](std::size_t i) { return i < x_width ? xs[i] : 0; };
      const auto in_y = [&](std::size_t i) { return i < y_width ? ys[i] : 0; };
      if (in_x(0) != in_y(0) + place_.pass * in_y(place_.column)) return false;
      for (std::size_t i = 1; i < std::max(x_width + 1, y_width); ++i) {
        if (i != place_.column && in_y(i) != in_x(i - (i > place_.column ? 1 : 0))) return false;
      }
    }
    return true;
  }

  const Outline& outline_;
  const OddPlace& place_;
};

// One block.
class Folding {
 public:
  Folding(Outline& outline, std::vector<Item>& items, std::size_t column, const Item* around)
      : outline_(outline), items_(items), column_(column), around_(around) {}

  void run() {
    for (std::size_t at = 0; at < items_.size(); ++at) {
      if (!can_grow(items_[at])) continue;
      if (const std::size_t size = fold_before(at)) at -= size;
      fold_behind(at);
    }
  }

 private:
  // Nothing that its passes make is used behind them, and it makes tensors only.
  bool can_grow(const Item& loop) const {
    return is_rolled(loop) && loop.body.size() <= kMostInBody && makes_tensors_only(loop) &&
           std::ranges::none_of(loop.makes, [&](Entity e) { return outline_.is_kept_list(e); });
  }

  bool makes_tensors_only(const Item& item) const {
    bool others = false;
    each(item, [&](const Item& i) {
      others = others || i.kind == Item::Kind::device_loop;
      for (const Entity made : i.makes) {
        const EntityInfo::Kind kind = outline_.entities[made].kind;
        others = others || (kind != EntityInfo::Kind::tensor && kind != EntityInfo::Kind::list);
      }
    });
    return !others;
  }

  // How many statements became a pass of the loop.
  std::size_t fold_before(std::size_t at) {
    const std::size_t body = items_[at].body.size(), most = std::min(at, 2 * body + 4);
    const OddPlace place{items_[at], column_, -1};
    int tries = 0;
    for (std::size_t size = 1; size <= most && tries < kMostCuts; ++size) {
      if (!Alignment(outline_, place).same(items_[at - size], place.loop.body.front())) continue;
      ++tries;
      if (fold(at, at - size, size, place.pass)) return size;
    }
    // What the loop begins with may be missing.
    for (std::size_t size = std::min(at, body - 1); size > 0; --size) {
      if (fold(at, at - size, size, place.pass)) return size;
    }
    return 0;
  }

  void fold_behind(std::size_t at) {
    const std::size_t body = items_[at].body.size(), most = std::min(items_.size() - at - 1, 2 * body + 4);
    const OddPlace place{items_[at], column_, items_[at].upper};
    int tries = 0;
    for (std::size_t size = 1; size <= most && tries < kMostCuts; ++size) {
      if (!is_alike(items_[at + size], place.loop.body.back())) continue;
      ++tries;
      if (fold(at, at + 1, size, place.pass)) return;
    }
    for (std::size_t size = std::min(items_.size() - at - 1, body - 1); size > 0; --size) {
      if (fold(at, at + 1, size, place.pass)) return;
    }
  }

  static bool is_alike(const Item& x, const Item& y) {
    return x.kind == y.kind && (x.has_body() || x.key == y.key) && x.body.size() == y.body.size();
  }

  bool fold(std::size_t at, std::size_t first, std::size_t size, std::int64_t pass) {
    const OddPlace place{items_[at], column_, pass};
    const Block odd = Block(items_).subspan(first, size);
    if (!std::ranges::all_of(odd, [&](const Item& item) { return makes_tensors_only(item); })) return false;
    Alignment found(outline_, place);
    if (!found.find(odd, place.loop.body) || !is_worth_it(found, odd, place.loop.body) || leaves(found, first + size))
      return false;
    apply(found, at, first, size, pass);
    return true;
  }

  // The statements at the place where both differ.
  static std::pair<Block, Block> differing(const Alignment& found, Block odd, Block body) {
    for (std::size_t i = 0; i + 1 < found.prefixes.size(); ++i) {
      odd = odd[found.prefixes[i]].body;
      body = body[found.prefixes[i]].body;
    }
    return {odd.subspan(found.prefixes.back(), found.odd), body.subspan(found.prefixes.back(), found.regular)};
  }

  static bool is_worth_it(const Alignment& found, Block odd, Block body) {
    const auto [ours, theirs] = differing(found, odd, body);
    const std::int64_t common = lines_of(odd) - lines_of(ours), apart = lines_of(ours) + lines_of(theirs);
    const std::int64_t questions = (ours.empty() ? 0 : 1) + (theirs.empty() ? 0 : 1);
    const bool has_guard = std::ranges::any_of(theirs, [](const Item& i) { return i.kind == Item::Kind::guard; });
    return !has_guard && common >= apart && common - questions >= kLeastSaved;
  }

  // Whether something that both make is used behind the odd pass.
  bool leaves(const Alignment& found, std::size_t end) {
    if (last_users_.empty()) find_last_users();
    return std::ranges::any_of(found.twins, [&](const auto& pair) {
      const auto user = last_users_.find(pair.first);
      return user != last_users_.end() && user->second >= end;
    });
  }

  void find_last_users() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      each(items_[i], [&](const Item& item) {
        for (const Ref& ref : item.refs) last_users_[ref.entity] = i;
      });
    }
    for (const Entity made : around_ ? around_->makes : std::vector<Entity>{}) {
      if (outline_.is_kept_list(made)) last_users_[outline_.entities[made].source] = kEver;
    }
    last_users_[isa::kNone] = 0;  // so that it is not empty
  }

  void apply(const Alignment& found, std::size_t at, std::size_t first, std::size_t size, std::int64_t pass) {
    Item& loop = items_[at];
    Block odd = Block(items_).subspan(first, size);
    keep_twins(found);
    if (pass < 0) {
      each(loop, [&](Item& item) { each_row(item, [&](std::int64_t* row) { row[0] -= row[column_]; }); });
    }
    loop.upper += 1;
    std::vector<Item>* body = &loop.body;
    for (std::size_t i = 0; i + 1 < found.prefixes.size(); ++i) body = &(*body)[found.prefixes[i]].body;
    const auto [ours, theirs] = differing(found, odd, loop.body);
    std::vector<Item> guards;
    const Item question{.kind = Item::Kind::guard, .column = column_, .pass = std::max<std::int64_t>(pass, 0)};
    if (!ours.empty()) guards.push_back(guarded(question, {ours.begin(), ours.end()}));
    if (!guards.empty()) each(guards.back(), [&](Item& item) { move_into(item, found); });
    if (!theirs.empty()) guards.push_back(guarded(question, {theirs.begin(), theirs.end()}));
    if (!theirs.empty()) guards.back().runs_otherwise = true;
    if (!ours.empty()) make_seen(found, guards.front(), loop);
    const auto place = body->begin() + static_cast<std::ptrdiff_t>(found.prefixes.back());
    body->insert(body->erase(place, place + static_cast<std::ptrdiff_t>(found.regular)),
                 std::make_move_iterator(guards.begin()), std::make_move_iterator(guards.end()));
    const auto gone = items_.begin() + static_cast<std::ptrdiff_t>(first);
    items_.erase(gone, gone + static_cast<std::ptrdiff_t>(size));
    last_users_.clear();
  }

  static Item guarded(Item guard, std::vector<Item> body) {
    guard.lines = 1 + static_cast<std::uint32_t>(lines_of(body));
    guard.width = body.front().width;
    for (const Item& item : body) guard.makes.insert(guard.makes.end(), item.makes.begin(), item.makes.end());
    guard.body = std::move(body);
    return guard;
  }

  // What both make is made once: it is used when one of them uses it.
  void keep_twins(const Alignment& found) {
    for (const auto& [ours, theirs] : found.twins) {
      EntityInfo &a = outline_.entities[theirs], &b = outline_.entities[ours];
      a.last_use = std::max(a.last_use, b.last_use);
      a.leaves_its_loop = a.leaves_its_loop || b.leaves_its_loop;
    }
  }

  // A statement of the odd pass, into the loop: a column for the variable, and the names of the loop.
  void move_into(Item& item, const Alignment& found) {
    if (item.kind == Item::Kind::guard && item.column > column_) ++item.column;
    const auto with_column = [&](const std::vector<std::int64_t>& rows) {
      std::vector<std::int64_t> out;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i % item.width == column_) out.push_back(0);
        out.push_back(rows[i]);
        if (i % item.width + 1 == item.width && item.width == column_) out.push_back(0);
      }
      return out;
    };
    item.numbers = with_column(item.numbers);
    for (Ref& ref : item.refs) {
      ref.places = with_column(ref.places);
      const auto twin = found.twins.find(ref.entity);
      if (twin != found.twins.end()) ref.entity = twin->second;
    }
    ++item.width;
  }

  // What the odd pass makes has its name behind the loop too; what it makes in loops goes into one list.
  void make_seen(const Alignment& found, const Item& guard, Item& loop) {
    if (found.lists.empty()) {
      loop.makes.insert(loop.makes.end(), guard.makes.begin(), guard.makes.end());
      return;
    }
    for (const Entity list : found.lists.back()) {
      Entity element = list;
      for (std::size_t i = 0; i < found.trips.size(); ++i) element = outline_.entities[element].source;
      outline_.entities[list].source = element;
      outline_.flat[list] = found.trips;
      outline_.flat_of[element] = list;
      loop.makes.push_back(list);
    }
  }

  Outline& outline_;
  std::vector<Item>& items_;
  std::size_t column_;  // of the variable of a loop in this block
  const Item* around_;
  std::unordered_map<Entity, std::size_t> last_users_;  // in this block; empty: not known
};

void fold_block(Outline& outline, std::vector<Item>& items, std::size_t column, const Item* around) {
  for (Item& item : items) fold_block(outline, item.body, column + (item.kind == Item::Kind::loop ? 1 : 0), &item);
  Folding(outline, items, column, around).run();
}

}  // namespace

void fold_odd_passes(Outline& outline) {
  for (Item& item : outline.items) open(item);
  fold_block(outline, outline.items, 1 + static_cast<std::size_t>(outline.variables), nullptr);
  for (Item& item : outline.items) close(item);
}

}  // namespace kiln::emit
