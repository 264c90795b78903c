#include "kiln/tensor/lower/cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kiln/base/file.h"
#include "kiln/isa/text/parse.h"
#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/text.h"

namespace kiln::tensor {
namespace {

using Json = nlohmann::json;

// 64 bits of FNV-1a. The file has the whole key: two keys with one name are told apart.
std::uint64_t digest(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

}  // namespace

std::string cache_key(const Graph& graph, const CompileOptions& options) {
  return fmt::format("kiln {}\n{} lnc {} -O{}{} sbuf {} donated {}\n{}", KILN_VERSION, arch(options.target).name,
                     options.lnc, options.level, options.fuse ? "" : " apart", options.sbuf_bytes,
                     fmt::join(options.donated, ","), print(graph));
}

std::string Cache::path(const std::string& key, const std::string& ending) const {
  return (std::filesystem::path(folder_) / fmt::format("{:016x}.{}", digest(key), ending)).string();
}

std::optional<Kept> Cache::find(const std::string& key) const {
  const std::string file = path(key);
  if (!std::filesystem::exists(file)) return {};
  try {
    const std::string text = read_file(file);
    const Json json = Json::from_cbor(text.begin(), text.end());
    if (json.at("key") != key) return {};
    Kept kept{{}, {}, json.at("report"), json.at("groups")};
    for (const Json& program : json.at("programs"))
      kept.programs.push_back(isa::parse(program.get<std::string>(), file));
    if (kept.programs.empty()) return {};
    for (const Json& c : json.at("constants")) {
      DType dtype{};
      if (!parse_dtype(c.at("dtype").get<std::string>(), dtype)) return {};
      const Type type{dtype, c.at("shape").get<Shape>()};
      const auto& bytes = c.at("bytes").get_binary();
      kept.constants.push_back({c.at("name"), from_bytes(type, reinterpret_cast<const std::byte*>(bytes.data()))});
    }
    return kept;
  } catch (const std::exception&) {  // an older layout, or a file that somebody else wrote
    return {};
  }
}

void Cache::put(const std::string& key, const Kept& kept) const {
  Json constants = Json::array();
  for (const Constant& c : kept.constants) {
    const std::vector<std::byte> bytes = to_bytes(c.array);
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    constants.push_back({{"name", c.name},
                         {"dtype", name(c.array.type.dtype)},
                         {"shape", c.array.type.shape},
                         {"bytes", Json::binary(std::vector<std::uint8_t>(first, first + bytes.size()))}});
  }
  Json programs = Json::array();
  for (const isa::Program& program : kept.programs) programs.push_back(isa::print(program));
  const Json json{
      {"key", key}, {"programs", programs}, {"report", kept.report}, {"groups", kept.groups}, {"constants", constants}};
  const std::vector<std::uint8_t> cbor = Json::to_cbor(json);
  require_folder(folder_);
  write_atomically(path(key), std::string(cbor.begin(), cbor.end()));
}

}  // namespace kiln::tensor
