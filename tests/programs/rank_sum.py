"""A program of four ranks that meet once: each gets the sum of all."""


def text(*shape):
    """For arrays of this shape."""
    lines = [f"tensor {name}: {where} float32 {list(shape)}" for name, where in
             (("x", "input hbm"), ("y", "output shared_hbm"), ("mine", "shared_hbm"), ("all", "shared_hbm"))]
    return "\n".join(['kiln 1', 'program "sum" target trn2', *lines, "dma_copy(dst=mine, src=x)",
                      "all_reduce(srcs=[mine], dsts=[all], replica_group=[[0, 1, 2, 3]], op=add)",
                      "dma_copy(dst=y, src=all)", ""])
