// Applies one operator of the plain kernels to raw files, for comparison with NumPy:
//   alu_dump list
//   alu_dump float|bits|int|fold OP PARAM A B OUT
// PARAM is the width for bits, 1 for signed in int, the row length for fold (A the rows, B the starting
// values).
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "kiln/num/kernels.h"

namespace {

std::vector<std::uint32_t> read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

std::vector<float> as_floats(const std::vector<std::uint32_t>& words) {
  std::vector<float> floats(words.size());
  std::memcpy(floats.data(), words.data(), words.size() * 4);
  return floats;
}

std::vector<std::uint32_t> run(const std::string& kind, kiln::AluOp op, int param, const std::vector<std::uint32_t>& a,
                               const std::vector<std::uint32_t>& b) {
  const kiln::Kernels& kernels = kiln::plain_kernels();
  std::vector<std::uint32_t> out(b.size());
  if (kind == "bits") kernels.bits_vv(op, param, a.data(), b.data(), out.data(), a.size());
  if (kind == "int") kernels.int_vv(op, param != 0, a.data(), b.data(), out.data(), a.size());
  if (kind == "float" || kind == "fold") {
    const auto x = as_floats(a);
    auto y = as_floats(b);
    if (kind == "float") kernels.alu_vv(op, x.data(), y.data(), y.data(), x.size());
    if (kind == "fold") kernels.fold_rows(op, x.data(), param, y.size(), param, y.data());
    std::memcpy(out.data(), y.data(), y.size() * 4);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "list") {
    for (const auto& row : kiln::kAluOps) std::cout << row.name << ' ' << static_cast<int>(row.cls) << '\n';
    return 0;
  }
  kiln::AluOp op;
  if (argc != 7 || !kiln::parse_alu(argv[2], op)) return 2;
  const auto out = run(argv[1], op, std::stoi(argv[3]), read(argv[4]), read(argv[5]));
  std::ofstream file(argv[6], std::ios::binary);
  file.write(reinterpret_cast<const char*>(out.data()), static_cast<std::streamsize>(out.size() * 4));
  return file ? 0 : 1;
}
