// RegionEmitter: the instructions of one region. Loops over rows, loads where they move with no inner loop, and values
// computed on demand: what an instruction can take along with its operands is not computed by itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/tensor/lower/region_options.h"
#include "kiln/tensor/lower/storage.h"
#include "kiln/tensor/lower/turn.h"
#include "kiln/tensor/passes/layout.h"

namespace kiln::tensor {

// A range of the last dimension: the piece of wide rows that is being worked on.
struct Columns {
  std::int64_t extent = 0, size = 0;
  isa::Index start = 0;
  bool spread = false;  // one row lies on all partitions, `size` of its columns on each
};

class RunningSum;

class RegionEmitter {
 public:
  RegionEmitter(isa::Kernel& k, const Graph& graph, const Fusion& fusion, int region, const Layout& layout,
                Storage& storage, const Arch& arch, const RegionOptions& options);
  void emit();
  // Loads matrices that no pass of a loop changes, as long as bytes of a partition are left; takes what they need off.
  void hold(const std::set<Value>& unchanged, std::int64_t& left);

 private:
  struct Scope {
    std::map<Value, Tile> values;
    std::map<int, Tile> leaves;
    std::map<const Footprint*, Tile> footprints;
    std::map<int, Tile> matrices;
    std::map<int, Tile> pieces;    // of matrices: the columns that are worked on
    std::map<Value, Tile> turned;  // rows of the first operands of products, as columns
    std::map<double, Tile> numbers;
    std::set<Value> consumed;  // computed in another form, for the one op that reads it
  };
  // An operand: a number, or a tile.
  struct Given {
    std::optional<double> number;
    Tile tile;
  };
  // data op scalar, or with `reverse` scalar op data, where the scalar is a number or one value per partition.
  struct Chain {
    Value data;
    AluOp op;
    Value scalar;
    int data_at, scalar_at;  // operands of the op
    bool reverse;
  };

  // region.cpp
  void nest(std::size_t loop);
  void body(isa::Index start, std::int64_t rows);
  std::int64_t blocks_side_by_side() const;
  void over_blocks_side_by_side(std::int64_t blocks);
  void store_all();
  void store(const Leaf& leaf, const Tile& tile);
  Tile in_dtype_of_store(const Tile& t, const Free& free, DType dtype);
  void hoist(int level);
  bool has_few_rows() const;
  void load_rows_first();
  void load_blocks_first();
  bool comes_first(int index) const;
  bool is_hoisted(const Leaf& leaf) const;
  bool is_for_products(int index) const;
  isa::Index place(const Leaf& leaf) const;
  isa::Index place_in_row(const Leaf& leaf) const;
  const Tile* kept(const Leaf& leaf) const;
  const KeptShape* kept_blocks(Value base) const;
  Tile matrix_of_blocks(const Leaf& leaf, const KeptShape& shape);
  const KeptShape* kept_as_columns(Value v) const;
  Tile columns_of_blocks(Value v, const KeptShape& shape) const;
  void copy_blocks(const Tile& dst, const KeptShape& shape, const Leaf& leaf, std::int64_t wide);
  void turn_blocks(const Tile& dst, const KeptShape& shape, const isa::View& rows, const isa::Index& at,
                   std::int64_t first, std::int64_t blocks);
  std::optional<Tile> spread_kept(const Leaf& leaf);
  bool is_turned(const Leaf& leaf) const;
  Tile place_of_kept(const Leaf& leaf, Tile dst) const;
  const Tile* kept_result(const Leaf& leaf) const;
  Tile load(int leaf);
  bool load_into(Value op, std::size_t i, const Tile& part);
  const Footprint* shared(int leaf) const;
  std::int64_t span_of_piece(const Footprint& all, const Leaf& leaf) const;
  Tile load_shared(int leaf, const Footprint& all);
  Tile operand(Value op, std::size_t i);
  Given given(Value op, std::size_t i);
  Tile value(Value v, const Tile* into = nullptr);
  Tile value_in_rows(Value v, const Tile* into);
  Tile compute(Value v, const Tile* into);
  Tile number_tile(double x);
  void comes_from(Value v);
  Free free_of(Value v) const;
  Free free_of(const Shape& shape, std::size_t row_dims) const;
  DType tile_dtype(Value v) const;
  Tile target(Value v, const Tile* into);
  Tile target(Value v, const Tile* into, Value user, std::size_t i, const Tile& t);
  bool is_last_reader(Value user, std::size_t i, const Tile& t, Value v) const;
  bool is_last_to_take(Value v, Value user) const;
  const Tile* find(Value v) const;
  bool is_done(Value v) const;
  int still_to_read(Value v) const;
  bool is_column(Value v) const;
  [[noreturn]] void not_yet(Value v, const std::string& what) const;

  // columns.cpp
  // What a value is made of, piece by piece.
  struct Cone {
    std::vector<Value> columns;   // one value per row: there before the pieces
    std::vector<Value> products;  // whose rows are turned before the pieces
    std::vector<Value> running;   // running values: each piece goes on where the one before ends
  };
  bool gather_cone(Value v, std::int64_t columns, Cone& cone) const;
  bool goes_in_pieces(Value v, std::int64_t columns) const;
  void prepare(const Cone& cone);
  std::int64_t piece_of(std::int64_t columns, std::int64_t most, const std::vector<const Leaf*>& leaves) const;
  void store_pieces(std::int64_t columns, std::int64_t piece, const std::vector<const Leaf*>& leaves);
  bool streams() const;
  void stream();
  void make_resident(std::size_t passes);
  void keep_resident();
  Tile reduce_halves(const Tile& x, std::int64_t n, AluOp op);
  std::optional<Value> shift_of(Value v) const;
  void join_shifted(Value v, Value m, const Tile& sums);
  std::size_t passes_over(std::set<Value> left) const;
  std::vector<Value> ready_of(const std::set<Value>& left) const;
  void reduce_pieces(const std::vector<Value>& reductions);
  bool depends(Value v, const std::set<Value>& on) const;

  // attention.cpp
  struct Attention {
    Value scores{};                     // the first product
    Value between{};                    // of a window: what one of its ends leaves, else the same as `seen`
    Value seen{};                       // what the softmax is of: the scores, or a choice between them and a mask
    std::optional<std::int64_t> ahead;  // a query sees the keys up to its own place plus this
    std::optional<std::int64_t> back;   // and those from its own place less this
    Value largest{}, weights{}, total{}, result{};
    double factor = 1;         // weights are exp(factor * (seen - largest))
    std::set<int> unloaded;    // operands of the mask, which nobody needs
    Value inner{};             // what a mask chooses from: the scores, or a function of each of them
    std::set<Value> function;  // its ops, the last of them `inner`; empty: the scores as they are
    std::set<Value> columns;   // values of it that every row has one of
    bool few = false;          // queries: all scores lie in PSUM, with keys on partitions
  };
  // Keys that are worked on: their scores and where they and their values lie.
  struct Chunk {
    isa::Index at;
    std::int64_t size = 0;
    Tile keys, values, seen;
    isa::Index keys_at, values_at;  // column of keys, block of values
    std::int64_t keys_width = 0;
  };
  // The edge of a causal mask for the queries that are worked on.
  struct Band {
    isa::View mask, identity;
    std::int64_t blocks = 1;           // of queries in a group
    std::int64_t first = 0, keys = 0;  // keys below `first` are seen by all of the group, those from `keys` on by none
    isa::Index skip = 0;               // columns of the mask
    isa::View floor = {};              // the same for the other end of a window
    std::int64_t low = 0;              // keys below are seen by none of the group
    isa::Index floor_skip = 0;
  };
  std::optional<Attention> softmax_of(Value result) const;
  std::optional<Attention> attention_of(Value result) const;
  void find_floor(Attention& a) const;
  bool counts_rows(Value condition, std::set<int>& leaves) const;
  bool has_only_these_users(const Attention& a) const;
  bool gather_function(Value v, Attention& a) const;
  bool is_function_alone(const Attention& a) const;
  bool fits_chunks(const Attention& a) const;
  void make_band(std::int64_t blocks);
  void over_causal_groups(const Attention& a);
  void hide(const isa::View& sum, std::int64_t at, std::int64_t n);
  void over_hidden(std::int64_t at, std::int64_t n,
                   const std::function<void(std::int64_t, std::int64_t, const isa::View&)>& body) const;
  void score(const Attention& a, const Chunk& chunk, isa::Index at, std::int64_t n, const isa::View& largest);
  void score_by_function(const Attention& a, const Chunk& chunk, const isa::Index& at, const isa::View& sum,
                         const isa::View& largest);
  Tile score_all(const Attention& a, const Chunk& chunk);
  Tile weigh(const Attention& a, const Chunk& chunk, const Tile& bias, const Tile& total);
  Chunk chunk_of(const Attention& a, isa::Index at, std::int64_t n, isa::Index first_block);
  void attend(const Attention& a);

  // score_function.cpp
  struct TurnedFunction;
  struct Keys;
  struct FunctionLeaf;
  std::vector<FunctionLeaf> leaves_of_function(const Attention& a) const;
  bool is_turnable(const Attention& a) const;
  bool is_of_function(int load) const;
  bool loads_tables(const Attention& a) const;
  std::shared_ptr<TurnedFunction> turned_function(const Attention& a, std::int64_t blocks);
  void turn_bytes(const Tile& dst, const isa::View& hbm, const isa::Index& at, std::int64_t keys, std::int64_t blocks,
                  std::int64_t stride, std::int64_t queries, bool hides);
  void load_operand(const FunctionLeaf& l, const Tile& dst, const isa::Index& first, std::int64_t count,
                    std::int64_t blocks, const isa::Index& start, std::int64_t n, bool hides = false);
  void hold_operands(int level);
  Tile operand_of_function(const TurnedFunction& f, std::size_t i, const Keys& keys, const isa::Index& start,
                           std::int64_t n);
  void weigh_by_function(const Attention& a, const Keys& keys, const isa::Index& start, const isa::View& scores,
                         std::int64_t apart, const Tile& weights);

  // few_queries.cpp
  struct Depth;
  Depth key_blocks(const Attention& a) const;
  bool has_few_queries(Attention& a) const;
  Tile operand_of_few(const FunctionLeaf& l, DType dtype);
  void attend_few(const Attention& a);
  std::int64_t values_together() const;
  Tile multiply_values_together(const Attention& a, const Chunk& chunk, const isa::View& weights,
                                std::int64_t together);
  void over_few_beside(std::size_t loop, const std::function<void(const isa::Index&)>& pass);
  isa::View spread_largest(const isa::View& each);

  // unshifted.cpp
  struct ScoreTerm;
  struct Unshifted {
    bool counted = false;  // values have a column of ones: sums are a row of the result
    bool held = false;     // the tensor engine holds weights: sums are a column of it
    bool sums_alone() const { return !counted && !held; }
    std::int64_t keys = kBlock, queries = kBlock;  // of a block: fewer than 128 where all blocks are of one size then
    DType turned = DType::float32;
    isa::View fine;                        // (128, blocks of a group): 1 while the sums are in range
    isa::View finite;                      // (128, 1): 0 while the results are numbers
    isa::View ones;                        // (128, 1)
    std::optional<isa::View> counts = {};  // the same, which weights are multiplied with; nothing: added up elsewhere
    isa::View edge, identity;
    isa::View seen_edge;                   // of a function of scores: 1 and 0, what weights are multiplied with
    isa::View floor, seen_floor;           // the same for the other end of a window
    std::int64_t low = 0, high = 0;        // keys that a group sees, counted from its first query
    isa::Index first_block = 0;            // of keys, at the first query of a group
    bool follow = false;                   // queries of a group follow each other on partitions when they are stored
    bool left_by_scalar = false;           // the scalar engine takes results out of PSUM
    std::shared_ptr<ScoreTerm> term = {};  // what is added to scores; nothing: a function, or nothing at all
  };
  bool is_quotient(const Attention& a) const;
  bool goes_unshifted(const Attention& a) const;
  Tile load_values(int leaf);
  DType dtype_of_turned(const Attention& a) const;
  void emit_unshifted();
  void make_edge(Unshifted& u);
  isa::Reg ask_again(const Unshifted& u);
  std::vector<std::pair<std::int64_t, std::int64_t>> query_groups(const Attention& a) const;
  void over_query_groups(const Attention& a);
  Tile turned_queries(const Attention& a, const isa::Index& start, std::int64_t n, std::int64_t m);
  Tile weigh_keys(const Attention& a, const Keys& keys, const isa::Index& start, const Tile& queries);
  bool waits_for_more() const;
  void weigh_those_left();
  void add_values(const Attention& a, const Keys& keys, const Tile& weights, const isa::View& product);
  // What becomes of the weights of some keys.
  using AddWeights = std::function<void(const Keys&, const Tile&)>;
  void weigh_all(const Attention& a, const isa::Index& start, const Tile& queries, const AddWeights& add);
  void count_weights(const Keys& keys, const Tile& weights, const isa::View& totals);
  void attend_group(const Attention& a, const isa::Index& start, std::int64_t n);
  bool stores_rows(const Attention& a) const;
  bool stores_together(const Attention& a) const;
  void store_together(const Attention& a, const Tile& turned, const Tile& totals);
  void over_windows(const Attention& a);
  void weigh_window(const Attention& a, const isa::Index& start, const Tile& queries, const AddWeights& add);

  // score_terms.cpp
  std::shared_ptr<ScoreTerm> find_score_term(const Attention& a) const;
  void make_identity(ScoreTerm& t);
  void hold_score_term();
  void hold_part(std::size_t part);
  std::int64_t blocks_for_all(std::int64_t start) const;
  void load_score_term(std::int64_t start, std::int64_t n);
  void over_heads_of_term(const std::function<void(const isa::Index&)>& pass);
  void add_term_by_product(const Keys& keys, const isa::Index& start, std::int64_t n, const isa::View& scores,
                           std::int64_t apart);
  void weigh_with_term(const Keys& keys, const isa::Index& start, std::int64_t n, const isa::View& scores,
                       const isa::View& data, const isa::View& weights);

  // held_weights.cpp
  struct HeldSums;
  void attend_with_held_weights(const Attention& a, const isa::Index& start, std::int64_t n,
                                const std::function<void(const AddWeights&)>& weigh);
  void leave_held_sums(const Attention& a, const isa::Index& start, const HeldSums& sums);

  // heads_together.cpp
  struct Together;
  struct Tokens;
  struct ChecksOfHeads;
  struct PassOfHeads;
  struct SomeHeads;
  struct Columned;
  struct PairTerm;
  std::optional<Together> heads_together() const;
  bool is_stored_alone(const Together& t) const;
  bool stores_quotient_alone(const Attention& a) const;
  void put_side_by_side(Together& t, const Leaf& queries, const Leaf& keys) const;
  bool heads_follow(const Tokens& tokens, const Together& t) const;
  std::int64_t heads_of_a_pass(const Together& t) const;
  Tokens tokens_of(int load, const Together& t) const;
  void over_token_parts(const Tokens& tokens,
                        const std::function<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& move) const;
  void move_tokens(const Tokens& tokens);
  void load_tokens(Tokens& tokens);
  bool turns_tokens(DType dtype) const;
  void load_columns(const Tokens& tokens, const Together& t, const Columned& out);
  void turn_columns_of(const Tokens& tokens, const Together& t, const Columned& out);
  Columned turned_tokens(Tokens& tokens, const Together& t);
  isa::View counted_values(Tokens& values);
  void weigh_heads(const Together& t, const PassOfHeads& pass, SomeHeads& some,
                   const std::function<void(const std::vector<std::int64_t>&)>& made);
  void add_values_of_heads(const Together& t, const PassOfHeads& pass, const SomeHeads& some);
  void over_groups_of_queries(const Together& t, const std::function<void(const isa::Index&, std::int64_t)>& attend,
                              const std::function<void()>& finish);
  void hold_weights(const Together& t, const PassOfHeads& pass);
  void check_heads(const Together& t, const PassOfHeads& pass, const ChecksOfHeads& checks);
  void store_heads(const Together& t, const Tokens& out);
  void attend_heads(const Together& t, const ChecksOfHeads& checks);
  void over_heads(const Together& t, std::size_t loop, const std::vector<ChecksOfHeads>& checks);
  void emit_heads_together(Together& t);

  // terms_of_heads.cpp
  bool find_terms(Together& t) const;
  bool add_term(Together& t, int load, bool hides) const;
  bool fits_pairs(const Together& t) const;
  bool pairs_stay(const Together& t) const;
  std::int64_t heads_of_pairs(const Together& t) const;
  isa::View bias_of_keys(const Together& t);
  void make_mask_of_heads(Together& t);
  void hide_others(const Together& t, const isa::View& scores, std::int64_t units, std::int64_t columns);
  isa::View make_pairs(const Together& t);
  isa::View pairs_as_given(const Together& t, const PairTerm& p, std::int64_t head, std::int64_t first,
                           std::int64_t rows);
  void turn_pairs(const Together& t, const isa::View& given, double factor, const isa::View& out, std::int64_t at,
                  bool adds);
  isa::View add_pairs(const Together& t, const PassOfHeads& pass, const SomeHeads& some, const isa::View& scores,
                      const std::vector<std::int64_t>& units);

  // held_values.cpp
  struct HeldResult;
  std::int64_t heads_at_once(const Together& t) const;
  void hold_values(const Together& t, const PassOfHeads& pass);
  void turn_result(const Together& t, const PassOfHeads& pass, const HeldResult& r);

  // row_blocks.cpp
  struct Wide;
  struct RowGroup;
  std::optional<Wide> wide_product() const;
  std::int64_t blocks_together() const;
  void over_group(const RowGroup& group, const Tile& all, std::int64_t width, std::int64_t from, std::int64_t to,
                  const std::function<void(const isa::Index&, const Tile&)>& body);
  void meet_pieces(const Wide& p, const RowGroup& group);
  void over_row_blocks(std::int64_t together);
  isa::View add_parts(Value v, const Tile& rows, const RowGroup& group, isa::Index column, std::int64_t n,
                      std::int64_t blocks);

  // turned_groups.cpp
  // What blocks of columns have computed, beside each other as it lies in HBM.
  struct TurnedResult {
    isa::View all;
    isa::Index at = 0;                    // column of the block that is worked on
    std::int64_t columns = 0, depth = 0;  // of all blocks; rows of a block of it
    bool is_there = false;
  };
  isa::Dim turned_row(const Leaf& leaf) const;
  std::int64_t turned_together() const;
  Tile load_turned_group(int leaf, const isa::Index& start, std::int64_t n, std::int64_t size);
  void turn_back(TurnedResult& result, const Tile& tile, const isa::Dim& row, const Turner& turner);
  void store_turned_group(const Leaf& leaf, const TurnedResult& result);
  void gather_turned(const Leaf& leaf, std::int64_t n);
  void store_turned_groups();
  void over_turned_groups(std::int64_t together);

  // elementwise.cpp
  std::optional<Chain> chain(Value v) const;
  bool is_small(Value v) const;
  bool compares_in_float(Value v) const;
  bool is_inlined(Value v, const Shape& shape, bool again = false) const;
  isa::Operand scalar(const Given& g);
  isa::Operand less(Value v, std::size_t i);
  Engine pair_engine(const Tile& dst, const Tile& x, const Tile& y);
  Engine factor_engine(const Tile& dst, AluOp op, bool reverse) const;
  void scale_and_shift(const Tile& dst, const Tile& x, const Free& free, const Tile& mean, const Tile& scale);
  bool is_quicker_apart(Value v, const Chain& inner) const;
  void make_scratch();
  Tile elementwise(Value v, const Tile* into);
  Tile as_compared(Value v, std::size_t i);
  Tile compare(Value v, const Tile* into);
  bool reads_more_bits(Value v) const;
  Tile operate(Value v, const Tile* into);
  Tile operate_on_integers(Value v, const Tile* into);
  Tile activate(Value v, const Tile* into);
  Tile choose(Value v, const Tile* into);
  bool is_read_as(Value v) const;
  bool is_multiplied_alone(Value v) const;
  bool is_loaded_for(Value v) const;
  Tile cast(Value v, const Tile* into);
  Tile reinterpret(Value v, const Tile* into);
  Tile view(Value v);
  Tile join(Value v, const Tile* into);
  Tile in_sbuf(const Tile& t, const Free& free);
  Tile in_dtype(const Tile& t, const Free& free, DType dtype);
  void copy(const Tile& dst, const Tile& src, const Free& free);
  void fill(const Tile& dst, const Free& free, double x);

  // reduce.cpp
  Tile reduce(Value v, const Tile* into, bool negate = false);
  Tile reduce_elements(Value v, const Tile* into, bool negate = false);
  std::optional<Tile> negated(Value user, int at);
  Tile reduce_integers(Value v, const Tile& x, const Tile* into);
  Tile scan(Value v, const Tile* into);
  // shared_terms.cpp
  struct Term;
  class TermSum;
  void gather_terms(Value v, std::vector<Value>& sums, std::vector<Term>& terms) const;
  Term term_of(Value user, std::size_t i) const;
  std::optional<Tile> share_terms(Value v, const Tile* into);
  // linear_scan.cpp
  Tile linear_scan(Value v, const Tile* into);
  Tile before_linear_scan(Value v);
  bool can_go_on(Value v) const;
  Tile nothing_before(Value v);
  void go_on(OpCode code, const Tile& piece, const Tile& before);
  bool reduces_all(Value v) const;
  bool sums_apart(Value v) const;
  std::optional<Value> row_sum_of(Value v) const;
  std::optional<Value> row_maximum_of(Value v) const;

  // passes_together.cpp
  bool moves_with_passes(const Leaf& leaf) const;
  std::int64_t passes_together() const;
  Tile tile_of_passes(const Leaf& leaf, DType dtype, std::int64_t passes);
  Tile of_pass(const Leaf& leaf, const Tile& all, const isa::Index& pass) const;
  void move_passes(const Leaf& leaf, const Dims& free, std::int64_t skip, const Tile& all, std::int64_t passes,
                   bool loads);
  void over_passes_together(std::int64_t passes);

  // factors.cpp
  // data op scalar, where the scalar is one value per row, or for each segment of it.
  struct LinearStep {
    Value op;
    AluOp alu;
    int scalar_at;
  };
  struct Linear {
    std::vector<LinearStep> steps = {};
    std::int64_t segments = 1;
    std::vector<Value> consumed = {};  // all of the chain but the last value
  };
  std::int64_t segments_of(Value v, std::size_t operand) const;
  std::optional<Linear> linear_of(Value v) const;
  Tile of_segments(const Tile& a, const Tile& b, AluOp op);
  Tile scaled_and_shifted(Value v, const Linear& linear, const Tile* into);

  // row_parts.cpp
  void make_ones_of_parts();
  bool comes_for_all_blocks(int index) const;
  void load_for_all_blocks(int index);
  Tile of_this_block(int index) const;
  isa::View turned_column(const Tile& column);
  isa::View on_all_parts(const isa::View& each);
  Tile across_parts(const Tile& column, AluOp op, double factor = 1, const Tile* into = nullptr);
  Tile moments_of_parts(const Tile& of_parts);
  void store_of_rows(const Leaf& leaf, const Tile& column);

  // positions.cpp
  // The best element of each line and its place; of pieces of wide rows, where the next one starts.
  struct Found {
    Tile best, at, start = {};
  };
  // -n .. -1 for each of the lines that follow each other on a partition; n .. 1 where `packed` is 0. Of lines beside
  // each other `packed` is less than 0, and `apart` is the stride of their elements.
  struct Ramp {
    std::int64_t packed, n, apart;
    Tile tile;
  };
  Tile ramp_below_zero(std::int64_t packed, std::int64_t n, std::int64_t apart);
  void make_ramps();
  Tile count_down(std::int64_t n);
  Tile left_from_first(const Tile& x, std::int64_t n, const Tile& best);
  Tile best_of_blocks(const Tile& x, std::int64_t n, std::int64_t block, AluOp op);
  Found find_in_lines(const Tile& x, std::int64_t n, AluOp op);
  Tile plain_lines(Value v);
  static std::int64_t block_of_line(std::int64_t n);
  Tile locate(Value v, const Tile* into);
  Found nothing_found(Value v);
  void find_in_piece(Value v, const Found& so_far);

  // positions_beside.cpp
  struct LinesBeside;
  static LinesBeside lines_beside(const Graph& graph, Value v);
  Tile beside(std::int64_t count, std::int64_t n, DType t);
  void make_ramps_beside(Value v);
  bool takes_halves(DType t) const;
  std::int64_t block_beside(const LinesBeside& x) const;
  Tile halved_blocks(const LinesBeside& x, std::int64_t block, AluOp op);
  Tile places_below_end(const LinesBeside& x, std::int64_t block);
  Tile left_from_first(const LinesBeside& x, const Tile& best);
  LinesBeside best_of_blocks(const LinesBeside& x, std::int64_t block, AluOp op);
  LinesBeside gathered_block(const LinesBeside& x, std::int64_t block, const Tile& end);
  Tile find_beside(const LinesBeside& x, AluOp op);
  Tile locate_beside(Value v, const Tile* into);

  // row_sums.cpp
  // A sum over all rows, in PSUM while blocks of them come.
  struct RowSum {
    Value sum{};               // the product
    Tile ones;                 // its first operand, where that is ones
    std::vector<Tile> totals;  // up to 128 rows of the result each
  };
  Tile summed(Value sum, int operand);
  void find_row_sums();
  void add_rows();
  void store_row_sums();

  // moments.cpp
  // The mean and the variance of x, which lies with the rows of the region: sum(x) / n, sum(square(x - mean)).
  struct Moments {
    Value squares{}, sum{}, centred{}, reader{};  // reader: the op whose first operand is x
    // Of any float dtype: the mean as it is last, squares / n first, unless somebody else wants the squares.
    std::vector<Value> means = {}, variances = {};
    std::vector<Value> consumed = {};  // that nobody computes any more; the last one is the square
    std::int64_t n = 0;
  };
  Value without_casts(Value v, std::vector<Value>* casts) const;
  std::optional<Moments> moments_of(Value total) const;
  void find_moments();
  bool is_left_out(Value v) const;
  const Moments* made_by_moments(Value v) const;
  void take_moments(const Moments& m, const Tile& statistics, std::int64_t results);
  void add_statistics(const Moments& m, const Tile& statistics, const isa::Index& first);
  Tile compute_moments(Value v, const Tile* into);
  void stream_moments(const Moments& m);

  // lines.cpp
  Tile line(Value v, std::size_t i, DType dtype, bool fresh);
  Tile take_along(Value v, const Tile* into);
  Tile put_along(Value v, const Tile* into);
  void change_narrow(const Tile& dst, const Tile& x, const Tile& values, const isa::Index& i, AluOp op, std::int64_t n);
  Tile order(Value v, const Tile* into);
  Tile sorted_keys(const Tile& keys, std::int64_t N);
  Tile sorted(Value v, const Tile* into);
  Tile dealt(Value v, const Tile* into);
  Tile as_seen(Value v, Tile line, const Tile* into);
  Tile largest(Value v, const Tile* into);

  // product.cpp
  std::int64_t load_blocks() const { return load_blocks_ ? *load_blocks_ : std::int64_t{options_.load_blocks}; }
  // How the elements that a product sums over lie on partitions: block after block, or each partition has some that
  // follow each other, as they do in HBM.
  struct Depth {
    std::int64_t rows = 0, blocks = 0;
    bool follows = false;
  };
  Depth depth_of(Value v) const;
  Depth find_depth(Value v) const;
  bool is_for_this_alone(Value x) const;
  Depth depth_of_matrix(int leaf) const;
  std::int64_t rows_that_follow(Value v) const;
  bool comes_as_columns(Value v) const;
  bool is_row_of_hbm(const Leaf& leaf) const;
  bool can_spread(Value x, std::int64_t K) const;
  bool is_wanted_as_row(Value x) const;
  Tile spread_row(Value x, const Depth& depth);
  std::int64_t blocks_of_load(int leaf, std::int64_t rows, std::int64_t blocks) const;
  Tile load_following(int leaf, const Depth& depth);
  Tile multiply(Value v, const Tile* into);
  Tile multiply_pieces(Value v, const Tile* into);
  std::int64_t blocks_at_once(int index, std::int64_t columns) const;
  void add_in_parts(const isa::View& sum, const Tile& x, int index, isa::Index column, std::int64_t columns);
  void load_block(const Tile& dst, const isa::View& hbm, isa::Index at, std::int64_t k, std::int64_t k_stride,
                  std::int64_t columns, std::int64_t stride);
  Turner turner();
  Turner turner_of(const Leaf& leaf);  // of columns of HBM
  void load_turned(const Tile& dst, const isa::View& hbm, const isa::Index& at, std::int64_t K, std::int64_t stride,
                   std::int64_t columns);
  Engine evacuator();
  Tile turned_rows(Value v);
  // packed_product.cpp
  Tile packed_rows(Value v);
  Tile multiply_packed(Value v, const Tile* into);
  // stacked_product.cpp
  std::int64_t copies_above(int leaf) const;
  Tile load_above(int leaf, std::int64_t copies);
  std::int64_t multiply_above(const Tile& dst, const Tile& x, const Tile& y, std::int64_t N);
  // wide_rows.cpp
  std::vector<Value> rows_as_columns() const;
  std::int64_t wide_blocks() const;
  void over_wide_blocks(std::int64_t together);
  std::int64_t width_of_turned(const Tile& x) const;
  void turn_rows(Value v, const Tile& out);
  bool turns_in_dma(Value v, std::int64_t rows) const;
  const Tile& held_matrix(int leaf) const;
  bool turns_in_pieces(Value v) const;
  bool loads_in_parts(const Leaf& leaf) const;
  void turn_pieces(Value v, const Tile& out);
  Tile load_matrix(int leaf, isa::Index column, std::int64_t columns);
  Tile gather(Value v, const Tile* into);

  // spread_row.cpp
  struct SpreadProduct {
    Tile x, y;
    Depth depth;
    std::int64_t summed = 0, width = 0, first = 0;  // elements that are; columns of y, and the first one
    std::int64_t partitions = 0, columns = 0;       // of the result
    std::int64_t between = 1, next = 1;             // columns of y from partition to partition, and column to column
    DType dtype = DType::float32;
  };
  const SpreadRow* spread_of(Value v) const;
  std::int64_t partitions_of(Value v) const;
  Dims spread_pattern(const Dims& free, const SpreadRow& s) const;
  Tile load_spread(int leaf, const SpreadRow& s);
  void store_spread(const Leaf& leaf, const Tile& given, const SpreadRow& s);
  bool is_summed_across(Value v, const Type& sum) const;
  Tile across(const Tile& part);
  Tile sum_spread(Value v);
  std::optional<KeptShape> kept_shape(const Leaf& leaf) const;
  std::optional<Tile> kept_columns(Value v);
  std::optional<Depth> depth_of_columns(Value v) const;
  Tile columns_of(Value x, Tile t);
  Tile multiply_spread(Value v);
  void over_depth(const SpreadProduct& m, const std::function<void(isa::Index, std::int64_t)>& body);
  Tile multiply_columns(const SpreadProduct& m);
  Tile multiply_in_tiles(const SpreadProduct& m);
  void emit_spread();
  bool waits_in_hbm(const Leaf& leaf) const;
  bool reads_products(Value v) const;
  void load_short_rows();

  // pair.cpp
  std::int64_t pipe_of(Value v) const;
  void send(Value v, const Tile& dst, const Tile& src, const Free& free);
  Tile exchange(Value v, const Tile* into);
  Tile gather_halves(Value v, const Tile* into);

  isa::Kernel& k_;
  const Graph& graph_;
  const Fusion& fusion_;
  int region_;
  const Layout& layout_;
  Storage& storage_;
  const Arch& arch_;
  const RegionOptions& options_;
  std::optional<std::int64_t> load_blocks_ = {};  // for a while, others than the options say
  std::int64_t rows_of_region_;
  std::int64_t widest_ = 1;  // elements of a row of the widest value
  std::vector<int> uses_;
  std::vector<std::vector<Value>> users_;
  std::vector<Scope> scopes_;
  std::vector<isa::Index> at_;  // loops
  isa::Index start_ = 0;        // of the block of partitions
  std::int64_t rows_ = 0;       // of it
  std::optional<Columns> columns_;
  int evacuations_ = 0, pairs_ = 0;
  std::map<Value, Depth> depths_;  // of all products, as they are when nothing is computed yet
  std::optional<Attention> attention_;
  std::optional<Band> band_;
  std::optional<Unshifted> unshifted_;
  std::optional<isa::View> ones_;  // (128, 128), float32
  std::map<const Leaf*, TurnedResult> turned_results_;
  std::map<const Leaf*, Tile> pass_results_;  // where those of a pass go that are stored with others
  std::vector<Moments> moments_;
  std::vector<Ramp> ramps_;
  std::vector<RowSum> row_sums_;
  // Operands of wide rows that stay from their first pass on.
  struct Resident {
    Tile whole;
    bool is_there = false, is_loaded = false;  // for the passes that follow; in this one
  };
  std::map<int, Resident> resident_;
  std::map<int, Tile> for_all_blocks_;   // loads of a few elements of each row (row_parts.cpp)
  std::map<int, Tile> first_rows_;       // loads that are there before the matrices: blocks of rows beside each other
  std::map<Value, Tile> piece_results_;  // of reductions of wide rows: where that of a piece goes
  std::map<Value, Tile> carried_;        // of running values: what the piece before ends with
  std::int64_t stream_tile_ = 0;         // columns of wide rows at a time
  std::map<std::int64_t, std::shared_ptr<TurnedFunction>> functions_;  // by blocks of keys that go together
  bool heads_beside_ = false;                                          // of few queries: two of them in one order
  std::map<std::size_t, Tile> function_operands_;                      // with keys on partitions, for all keys
  std::map<std::size_t, Tile> group_operands_;                         // the same, for all queries of a group
  std::vector<std::function<void()>> unweighed_;  // keys whose weights are made together, with one table of functions
  std::map<Value, Tile> scratch_;           // values of which only the row sum is wanted: one place for all blocks
  std::map<isa::TensorId, Value> made_by_;  // the value that a tile was made for, plus one
  Value now_ = 0xffffffffu;                 // the op that instructions are being made for
};

}  // namespace kiln::tensor
