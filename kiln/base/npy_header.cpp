#include "kiln/base/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <limits>
#include <optional>

namespace kiln {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 65535;  // all that version 1.0 can say; NumPy itself stops at 10000
constexpr std::size_t kAlignBytes = 64;         // NumPy aligns the data for mapping the file
constexpr std::size_t kGrowthDigits = 21;       // NumPy leaves room for the first dimension to grow in place

// Reads the Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } and nothing more
// general: keys in any order, either quote, blanks and a last comma as Python allows them.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name, bool long_suffix)
      : text_(text), name_(name), long_suffix_(long_suffix) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (pos_ != text_.size()) malformed("text after the dict");
    if (!descr_ || !fortran_order_ || !shape_) malformed("`descr`, `fortran_order` or `shape` is missing");
    return {.descr = *descr_, .fortran_order = *fortran_order_, .shape = *shape_};
  }

 private:
  [[noreturn]] void malformed(const std::string& what) const {
    npy_fail(npy_rules::kHeaderDict, name_,
             fmt::format("{} at character {} of the header {}", what, pos_, npy_quote(text_)));
  }

  void skip_blanks() {
    while (pos_ < text_.size() && std::strchr(" \t\r\n", text_[pos_]) && text_[pos_]) ++pos_;
  }

  bool accept(char c) {
    skip_blanks();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("no `{}`", c));
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(pos_).starts_with(word)) return false;
    pos_ += word.size();
    return true;
  }

  void parse_entry() {
    const std::string key = parse_string();
    expect(':');
    if (key == "descr" && !descr_) {
      descr_ = parse_descr();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = parse_bool();
    } else if (key == "shape" && !shape_) {
      shape_ = parse_shape();
    } else {
      malformed(fmt::format("unexpected or repeated key {}", npy_quote(key)));
    }
  }

  std::string parse_string() {
    skip_blanks();
    const char quote = pos_ < text_.size() ? text_[pos_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, pos_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) malformed("no string");
    const std::string_view body = text_.substr(pos_ + 1, end - pos_ - 1);
    if (body.find_first_of("\\\r\n") != std::string_view::npos) malformed("a string with an escape or a line end");
    pos_ = end + 1;
    return std::string(body);
  }

  std::string parse_descr() {
    skip_blanks();
    if (pos_ < text_.size() && (text_[pos_] == '[' || text_[pos_] == '(')) {
      npy_fail(npy_rules::kElementDtype, name_, "the elements are records: " + npy_quote(text_.substr(pos_)),
               "save each field as an array of its own");
    }
    return parse_string();
  }

  bool parse_bool() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    malformed("neither True nor False");
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) malformed("no `,`");
      shape.push_back(parse_int());
      comma = accept(',');
    }
    if (shape.size() == 1 && !comma) malformed("a number in place of a tuple");
    return shape;
  }

  std::int64_t parse_int() {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    const bool negative = accept('-');
    skip_blanks();
    const std::size_t begin = pos_;
    std::int64_t value = 0;
    for (; pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9'; ++pos_) {
      const int digit = text_[pos_] - '0';
      if (value > (kMax - digit) / 10) npy_fail(npy_rules::kShape, name_, "a dimension is larger than 2^63 - 1");
      value = value * 10 + digit;
    }
    if (pos_ == begin || (pos_ - begin > 1 && text_[begin] == '0')) malformed("no number");
    if (long_suffix_ && pos_ < text_.size() && text_[pos_] == 'L') ++pos_;
    return negative ? -value : value;
  }

  std::string_view text_;
  const std::string& name_;
  bool long_suffix_;  // Python 2 wrote 3L
  std::size_t pos_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::string npy_quote(std::string_view text) {
  constexpr std::size_t kMaxShown = 80;
  std::string out = "`";
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out + (text.size() > kMaxShown ? "...`" : "`");
}

NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) {
    if (kMagic.starts_with(text))
      npy_fail(npy_rules::kWholeHeader, name, fmt::format("the file ends after {} bytes", text.size()));
    npy_fail(npy_rules::kMagic, name, "the file begins with " + npy_quote(text.substr(0, kMagic.size())));
  }
  const std::size_t version_end = kMagic.size() + 2;
  if (text.size() < version_end)
    npy_fail(npy_rules::kWholeHeader, name, fmt::format("the file ends after {} bytes", text.size()));
  const int major = static_cast<unsigned char>(text[kMagic.size()]);
  const int minor = static_cast<unsigned char>(text[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    npy_fail(npy_rules::kVersion, name, fmt::format("version {}.{}", major, minor));

  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = version_end + length_bytes;
  if (text.size() < begin)
    npy_fail(npy_rules::kWholeHeader, name, fmt::format("the file ends after {} bytes", text.size()));
  const std::size_t length = little_endian(text.substr(version_end, length_bytes));
  if (length > kMaxHeaderBytes) npy_fail(npy_rules::kHeaderSize, name, fmt::format("a header of {} bytes", length));
  if (length > text.size() - begin) {
    npy_fail(npy_rules::kWholeHeader, name,
             fmt::format("a header of {} bytes, {} in the file", length, text.size() - begin));
  }
  NpyHeader header = HeaderParser(text.substr(begin, length), name, major < 3).parse();
  header.data_offset = begin + length;
  return header;
}

std::string print_npy_header(const NpyHeader& header, const std::string& name) {
  const auto& shape = header.shape;
  std::string out =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", header.descr,
                  header.fortran_order ? "True" : "False", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  if (!shape.empty()) out.append(kGrowthDigits - fmt::formatted_size("{}", shape[0]), ' ');
  const std::size_t begin = kMagic.size() + 4;
  // NumPy always pads, by a whole line when none would be needed.
  out.append(kAlignBytes - (begin + out.size() + 1) % kAlignBytes, ' ');
  out += '\n';
  if (out.size() > kMaxHeaderBytes)
    npy_fail(npy_rules::kHeaderSize, name, fmt::format("a header of {} bytes", out.size()));
  const char prefix[] = {1, 0, static_cast<char>(out.size() & 0xff), static_cast<char>(out.size() >> 8)};
  return std::string(kMagic) + std::string(prefix, sizeof prefix) + out;
}

}  // namespace kiln
