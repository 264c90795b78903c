"""nl.device_print: shows a tensor each time that the program passes there, as soon as its values can be known."""

from kiln import _kiln
from kiln._trace import inside, memory, rules, traced_kernel
from kiln._trace.errors import NkiValidationError, refuse


class _Print:
    """One call of nl.device_print."""

    def __init__(self, kernel, prefix, tensor):
        core = f"core {kernel.trace.program_id}: " if kernel.trace.lnc > 1 else ""
        self.title = f"{core}{prefix} {inside.headline(tensor)}"
        self.probe = inside.Probe(kernel, tensor)
        self.shown = False

    def tell(self, text):
        self.shown = True
        print(f"{self.title}\n{text}", flush=True)


def device_print(print_prefix, tensor):
    """Prints the tensor with a prefix, as the device would at this point of the program."""
    kernel = traced_kernel.running("nl.device_print")
    if not isinstance(print_prefix, str):
        refuse(rules.PRINT_PREFIX, f"a {type(print_prefix).__name__}")
    if not isinstance(tensor, _kiln.NkiTensor):
        refuse(rules.PRINT_TENSOR, f"a {type(tensor).__name__}")
    if memory.is_psum(tensor.buffer):
        refuse(rules.PRINT_MEMORY, f"`{tensor.name}` is in PSUM")
    if not inside.has_values():
        return
    kernel.prints.append(_Print(kernel, print_prefix, tensor))
    show_pending(kernel)


def show_pending(kernel):
    """Shows what a kernel printed, unless a loop is open or values of the other core are missing: then later."""
    if not kernel.prints or kernel.trace.open_loops:
        return
    try:
        fragments, watched = inside.so_far(kernel, [p.probe for p in kernel.prints])
    except inside.NotReady:
        return
    _show(fragments, watched, [kernel])


def show_rest(cores):
    """Shows what had to wait until the Python of all cores has run."""
    if not any(core.prints for core in cores):
        return
    probed = [_kiln.with_probes(core.program(), core.trace, [p.probe.number for p in core.prints]) for core in cores]
    fragments = [_kiln.fragment(program, [], lnc=len(cores)) for program, _ in probed]
    _show(fragments, [copies for _, copies in probed], cores)


def _show(fragments, watched, cores):
    """Runs the fragments for the pending prints of the last cores."""
    waiting = [[] for _ in fragments[len(cores):]] + [core.prints for core in cores]
    prints = {(rank, copy): p for rank, copies in enumerate(watched) for copy, p in zip(copies, waiting[rank])}
    for core in cores:
        core.prints = []

    def see(core, copy, *found):
        p = prints[core, copy]
        p.tell(inside.text_of(p.probe.array(*found)))

    try:
        inside.run(fragments, cores[0].arguments, watched=watched, see=see)
    except NkiValidationError as error:  # the run itself will raise it
        for p in prints.values():
            if not p.shown:
                p.tell(f"(no values: {error.diagnostics[0].found})")
