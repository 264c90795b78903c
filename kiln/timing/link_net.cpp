#include "kiln/timing/link_net.h"

#include <algorithm>

namespace kiln::timing {

Time LinkNet::take(Time earliest, const std::map<Link, double>& times) {
  Time at = earliest;
  for (Time before = -1; before != at;) {
    before = at;
    for (const auto& [link, ns] : times) at = std::max(at, links_[link].first_fit(at, from_ns(ns)));
  }
  for (const auto& [link, ns] : times) links_[link].take(at, from_ns(ns));
  return at;
}

}  // namespace kiln::timing
