"""What gradients of many routines are made of."""


def conj(value):
    """The conjugate of a tensor or number, itself where it is real."""
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, complex):
        return value.conjugate()
    return value.conj().resolve_conj() if value.is_complex() else value


def adjoint(matrix):
    return conj(matrix.mT)


def only(wanted, **makers):
    return {name: make() for name, make in makers.items() if name in wanted}


def letter(trans):
    """'N', 'T' or 'C'."""
    return {None: "N", False: "N", True: "T"}[trans] if not isinstance(trans, str) else trans.upper()


def opposite(A, trans):
    """(matrix, trans) whose op is the conjugate transpose of op(A)."""
    return {"N": (A, "C"), "T": (conj(A), "N"), "C": (A, "N")}[letter(trans)]


def undone(gradient, trans):
    """The gradient of A, given that of op(A)."""
    return {"N": lambda: gradient, "T": lambda: gradient.mT, "C": lambda: adjoint(gradient)}[letter(trans)]()


def triangle(full, uplo, strict=0):
    return full.triu(strict) if uplo == "upper" else full.tril(-strict)


def other_triangle(full, uplo):
    return full.tril(-1) if uplo == "upper" else full.triu(1)


def with_real_diagonal(full):
    """The gradient by a matrix of whose diagonal only the real part counts."""
    return full - 1j * full.imag.diagonal().diag() if full.is_complex() else full


def of_stored(full, uplo, hermitian=False):
    """The gradient of the stored triangle, given that of the whole symmetric or hermitian matrix."""
    if hermitian:
        return with_real_diagonal(triangle(full, uplo) + triangle(adjoint(full), uplo, 1))
    return triangle(full, uplo) + triangle(full.mT, uplo, 1)


def of_triangular(full, uplo, diag):
    """What counts of the gradient of a triangular matrix."""
    return triangle(full, uplo, 1 if diag == "unit" else 0)


def with_transpose(g, hermitian=False):
    return g + (adjoint(g) if hermitian else g.mT)


def scaled(beta, g):
    """The gradient of what beta scales, which does not count when beta is 0."""
    from .. import level1
    return level1.scal(conj(beta), g) if beta != 0 else g * 0
