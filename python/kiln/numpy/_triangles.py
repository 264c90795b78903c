"""Large constant masks that are triangles, as np.tri and np.triu make them: known by one number."""

import numpy as np

MANY = 1 << 16  # elements: smaller ones are as good as they are


def triangle_of(array):
    """(k, lower) of a matrix of truth that holds where column <= row + k, or where it does not; else None."""
    if array.dtype != np.bool_ or array.ndim != 2 or array.size < MANY or min(array.shape) < 2:
        return None
    row, column = array[0], array[:, 0]
    lower = bool(array[-1, 0])
    if bool(row[-1]) == lower:
        return None
    inside = row if lower else ~row
    ahead = int(np.count_nonzero(inside))
    k = ahead - 1 if ahead else -int(np.argmax(column == lower))
    rows, columns = array.shape
    if not np.array_equal(inside, np.arange(columns) <= k):
        return None
    if not np.array_equal(column == lower, np.arange(rows) + k >= 0):
        return None
    # Each diagonal is of one value.
    return (k, lower) if np.array_equal(array[1:, 1:], array[:-1, :-1]) else None
