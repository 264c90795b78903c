// The scalars of plane rotations: a handful of numbers, computed where they are. No kernel is made of four numbers.
#include "kernels/blas/host/blas.h"
#include "kernels/blas/host/native.h"

namespace kiln::blas {

template <>
void rotg(float* a, float* b, float* c, float* s) {
  cblas_srotg(a, b, c, s);
}
template <>
void rotg(double* a, double* b, double* c, double* s) {
  cblas_drotg(a, b, c, s);
}
template <>
void rotg(std::complex<float>* a, std::complex<float>* b, float* c, std::complex<float>* s) {
  cblas_crotg(a, b, c, s);
}
template <>
void rotg(std::complex<double>* a, std::complex<double>* b, double* c, std::complex<double>* s) {
  cblas_zrotg(a, b, c, s);
}

template <>
void rotmg(float* d1, float* d2, float* x1, float y1, float* param) {
  cblas_srotmg(d1, d2, x1, y1, param);
}
template <>
void rotmg(double* d1, double* d2, double* x1, double y1, double* param) {
  cblas_drotmg(d1, d2, x1, y1, param);
}

}  // namespace kiln::blas
