// Runs a fuzz target without libFuzzer: every file of a corpus, then random mutations of them.
//   fuzz_x --seconds N [--inputs N] [--seed S] [--dict FILE] corpus…
// Prints the seed, and ends after so many seconds or inputs. An input that fails is named by its number; --only NUMBER
// with the same seed, dictionary and corpus writes that input to standard output instead of running it.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMaxSize = 1 << 16;

struct Options {
  double seconds = 1;
  std::uint64_t seed = std::random_device{}();
  std::uint64_t inputs = UINT64_MAX, only = 0;
  std::vector<std::string> words, corpus;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

// Words of a libFuzzer dictionary: what stands between the quotes of each line, with \xNN, \\ and \" undone.
std::vector<std::string> read_dictionary(const std::string& path) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find('"'), last = line.rfind('"');
    if (line.empty() || line[0] == '#' || first == last) continue;
    std::string word;
    for (std::size_t i = first + 1; i < last; ++i) {
      if (line[i] != '\\') {
        word += line[i];
      } else if (line[i + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      } else {
        word += line[++i];
      }
    }
    words.push_back(word);
  }
  return words;
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--seconds" && has_value) {
      o.seconds = std::atof(argv[++i]);
    } else if (arg == "--seed" && has_value) {
      o.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--inputs" && has_value) {
      o.inputs = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--only" && has_value) {
      o.only = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--dict" && has_value) {
      o.words = read_dictionary(argv[++i]);
    } else if (std::filesystem::is_directory(arg)) {
      std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(arg), {});
      std::sort(files.begin(), files.end());
      for (const auto& file : files) o.corpus.push_back(read(file));
    } else {
      o.corpus.push_back(read(arg));
    }
  }
  if (o.corpus.empty()) o.corpus.emplace_back();
  return o;
}

class Mutator {
 public:
  explicit Mutator(const Options& options) : random_(options.seed), words_(options.words), corpus_(options.corpus) {}

  std::string next() {
    std::string text = any(corpus_);
    for (std::size_t n = 1 + below(6); n > 0; --n) mutate(text);
    if (text.size() > kMaxSize) text.resize(kMaxSize);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  const std::string& any(const std::vector<std::string>& list) { return list[below(list.size())]; }

  void mutate(std::string& text) {
    const std::size_t at = below(text.size() + 1), length = below(text.size() - at + 1) % 64;
    switch (below(8)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), 1 + below(200)));
        break;
      case 3:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << below(8));
        break;
      case 5:
        text.replace(at, length, number());
        break;
      case 6: {
        const std::string& other = any(corpus_);
        text.replace(at, length, other.substr(below(other.size() + 1), 1 + below(300)));
        break;
      }
      default:
        if (!words_.empty()) text.replace(at, length / 8, any(words_));
    }
  }

  std::string number() {
    static constexpr std::int64_t kEdges[] = {0, 1, -1, 5, 64, 128, 65535, 65536, INT32_MAX, INT64_MAX, INT64_MIN};
    return std::to_string(below(2) ? kEdges[below(std::size(kEdges))] : static_cast<std::int64_t>(below(1000)));
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& words_;
  const std::vector<std::string>& corpus_;
};

std::uint64_t input_number = 0;

void say_which(int) {
  std::printf("failed on input %llu\n", static_cast<unsigned long long>(input_number));
  std::fflush(stdout);
  std::_Exit(1);
}

void run(const std::string& text) {
  // A copy of exactly this size, so that a sanitizer sees every read past the end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  Mutator mutator(options);
  if (options.only) {
    for (std::uint64_t i = 1; i < options.only; ++i) mutator.next();
    const std::string text = mutator.next();
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  for (const std::string& text : options.corpus) run(text);
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(signal, say_which);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  while (input_number < options.inputs && Clock::now() < end) {
    ++input_number;
    run(mutator.next());
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(input_number));
}
