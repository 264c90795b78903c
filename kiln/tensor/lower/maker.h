// Maker: one program, or one body in it, built with one set of choices.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "kiln/tensor/lower/copies.h"
#include "kiln/tensor/lower/lower.h"
#include "kiln/tensor/lower/plans.h"

namespace kiln::tensor {

// Choices that a program is built with.
struct Choice {
  FuseOptions fuse;
  RegionOptions region;
  std::map<int, std::size_t> tiling;       // by region: which of the best estimates; the first unless said
  std::map<int, RegionOptions> of_region;  // regions that are built in another way
  std::size_t region_choices = 4;
  double sbuf_share = 0.8;           // of a partition, for the tiles of a pass, by estimate
  std::int64_t held_bytes = 114688;  // of a partition, for matrices that lie there during all passes of a loop
  bool started_by_software = false;  // DMAs
  bool says_engines = false;         // said_engines.h
  bool keeps_blocks = false;         // results with more than 128 rows stay in SBUF where all who read them find them
  bool moving_views = true;          // a range from a place known at run time is read where it lies, not copied

  // Whether a program that was built with this choice is the same with another one.
  bool is_same_with(const Choice& other) const;
};

// The chip, with as much SBUF as the program may take.
Arch chip_of(const CompileOptions& options);

class Maker {
 public:
  // The options of regions in `choice` note what is asked of them. `plans`: for the same chip, also of other programs
  // of the graph.
  Maker(const Graph& graph, const CompileOptions& options, const Choice& choice, Plans& plans);
  // Nothing when a region has no common loops.
  std::optional<Compiled> run();

 private:
  // Where the inputs of a body lie and where its outputs go. Outputs that are state become inputs of the next pass.
  struct Bound {
    Maker& around;
    std::vector<isa::View> inputs, outputs;
    std::size_t first_state = 0, states = 0;  // inputs that are state
  };
  Maker(const Graph& body, Bound bound);
  Maker& root() { return bound_ ? bound_->around.root() : *this; }

  bool prepare();  // all that is declared, before any loop begins
  void emit();
  Copies copies();
  void declare();
  void declare_outputs();
  isa::View storage_for(Value v);
  isa::View output_storage(std::size_t i);
  void find_direct_outputs();
  std::optional<Value> direct_value(std::size_t output) const;
  bool is_named(const std::string& name) const;
  void rename_tiles();
  bool is_donated(Value v) const;
  bool reads_rows(Value v) const;
  void find_moving_views();
  void find_placed_parts();
  bool is_placed(Value update) const;
  void find_updates();
  void find_spills();
  isa::View constant(const Op& op, const isa::Shape& shape, DType t);
  bool plan(int region);
  void emit_rows(int region);
  void report(int region, const Layout& plan, std::size_t instructions);
  double moved_bytes(const Layout& plan) const;

  // control.cpp
  struct Control {
    std::vector<isa::View> results;                  // of the op: state, or what a branch gives
    std::vector<std::pair<isa::View, Value>> given;  // copies of operands that do not lie as a body reads them
    std::optional<isa::View> condition;
    std::optional<isa::View> passes, pass;  // 0, 1, ... and the one that is under way, when a body computes with it
    std::vector<std::unique_ptr<Maker>> bodies;
  };
  // State of a body that stays in SBUF.
  struct KeptState {
    isa::View hbm;
    Tile now, next;
  };
  bool prepare_control(Value v);
  void prepare_kernel(Value v);
  void emit_kernel(Value v);
  void emit_control(Value v);
  void emit_for(Value v);
  void emit_while(Value v);
  void emit_branch(Value v);
  isa::View result_storage(Value v, std::int64_t index);
  isa::View operand_storage(Control& control, Value operand);
  bool is_unchanged(std::size_t state) const;
  bool is_updated(std::size_t state) const;
  bool is_rewritten(std::size_t state, std::int64_t count) const;
  bool changes_in_place(std::size_t state) const;
  bool computes_with(Value input) const;
  void keep_states();
  void keep_reads(const std::set<Value>& moved, std::int64_t left);
  void leave_states(Value v);
  void finish_pass();
  void hold_matrices();
  void load_states();
  void store_states();

  const Graph& graph_;
  const CompileOptions& options_;
  Choice choice_;
  const RegionOptions& region_options_;  // those that were given, also of a body
  std::optional<Bound> bound_;           // of a body
  Arch chip_;
  std::unique_ptr<isa::Kernel> own_;
  isa::Kernel& k_;
  Plans& plans_;
  const Fusion& fusion_;
  Storage storage_;
  Compiled out_;
  std::set<Value> in_place_, updated_;  // ops that write a donated input, and these inputs
  std::set<Value> moving_;              // ranges that are read where they lie
  std::map<Value, Value> placed_;       // what is stored where an update in place would put it, and the update
  std::vector<const Layout*> layouts_;  // by region
  std::deque<Layout> spread_layouts_;   // those that are not of the plans
  std::vector<std::size_t> alternatives_;
  std::map<Value, std::size_t> direct_;  // what is moved or looped over, and is an output: written there at once
  std::map<Value, Control> control_;
  std::vector<KeptState> kept_states_, kept_reads_;
  std::optional<std::pair<Value, isa::Index>> pass_;
};

}  // namespace kiln::tensor
