#include "kiln/tensor/lower/plans.h"

namespace kiln::tensor {
namespace {

// What stands there for the key, or is made for it now.
template <class Map, class Make>
const typename Map::mapped_type& found_or_made(Map& map, const typename Map::key_type& key, const Make& make) {
  const auto known = map.find(key);
  return known != map.end() ? known->second : map.emplace(key, make()).first->second;
}

}  // namespace

const Fusion& Plans::fusion(const Graph& graph, const FuseOptions& options) {
  const std::scoped_lock lock(mutex_);
  return found_or_made(fusions_, {&graph, options}, [&] { return fuse(graph, options); });
}

const std::vector<Tiling>& Plans::tilings(const Graph& graph, const Fusion& fusion, int region, std::size_t most,
                                          double sbuf_share) {
  const std::scoped_lock lock(mutex_);
  return found_or_made(tilings_, {&fusion, region, most, sbuf_share},
                       [&] { return tensor::tilings(graph, fusion, region, chip_, most, sbuf_share); });
}

const Layout& Plans::layout(const Graph& graph, const Fusion& fusion, int region, const LayoutOptions& options) {
  const std::scoped_lock lock(mutex_);
  return found_or_made(layouts_, {&fusion, region, options},
                       [&] { return tensor::layout(graph, fusion, region, options); });
}

}  // namespace kiln::tensor
