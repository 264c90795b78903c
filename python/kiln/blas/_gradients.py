"""Gradients of routines, by routines. Each function takes the gradient of the result, the result, the names of the
arguments whose gradient is wanted, and the arguments; it returns gradients by name. All are torch tensors."""

from . import level1, level2, level3


def _conj(value):
    """The conjugate of a tensor or number, itself where it is real."""
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, complex):
        return value.conjugate()
    return value.conj().resolve_conj() if value.is_complex() else value


def _only(wanted, **makers):
    return {name: make() for name, make in makers.items() if name in wanted}


def _is_transposed(trans):
    return trans not in (False, None, "N", "n")


def _reject_conjugate(*transposes):
    if any(isinstance(t, str) and t.upper() == "C" for t in transposes):
        raise NotImplementedError("trans: 'C' has no gradient so far; give the conjugate, and 'T'")


# Level 1.

def axpy(g, _, wanted, alpha, x, y):
    return _only(wanted, x=lambda: level1.scal(_conj(alpha), g), y=lambda: g)


def scal(g, _, wanted, alpha, x):
    return _only(wanted, x=lambda: level1.scal(_conj(alpha), g))


def copy(g, _, wanted, x):
    return {"x": g}


def dot(g, _, wanted, x, y):
    return _only(wanted, x=lambda: g * _conj(y).reshape(x.shape), y=lambda: g * _conj(x).reshape(y.shape))


dotu = dot


def dotc(g, _, wanted, x, y):
    return _only(wanted, x=lambda: _conj(g) * y.reshape(x.shape), y=lambda: g * x.reshape(y.shape))


def nrm2(g, result, wanted, x):
    return {"x": x * (g / result)}


def asum(g, _, wanted, x):
    import torch
    if x.is_complex():
        return {"x": torch.complex(g * x.real.sign(), g * x.imag.sign())}
    return {"x": g * x.sign()}


# Level 2.

def gemv(g, _, wanted, alpha, A, x, beta, y, trans):
    _reject_conjugate(trans)
    t = _is_transposed(trans)
    alpha = _conj(alpha)
    return _only(wanted,
                 A=lambda: level2.ger(alpha, _conj(x), g) if t else level2.ger(alpha, g, _conj(x)),
                 x=lambda: level2.gemv(alpha, _conj(A), g, trans=not t),
                 y=lambda: level1.scal(_conj(beta), g) if beta != 0 else g * 0)


def _of_triangle(full, uplo, strict=False):
    """The gradient of the stored triangle of a symmetric matrix."""
    one, other = (full.triu(), full.T.triu(1)) if uplo == "upper" else (full.tril(), full.T.tril(-1))
    return one + other


def symv(g, _, wanted, alpha, A, x, beta, y, uplo):
    return _only(wanted,
                 A=lambda: _of_triangle(level2.ger(alpha, g, x), uplo),
                 x=lambda: level2.symv(alpha, A, g, uplo=uplo),
                 y=lambda: level1.scal(beta, g) if beta != 0 else g * 0)


def _mask(full, uplo, diag):
    """What counts of the gradient of a triangular matrix."""
    strict = 1 if diag == "unit" else 0
    return full.triu(strict) if uplo == "upper" else full.tril(-strict)


def trmv(g, _, wanted, A, x, uplo, trans, diag):
    _reject_conjugate(trans)
    t = _is_transposed(trans)

    def matrix():
        full = level2.ger(1.0, _conj(x), g) if t else level2.ger(1.0, g, _conj(x))
        return _mask(full, uplo, diag)

    return _only(wanted, A=matrix, x=lambda: level2.trmv(_conj(A), g, uplo=uplo, trans=not t, diag=diag))


def trsv(g, result, wanted, A, x, uplo, trans, diag):
    _reject_conjugate(trans)
    t = _is_transposed(trans)
    z = level2.trsv(_conj(A), g, uplo=uplo, trans=not t, diag=diag)

    def matrix():
        full = level2.ger(-1.0, _conj(result), z) if t else level2.ger(-1.0, z, _conj(result))
        return _mask(full, uplo, diag)

    return _only(wanted, A=matrix, x=lambda: z)


def ger(g, _, wanted, alpha, x, y, A):
    alpha = _conj(alpha)
    return _only(wanted, x=lambda: level2.gemv(alpha, g, _conj(y)),
                 y=lambda: level2.gemv(alpha, g, _conj(x), trans=True), A=lambda: g)


geru = ger


# Level 3.

def _product(multiply, g, wanted, alpha, A, B, beta, transA, transB):
    _reject_conjugate(transA, transB)
    ta, tb, alpha = _is_transposed(transA), _is_transposed(transB), _conj(alpha)
    return _only(
        wanted,
        A=lambda: multiply(alpha, _conj(B), g, transA=tb, transB=True) if ta else multiply(
            alpha, g, _conj(B), transB=not tb),
        B=lambda: multiply(alpha, g, _conj(A), transA=True, transB=ta) if tb else multiply(
            alpha, _conj(A), g, transA=not ta),
        C=lambda: level1.scal(_conj(beta), g) if beta != 0 else g * 0)


def _summed_to(value, shape):
    """The gradient of what was shared by a stack."""
    while value.ndim > len(shape):
        value = value.sum(0)
    return value


def gemm(g, _, wanted, alpha, A, B, beta, C, transA, transB, precision, target_forward_error):
    if g.ndim > 2:
        return batched_gemm(g, _, wanted, alpha, A, B, beta, C, transA, transB)

    def multiply(*args, **kwargs):
        return level3.gemm(*args, precision=precision, target_forward_error=target_forward_error, **kwargs)

    return _product(multiply, g, wanted, alpha, A, B, beta, transA, transB)


def batched_gemm(g, _, wanted, alpha, A, B, beta, C, transA, transB):
    found = _product(level3.batched_gemm, g, wanted, alpha, A, B, beta, transA, transB)
    shapes = {"A": A, "B": B, "C": C}
    return {name: _summed_to(value, shapes[name].shape) for name, value in found.items()}


def symm(g, _, wanted, alpha, A, B, beta, C, side, uplo):
    def matrix():
        full = level3.gemm(alpha, g, B, transB=True) if side == "left" else level3.gemm(alpha, B, g, transA=True)
        return _of_triangle(full, uplo)

    return _only(wanted, A=matrix, B=lambda: level3.symm(alpha, A, g, side=side, uplo=uplo),
                 C=lambda: level1.scal(beta, g) if beta != 0 else g * 0)


def syrk(g, _, wanted, alpha, A, beta, C, trans, uplo, full):
    t = _is_transposed(trans)
    if full:
        sym, of_c = (g + g.T) / 2, (g + g.T) / 2
    else:
        tri = g.triu() if uplo == "upper" else g.tril()
        sym, of_c = (tri + tri.T) / 2, tri
        other = g.tril(-1) if uplo == "upper" else g.triu(1)

    def of_a():
        return level3.gemm(2 * alpha, A, sym) if t else level3.gemm(2 * alpha, sym, A)

    def of_c_in():
        scaled = level1.scal(beta, of_c) if beta != 0 else of_c * 0
        return scaled if full else scaled + other

    return _only(wanted, A=of_a, C=of_c_in)


def trsm(g, result, wanted, alpha, A, B, side, uplo, trans, diag):
    _reject_conjugate(trans)
    t = _is_transposed(trans)
    z = level3.trsm(1.0, _conj(A), g, side=side, uplo=uplo, trans=not t, diag=diag)

    def matrix():
        x = _conj(result)
        if side == "left":
            full = level3.gemm(-1.0, x, z, transB=True) if t else level3.gemm(-1.0, z, x, transB=True)
        else:
            full = level3.gemm(-1.0, z, x, transA=True) if t else level3.gemm(-1.0, x, z, transA=True)
        return _mask(full, uplo, diag)

    return _only(wanted, A=matrix, B=lambda: level1.scal(_conj(alpha), z))


def trmm(g, _, wanted, alpha, A, B, side, uplo, trans, diag):
    _reject_conjugate(trans)
    t, alpha = _is_transposed(trans), _conj(alpha)

    def matrix():
        b = _conj(B)
        if side == "left":
            full = level3.gemm(alpha, b, g, transB=True) if t else level3.gemm(alpha, g, b, transB=True)
        else:
            full = level3.gemm(alpha, g, b, transA=True) if t else level3.gemm(alpha, b, g, transA=True)
        return _mask(full, uplo, diag)

    return _only(wanted, A=matrix,
                 B=lambda: level3.trmm(alpha, _conj(A), g, side=side, uplo=uplo, trans=not t, diag=diag))


def cholesky(g, result, wanted, A, uplo):
    """Of the stored triangle: with L, P = tril(L^T G) with half its diagonal, S = L^-T P L^-1."""
    lower = result if uplo == "lower" else result.T.contiguous()
    gl = (g if uplo == "lower" else g.T.contiguous()).tril()
    p = level3.trmm(1.0, lower, gl, uplo="lower", trans=True).tril()
    p = p - 0.5 * p.diagonal().diag()
    s = level3.trsm(1.0, lower, p, uplo="lower", trans=True)
    s = level3.trsm(1.0, lower, s, side="right", uplo="lower")
    full = (s + s.T) / 2
    gradient = full.tril(-1) * 2 + full.diagonal().diag()
    return {"A": gradient if uplo == "lower" else gradient.T.contiguous()}


# MP2.

def _pair(g, b_i, b_j, e_ij, eps_vir):
    """(gradients of b_i and b_j, terms T (2 T - T^T) / D^2) of one pair."""
    t = level3.gemm(1.0, b_i, b_j, transB=True)
    d = e_ij - eps_vir[:, None] - eps_vir[None, :]
    by_t = g * (4 * t - 2 * t.T) / d
    return level3.gemm(1.0, by_t, b_j), level3.gemm(1.0, by_t, b_i, transA=True), -g * t * (2 * t - t.T) / (d * d)


def mp2_pair_energy(g, _, wanted, b_i, b_j, eps_occ_i, eps_occ_j, eps_vir):
    of_i, of_j, by_d = _pair(g, b_i, b_j, eps_occ_i + eps_occ_j, eps_vir)
    return _only(wanted, b_i=lambda: of_i, b_j=lambda: of_j, eps_vir=lambda: -(by_d.sum(0) + by_d.sum(1)),
                 eps_occ_i=lambda: by_d.sum(), eps_occ_j=lambda: by_d.sum())


def mp2_energy(g, _, wanted, B, eps_occ, eps_vir):
    of_b, of_occ, of_vir = B * 0, eps_occ * 0, eps_vir * 0
    for i in range(len(B)):
        for j in range(i + 1):
            weight = g if i == j else 2 * g
            of_i, of_j, by_d = _pair(weight, B[i], B[j], eps_occ[i] + eps_occ[j], eps_vir)
            of_b[i] += of_i
            of_b[j] += of_j
            of_occ[i] += by_d.sum()
            of_occ[j] += by_d.sum()
            of_vir -= by_d.sum(0) + by_d.sum(1)
    return {"B": of_b, "eps_occ": of_occ, "eps_vir": of_vir}


def mp2_reduce(g, _, wanted, T_flat, eps_occ_chunk, eps_occ_full, eps_vir):
    ic, o, v = len(eps_occ_chunk), len(eps_occ_full), len(eps_vir)
    t = T_flat.reshape(ic, v, o, v).permute(0, 2, 1, 3)
    swapped = t.transpose(-2, -1)
    d = (eps_occ_chunk[:, None, None, None] + eps_occ_full[None, :, None, None] - eps_vir[None, None, :, None]
         - eps_vir[None, None, None, :])
    by_t = g * (4 * t - 2 * swapped) / d
    by_d = -g * t * (2 * t - swapped) / (d * d)
    return _only(wanted, T_flat=lambda: by_t.permute(0, 2, 1, 3).reshape(T_flat.shape),
                 eps_occ_chunk=lambda: by_d.sum((1, 2, 3)), eps_occ_full=lambda: by_d.sum((0, 2, 3)),
                 eps_vir=lambda: -(by_d.sum((0, 1, 3)) + by_d.sum((0, 1, 2))))
