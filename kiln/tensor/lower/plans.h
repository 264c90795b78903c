// Plans: what programs that are built of one graph with different choices have in common: how its ops are fused, the
// tilings of its regions and their layouts. Each is found once. Any thread may ask.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "kiln/tensor/passes/layout.h"
#include "kiln/tensor/passes/tile.h"

namespace kiln::tensor {

class Plans {
 public:
  explicit Plans(const Arch& chip) : chip_(chip) {}
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  // What is given out lasts as long as the plans, and is right for as long as the graph does: graphs are told apart by
  // where they are.
  const Fusion& fusion(const Graph& graph, const FuseOptions& options);
  // As tilings() of passes/tile.h has them; `fusion` is one of these.
  const std::vector<Tiling>& tilings(const Graph& graph, const Fusion& fusion, int region, std::size_t most,
                                     double sbuf_share);
  const Layout& layout(const Graph& graph, const Fusion& fusion, int region, const LayoutOptions& options);

 private:
  const Arch chip_;
  std::mutex mutex_;
  std::map<std::pair<const Graph*, FuseOptions>, Fusion> fusions_;
  std::map<std::tuple<const Fusion*, int, std::size_t, double>, std::vector<Tiling>> tilings_;
  std::map<std::tuple<const Fusion*, int, LayoutOptions>, Layout> layouts_;
};

}  // namespace kiln::tensor
