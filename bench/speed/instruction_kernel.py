"""The kernel of a case: its operands are loaded once, its instruction is issued again and again into new tiles."""

import ml_dtypes
import numpy as np

# Dtypes that NumPy has not, or has no vectors for: its side gets float32.
NUMPY = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float8_e4m3": ml_dtypes.float8_e4m3,
         "float8_e5m2": ml_dtypes.float8_e5m2}
PASSES_BYTES = 48 << 10  # of results in a partition: as many as there is room for in SBUF, about


def dtype_of(case):
    return np.dtype(NUMPY.get(case.dtype, case.dtype))


def passes_of(case):
    columns = np.prod(case.layout.shape()[1:])
    return int(np.clip(PASSES_BYTES // max(columns * 4, 1), 8, 400))


def arrays_of(case):
    """The operands as the kernel takes them. Values are small and not zero."""
    rng = np.random.default_rng(1)
    shapes = case.loads or (case.layout.loaded,) * case.operands
    make = rng.integers if dtype_of(case).kind in "iu" else rng.uniform
    low, high = (1, 100) if make is rng.integers else (0.5, 1.5)
    return [make(low, high, shape).astype(dtype_of(case)) for shape in shapes]


def peer_arrays(case, arrays):
    wide = [a.astype(np.float32) if case.dtype in NUMPY else a for a in arrays]
    return wide if case.loads else [case.layout.numpy(a) for a in wide]


class Tiles:
    """What a case may ask for while it issues its instruction."""

    def __init__(self, case):
        import nki.isa
        import nki.language

        self.case, self.nisa, self.nl = case, nki.isa, nki.language
        self.made, self.last = {}, None

    def op(self, name):
        return getattr(self.nl, name)

    def core(self):
        return self.nl.program_id(0)

    def tile(self, shape, dtype, memory="sbuf"):
        return self.nl.ndarray(shape, dtype=self.op(dtype), buffer=self.op(memory))

    def out(self, dtype=None, shape=None, memory="sbuf"):
        """A new tile for the result; as the operands are, where nothing else is said."""
        tile = self.tile(shape or self.case.layout.shape(), dtype or self.case.dtype, memory)
        self.last = self.last if memory == "psum" else tile
        return tile

    def out_as(self, layout):
        """A part of a new tile."""
        return layout.seen(self.out(None, layout.loaded))

    def strided_out(self):
        return self.out(None, (128, 1024))[:, 0:1024:2]

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def filled_out(self):
        def make():
            tile = self.out()
            self.nisa.memset(dst=tile, value=0.0)
            return tile

        return self.once("filled", make)

    def column(self, of):
        """One number for each partition."""
        def make():
            tile = self.tile((of.shape[0], 1), "float32")
            self.nisa.memset(dst=tile, value=1.0)
            return tile

        return self.once("column", make)

    def copied(self, of, dtype, memory="sbuf"):
        def make():
            tile = self.tile(tuple(of.shape), dtype, memory)
            self.nisa.tensor_copy(dst=tile, src=of)
            return tile

        return self.once(f"copied to {memory}", make)

    def in_psum(self, of):
        return self.copied(of, self.case.dtype, "psum")

    def mask(self, of):
        def make():
            tile = self.tile(of.shape, "uint8")
            self.nisa.tensor_scalar(dst=tile, data=of, op0=self.nl.greater, operand0=1.0)
            return tile

        return self.once("mask", make)

    def identity(self, of):
        def make():
            tile, ones = self.tile((128, 128), self.case.dtype), self.tile((128, 128), self.case.dtype)
            self.nisa.memset(dst=ones, value=1.0)
            self.nisa.affine_select(dst=tile, pattern=[[-1, 128]], channel_multiplier=1, on_true_tile=ones,
                                    on_false_value=0.0, cmp_op=self.nl.equal)
            return tile

        return self.once("identity", make)

    def indices(self, of, count, dtype):
        def make():
            tile = self.tile(of.shape, dtype)
            self.nisa.iota(dst=tile, pattern=[[7, of.shape[1]]], channel_multiplier=0)
            self.nisa.tensor_scalar(dst=tile, data=tile, op0=self.nl.bitwise_and, operand0=count - 1)
            return tile

        return self.once("indices", make)

    def every_7th(self):
        """An index for each partition."""
        def make():
            tile = self.tile((128, 1), "int32")
            self.nisa.iota(dst=tile, pattern=[[0, 1]], channel_multiplier=7)
            return tile

        return self.once("every_7th", make)

    def quantized(self, of):
        """The tile of quantize_mx and that of its scales."""
        groups = (128, of.shape[1] // 4)
        packed, scale = self.out("float8_e4m3fn_x4", groups), self.out("uint8", groups)
        self.nisa.quantize_mx(dst=packed, src=of, dst_scale=scale)
        return packed, scale

    def mx_operands(self, a, b):
        (stationary, stationary_scale), (moving, moving_scale) = self.quantized(a), self.quantized(b)
        return {"stationary": stationary, "stationary_scale": stationary_scale, "moving": moving,
                "moving_scale": moving_scale}


def program_of(case, arrays, passes):
    """The programs of the case, one per core, with `passes` of its instruction, or none."""
    import kiln
    import nki

    @nki.jit
    def repeated(*given):
        k = Tiles(case)
        operands = [load(k, case, x) for x in given]
        case.issue(k, *operands)  # what is made once is made here
        for _ in range(passes):
            case.issue(k, *operands)
        done = k.nl.ndarray((1, 1), dtype=k.nl.float32, buffer=k.nl.shared_hbm)
        flag = k.tile((1, 1), "float32")
        k.nisa.memset(dst=flag, value=1.0)
        k.nisa.dma_copy(dst=done, src=flag)
        return done

    made = kiln.program(repeated[case.cores] if case.cores > 1 else repeated, *arrays)
    return list(made) if case.cores > 1 else [made]


def load(k, case, x):
    if case.memory == "hbm":
        return x
    tile = k.tile(x.shape, case.dtype)
    k.nisa.dma_copy(dst=tile, src=x)
    return tile if case.loads else case.layout.seen(tile)
