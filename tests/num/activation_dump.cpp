// activation_dump FUNCTION PARAM IN OUT: applies the plain activation to a file of raw float32, so that a
// test can compare with an outside oracle.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "kiln/num/plain/plain.h"

int main(int argc, char** argv) {
  kiln::ActFn fn{};
  if (argc != 5 || !kiln::parse_act(argv[1], fn)) {
    std::cerr << "usage: activation_dump FUNCTION PARAM IN OUT\n";
    return 2;
  }
  std::ifstream in(argv[3], std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  auto* const values = reinterpret_cast<float*>(bytes.data());
  kiln::plain::activation(fn, values, std::stof(argv[2]), values, bytes.size() / sizeof(float));
  std::ofstream out(argv[4], std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return in && out.flush() ? 0 : 1;
}
