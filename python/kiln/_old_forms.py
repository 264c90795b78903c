"""Forms of older NKI versions and what to write today: tables only.

`{…}` in a remedy is filled from the code: {call} the call's arguments, {arg} its first one, {tensor} the tensor.
"""

import re
from dataclasses import dataclass

LANGUAGE = "nki.language"
ISA = "nki.isa"
COLLECTIVES = "nki.collectives"


@dataclass(frozen=True)
class OldForm:
    name: str  # the full name, or call and keyword as "function(keyword=)"; * stands for every function of the package
    what: str  # what became of it
    rewrite: str
    since: str  # the version that changed it
    removed: bool = True  # or deprecated only

    @property
    def rule(self):
        kind = "keyword" if self.name.endswith("=)") else "name"
        return f"{'removed' if self.removed else 'deprecated'}_{kind}"


def names(package, rows, removed=True):
    return [OldForm(f"{package}.{name}", what, rewrite, since, removed) for name, what, rewrite, since in rows]


_BENCHMARK = "write `@nki.jit`, and predict its time with kiln.benchmark, or measure it with neuron-profile"

OLD_FORMS = (
    *names(LANGUAGE, [
        ("arange", "was removed", "index with slices: `t[0:n]`; a strided or shifted pattern with `t.ap(...)`",
         "0.2.0"),
        ("mgrid", "was removed", "index with slices: `t[0:p, 0:f]`", "0.2.0"),
        ("par_dim", "was removed", "write `{arg}`: the first dimension is the partition dimension; put block "
         "dimensions into a list of tiles", "0.2.0"),
        ("nc", "was removed", "launch with `kernel[2]`", "0.2.0"),
        ("spmd_dim", "was removed", "launch with `kernel[2]`", "0.2.0"),
        ("cast", "was dropped", "write `nl.copy({arg}, dtype=…)`", "0.2.0"),
        ("static_cast", "was removed", "write `nl.copy({arg}, dtype=…)`", "0.2.0"),
        ("atomic_rmw", "was removed", "nisa.dma_compute(dst, srcs, reduce_op=nl.add, unique_indices=True)", "0.2.0"),
        ("loop_reduce", "was removed", "accumulate into a tile in a `for` loop", "0.2.0"),
        ("fp32", "was removed", "write the number: fp32.min is -3.4028235e38", "0.2.0"),
    ]),
    *names(f"{LANGUAGE}.tile_size", [
        ("total_available_sbuf_size", "is deprecated", "use the byte constants of nl.tile_size", "0.4.0"),
        ("psum_fmax", "is deprecated", "use the byte constants of nl.tile_size", "0.4.0"),
    ], removed=False),
    *names(ISA, [
        ("tensor_copy_dynamic_src", "was removed", "nisa.tensor_copy(dst=…, src=view.ap(..., scalar_offset=…))",
         "0.4.0"),
        ("tensor_copy_dynamic_dst", "was removed", "nisa.tensor_copy(dst=view.ap(..., scalar_offset=…), src=…)",
         "0.4.0"),
        ("builtin_custom_op", "was removed", "write it with instructions", "0.2.0"),
        ("fp32", "was removed", "write the number: fp32.min is -3.4028235e38", "0.2.0"),
    ]),
    *names("nki", [
        ("simulate_kernel", "was removed", "write `nki.simulate({arg})({rest})`", "0.2.0"),
        ("trace", "was removed", "write `@nki.jit`", "0.2.0"),
        ("baremetal", "was removed", "write `@nki.jit` and call the kernel with NumPy arrays", "0.2.0"),
        ("benchmark", "was removed", _BENCHMARK, "0.2.0"),
        ("profile", "was removed", _BENCHMARK, "0.2.0"),
        ("compiler.sbuf", "was removed", "place tensors with `nl.ndarray(..., address=(partition, offset))`", "0.2.0"),
        ("compiler.psum", "was removed", "place tensors with `nl.ndarray(..., address=(partition, offset))`", "0.2.0"),
        ("compiler.no_reorder", "moved", "write `with nl.no_reorder():`", "0.2.0"),
        ("compiler.skip_middle_end_transformations", "was removed", "drop it", "0.2.0"),
        ("compiler.enable_stack_allocator", "was removed", "drop it", "0.2.0"),
        ("compiler.force_auto_alloc", "was removed", "drop it", "0.2.0"),
    ]),
    *names("nki", [
        ("typing.mutable_tensor", "is legacy", "annotate with nl.ndarray: a parameter that is written is updated in "
         "place", "0.2.0"),
    ], removed=False),
    OldForm("nki.jit(platform_target=)", "raises", "set NEURON_PLATFORM_TARGET_OVERRIDE", "0.3.0"),
    OldForm("nki.jit(mode=)", "is ignored", "drop it: the arguments decide", "0.3.0", removed=False),
    OldForm(f"{ISA}.nc_stream_shuffle(mask=)", "was renamed", "write `shuffle_mask=`", "0.2.0"),
    OldForm(f"{ISA}.*(mask=)", "was removed", "bound the slices instead: `t[0:min(n, end - start)]`", "0.2.0"),
    OldForm(f"{LANGUAGE}.*(mask=)", "was removed", "bound the slices instead: `t[0:min(n, end - start)]`", "0.2.0"),
    OldForm(f"{ISA}.*(dtype=)", "was removed", "drop it: the dtype of `dst` decides", "0.2.0"),
    OldForm(f"{LANGUAGE}.*(lazy_initialization=)", "was removed",
            "drop it: the first nc_matmul into a PSUM tile overwrites it", "0.2.0"),
    OldForm(f"{LANGUAGE}.shared_constant(dtype=)", "was removed", "give an array of that dtype", "0.2.0"),
    OldForm(f"{LANGUAGE}.affine_range(precise_schedule=)", "was removed", "drop it", "0.2.0"),
    OldForm(f"{LANGUAGE}.sequential_range(directives=)", "was removed", "drop it", "0.2.0"),
    OldForm(f"{ISA}.memset(shape=)", "was removed", "nisa.memset(dst, value)", "0.2.0"),
    OldForm(f"{ISA}.iota(expr=)", "was removed", "nisa.iota(dst, pattern=[[step, num], …], offset=…, "
            "channel_multiplier=…)", "0.2.0"),
    OldForm(f"{ISA}.affine_select(pred=)", "was removed", "give pattern, channel_multiplier and cmp_op", "0.2.0"),
    OldForm(f"{ISA}.nc_matmul(psumAccumulateFlag=)", "was removed", "write `accumulate=`", "0.2.0"),
    OldForm(f"{ISA}.nc_matmul(psum_accumulate_flag=)", "was removed", "write `accumulate=`", "0.2.0"),
    OldForm(f"{ISA}.nc_matmul(is_moving_zero=)", "was renamed", "write `is_moving_onezero=`", "0.2.0"),
    OldForm(f"{ISA}.dma_copy(dst_rmw_op=)", "was removed",
            "nisa.dma_compute(dst, srcs, reduce_op=…, unique_indices=True)", "0.3.0"),
    OldForm(f"{ISA}.dma_copy(unique_indices=)", "was removed",
            "nisa.dma_compute(dst, srcs, reduce_op=…, unique_indices=True)", "0.3.0"),
    OldForm(f"{ISA}.sendrecv(use_gpsimd_dma=)", "was renamed",
            "write `dma_engine=nisa.dma_engine.gpsimd_dma` for True, `nisa.dma_engine.dma` for False", "0.3.0"),
    OldForm(f"{ISA}.register_move(imm=)", "was renamed", "write `src=`", "0.3.0"),
    OldForm(f"{COLLECTIVES}.*(num_channels=)", "was renamed", "write `channel_ids=`", "0.3.0"),
)  # fmt: skip

OLD_NAMES = {form.name: form for form in OLD_FORMS if not form.name.endswith("=)")}
OLD_KEYWORDS = {tuple(form.name[:-2].split("(")): form for form in OLD_FORMS if form.name.endswith("=)")}

# Attributes of tiles that are gone.
METHODS = {
    "T": "write `nl.transpose({tensor})`, or nisa.nc_transpose(dst, data)",
    "broadcast_to": "write `nl.broadcast_to({tensor}, shape)`, or `{tensor}.broadcast(dim, size)` for a view",
    "astype": "write `nl.copy({tensor}, dtype=…)`",
    "expand_dims": "write `nl.expand_dims({tensor}, axis)`, or `{tensor}.expand_dim(dim)`",
    "transpose": "write `nl.transpose({tensor})`; `{tensor}.permute(dims)` makes a view",
    "copy": "write `nl.copy({tensor})`",
    "sum": "write `nl.sum({tensor}, axis=…)`",
    "max": "write `nl.max({tensor}, axis=…)`",
    "min": "write `nl.min({tensor}, axis=…)`",
    "mean": "write `nl.mean({tensor}, axis=…)`",
    "flatten": "write `{tensor}.flatten_dims(start, end)`, or `{tensor}.reshape(shape)`",
    "squeeze": "write `{tensor}.squeeze_dim(dim)`",
    "unsqueeze": "write `{tensor}.expand_dim(dim)`",
    "item": "a tensor has no value while it is compiled; load it with nisa.register_load",
    "to": "write `nl.copy({tensor}, dtype=…)`",
}

# Strings of older versions whose member has another name.
OLD_MEMBERS = {"double_row_gen3": "double_row"}

# Instructions whose dst is in PSUM, as long as they run on the tensor engine.
PSUM_INSTRUCTIONS = frozenset("nc_matmul nc_matmul_mx nc_transpose".split())


def _told(form):
    """A row of the lint's table as a sentence; places that are filled from code stay open."""
    word = "in" if form.what.startswith(("was", "moved")) else "since"
    return f"it {form.what} {word} NKI {form.since}: " + re.sub(r"\{\w+\}", "…", form.rewrite)


def name_hint(name):
    """What became of a name such as nki.baremetal, or None."""
    return _told(OLD_NAMES[name]) if name in OLD_NAMES else None


def keyword_hint(package, function, keyword):
    """What became of a keyword of a function of nki.isa or nki.language, or None."""
    for name in (function, "*"):
        form = OLD_KEYWORDS.get((f"{package}.{name}", keyword))
        if form:
            return _told(form)
    return None
