#include "kiln/sim/far_origins.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "kiln/sim/message.h"

namespace kiln::sim {
using isa::Shadow;
namespace {

using Name = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // program of the launch, tensor, is padding

std::vector<Name> names_of(const isa::Launch& launch, const Origins& origins) {
  std::vector<Name> names;
  for (Shadow s = 1; const Origins::Origin* origin = origins.find(s); ++s) {
    const auto program = std::ranges::find(launch.programs, origin->program) - launch.programs.begin();
    names.emplace_back(program, origin->tensor, origin->plain != 0);
  }
  return names;
}

}  // namespace

// Numbers without a name, of many tensors and of unread bytes, mean the same everywhere.
FarOrigins::FarOrigins(Processes& processes, const isa::Launch& launch, Origins& origins) {
  std::iota(common_of_.begin(), common_of_.end(), Shadow{0});
  own_of_ = common_of_;
  const std::vector<Name> own = names_of(launch, origins);
  MessageWriter message;
  for (const auto& [program, tensor, padding] : own) message << program << tensor << padding;
  std::vector<Name> all;
  for (const std::string& text : all_say(processes, message.text())) {
    for (MessageReader reader(text); !reader.at_end();) {
      const std::int64_t program = reader.next(), tensor = reader.next(), padding = reader.next();
      if (std::ranges::find(all, Name(program, tensor, padding)) == all.end())
        all.emplace_back(program, tensor, padding);
    }
  }
  const Shadow many = Origins::many();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto common = std::ranges::find(all, own[i]) - all.begin() + 1;
    common_of_[i + 1] = common < many ? static_cast<Shadow>(common) : many;
  }
  for (std::size_t i = 0; i < all.size() && i + 1 < many; ++i) {
    const auto [program, tensor, padding] = all[i];
    const Shadow plain = origins.add(*launch.programs[program], static_cast<isa::TensorId>(tensor));
    own_of_[i + 1] = padding ? origins.padding_of(plain) : plain;
  }
}

}  // namespace kiln::sim
