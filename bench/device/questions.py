"""Kernels whose times on a device would settle what the timing model guesses. Each answers one question of
device_questions.md. With Kiln active, main() prints what the model expects; on a Trainium, time the same kernels with
the vendor's benchmark and put its figures beside these."""

import nki
import nki.isa as nisa
import nki.language as nl


def output_like(a):
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


@nki.jit
def copies(a, columns):
    """64 loads and stores that name no engine: descriptors, queues."""
    out = output_like(a)
    for i in range(a.shape[1] // columns):
        part = slice(i * columns, i * columns + columns)
        tile = nl.ndarray((a.shape[0], columns), dtype=a.dtype)
        nisa.dma_copy(tile, a[:, part])
        nisa.dma_copy(out[:, part], tile)
    return out


@nki.jit
def loads_and_stores(a, columns):
    """The same through nl.load and nl.store."""
    out = output_like(a)
    for i in range(a.shape[1] // columns):
        part = slice(i * columns, i * columns + columns)
        nl.store(out[:, part], nl.load(a[:, part]))
    return out


@nki.jit
def tiled_product(a, b):
    """Loads in the innermost loop: which operands does the compiler keep?"""
    out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    for m in range(a.shape[1] // 128):
        for n in range(b.shape[1] // 512):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(a.shape[0] // 128):
                rows = slice(k * 128, k * 128 + 128)
                x, y = nl.load(a[rows, m * 128:m * 128 + 128]), nl.load(b[rows, n * 512:n * 512 + 512])
                nisa.nc_matmul(total, x, y)
            nl.store(out[m * 128:m * 128 + 128, n * 512:n * 512 + 512], nl.copy(total, dtype=a.dtype))
    return out


@nki.jit
def one_sbuf_buffer(a):
    """A tile in SBUF outside the loop: renamed or not?"""
    out, tile = output_like(a), nl.ndarray((128, 512), dtype=a.dtype)
    for i in range(a.shape[1] // 512):
        part = slice(i * 512, i * 512 + 512)
        nisa.dma_copy(tile, a[:, part])
        nisa.activation(tile, nl.exp, tile)
        nisa.dma_copy(out[:, part], tile)
    return out


@nki.jit
def one_psum_bank(a, b):
    """A bank of PSUM outside the loop: renamed or not?"""
    out = nl.ndarray((128, b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    x, bank = nl.load(a), nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    for i in range(b.shape[1] // 512):
        part = slice(i * 512, i * 512 + 512)
        nisa.nc_matmul(bank, x, nl.load(b[:, part]), accumulate=False)
        nl.store(out[:, part], nl.copy(bank))
    return out


@nki.jit
def open_engines(a):
    """Products with numbers beside sums of tiles: on which engine?"""
    out, x = output_like(a), nl.load(a)
    for _ in range(32):
        y, z = nl.ndarray(a.shape, dtype=a.dtype), nl.ndarray(a.shape, dtype=a.dtype)
        nisa.tensor_scalar(y, x, nl.multiply, 0.5)
        nisa.tensor_tensor(z, x, y, nl.add)
        x = z
    nl.store(out, x)
    return out


@nki.jit
def small_instructions(a, block):
    """Sums of three neighbours, element by element: merged into one instruction per block, or not?"""
    out, x = nl.ndarray((128, a.shape[1] - 2), dtype=a.dtype, buffer=nl.shared_hbm), nl.load(a)
    y = nl.ndarray((128, a.shape[1] - 2), dtype=a.dtype)
    for first in nl.affine_range(y.shape[1] // block):
        for i in nl.affine_range(block):
            at = first * block + i
            nisa.tensor_reduce(y[:, at:at + 1], nl.add, x[:, at:at + 3], axis=1)
    nl.store(out, y)
    return out


@nki.jit
def short_products(a, b, operands):
    """256 products of 128 columns with one stationary operand after the other: which loads are hidden?"""
    out = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    x, y = nl.load(a), nl.load(b)
    total = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
    for i in range(256):
        at = i % operands * 128
        nisa.nc_matmul(total, x[:, at:at + 128], y)
    nl.store(out, nl.copy(total))
    return out


CASES = [
    ("1 dma_copy, 256 B rows", copies, ("float32[128,4096]", 64)),
    ("1 nl.load, 256 B rows", loads_and_stores, ("float32[128,4096]", 64)),
    ("2 dma_copy, 4 B rows", copies, ("float32[128,64]", 1)),
    ("2 dma_copy, 32 B rows", copies, ("float32[128,512]", 8)),
    ("2 dma_copy, 2 KiB rows", copies, ("float32[128,32768]", 512)),
    ("3 product, both fit", tiled_product, ("bfloat16[1024,512]", "bfloat16[1024,2048]")),
    ("3 product, none fits", tiled_product, ("float32[4096,4096]", "float32[4096,4096]")),
    ("4 one SBUF buffer", one_sbuf_buffer, ("float32[128,16384]",)),
    ("5 one PSUM bank", one_psum_bank, ("bfloat16[128,128]", "bfloat16[128,16384]")),
    ("6 open engines", open_engines, ("float32[128,2048]",)),
    ("7 small instructions, blocks of 64", small_instructions, ("float32[128,2050]", 64)),
    ("7 small instructions, one loop", small_instructions, ("float32[128,2050]", 2048)),
    ("8 short products, one operand", short_products, ("float32[128,1024]", "float32[128,128]", 1)),
    ("8 short products, eight operands", short_products, ("float32[128,1024]", "float32[128,128]", 8)),
]


def main():
    import kiln

    for name, kernel, arguments in CASES:
        timing = kiln.time(kernel, advice=False)(*arguments)
        as_written = kiln.time(kernel, advice=False, as_written=True)(*arguments)
        print(f"{name:36} {timing.latency_us:10.1f} us, as written {as_written.latency_us:10.1f} us")


if __name__ == "__main__":
    main()
