// Quantities as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

std::string time_text(double ns);                                // 812 ns, 13.4 us, 2.31 ms
std::string bytes_text(double bytes);                            // 512 B, 1.50 KiB, 3.00 MiB
std::optional<std::int64_t> parse_bytes(std::string_view text);  // 4096, 512M, 8GiB; nothing when it is no such text
std::string percent_text(double share);                          // 12 %, 0.4 %

std::string count_text(double count, const char* unit);        // 13.4 Mflop for 1.34e7 and "flop"
std::string per_second_text(double per_ns, const char* unit);  // 13.4 Tflop/s for 13400 and "flop/s"

}  // namespace kiln
