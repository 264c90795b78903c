// Words of CBLAS, with its numbers.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

namespace kiln::blas {

enum class Layout : int { row_major = 101, col_major = 102 };
enum class Transpose : int { no_trans = 111, trans = 112, conj_trans = 113 };
enum class Uplo : int { upper = 121, lower = 122 };
enum class Diag : int { non_unit = 131, unit = 132 };
enum class Side : int { left = 141, right = 142 };

using Int = std::int64_t;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, real_t<T>>;
// s, d, c, z.
template <class T>
inline constexpr char letter = is_complex<T> ? (sizeof(T) == 8 ? 'c' : 'z') : (sizeof(T) == 4 ? 's' : 'd');

}  // namespace kiln::blas
