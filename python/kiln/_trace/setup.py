"""Sets the package up, in one call: kiln.nki makes it when it is imported, before the first kernel is traced."""

from kiln import _kiln
from kiln._trace import (
    dtypes, errors, inside, marked_operand, memory, names, registers, shown, traced_kernel, tracebacks, truth)


def configure(*, enums, call_hint, older_call, isa_signature, explain_error, tensor_members):
    """Tells the native half what it needs of Python, gives its classes their members in Python, and tells the tracer
    what only the face of NKI knows: the classes of its enumerations, what to say about a mistaken call, what a call
    does in an older version, how the functions of nki.isa are called, what Python's own errors mean for a kernel, and
    what else tensors have."""
    _kiln.configure(
        package_folder=tracebacks.PACKAGE,
        root_code=traced_kernel.call_kernel.__code__,
        assigned_name=names.assigned_name,
        make_error=errors.make_error,
        complete_diagnostic=marked_operand.complete,
        call_hint=call_hint,
        older_call=older_call,
        isa_signature=isa_signature,
        dtypes=list(dtypes.ALL.values()),
        memories=memory.ALL,
        enums=enums,
    )
    _give(_kiln.VirtualRegister, registers.MEMBERS)
    _give(_kiln.NkiTensor, {**inside.MEMBERS, "__bool__": truth.truth, **tensor_members})
    for cls, members in shown.MEMBERS.items():
        _give(cls, members)
    traced_kernel.explain_errors_with(explain_error)


def _give(cls, members):
    for name, member in members.items():
        setattr(cls, name, member)
