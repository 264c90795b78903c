from collections.abc import Mapping, Sequence
import types
from typing import Annotated

import numpy
from numpy.typing import NDArray

from kiln._kiln import blas as blas, fft as fft, sparse as sparse


def configure(*, package_folder: str, root_code: object, assigned_name: object, make_error: object, complete_diagnostic: object, call_hint: object, older_call: object, isa_signature: object, dtypes: Sequence, memories: dict, enums: dict) -> None:
    """
    Tells the native half what it needs of Python: once, before the first kernel is traced.
    """

class Chip:
    """A chip as its kernels see it."""

    @property
    def name(self) -> str: ...

    @property
    def other_name(self) -> str:
        """What the environment may also call it; empty when nothing."""

    @property
    def generation(self) -> int: ...

    @property
    def generation_name(self) -> str: ...

    @property
    def partitions(self) -> int: ...

    @property
    def sbuf_partition_bytes(self) -> int: ...

    @property
    def sbuf_available_bytes(self) -> int:
        """Bytes of a partition of SBUF that kernels may use."""

    @property
    def psum_banks(self) -> int: ...

    @property
    def psum_bank_bytes(self) -> int:
        """Bytes of a bank of PSUM in a partition."""

    @property
    def matmul_columns(self) -> int:
        """Columns of the stationary operand of a matrix product."""

    @property
    def bn_stats_elements(self) -> int:
        """Elements of a row that bn_stats takes."""

chips: dict = ...

class SourceLoc:
    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def stack(self) -> list[str]: ...

    def __str__(self) -> str: ...

class Note:
    @property
    def text(self) -> str: ...

    @property
    def loc(self) -> SourceLoc: ...

class Diagnostic:
    @property
    def severity(self) -> str: ...

    @property
    def category(self) -> str: ...

    @property
    def code(self) -> str: ...

    @property
    def rule(self) -> str: ...

    @property
    def loc(self) -> SourceLoc: ...

    @property
    def column(self) -> int: ...

    @property
    def context(self) -> str: ...

    @property
    def operand(self) -> str: ...

    @property
    def found(self) -> str: ...

    @property
    def allowed(self) -> str: ...

    @property
    def help(self) -> str: ...

    @property
    def notes(self) -> list[Note]: ...

    def underline(self, column: int, width: int) -> None:
        """Says which bytes of the source line are wrong, from column 1 on."""

    def add_note(self, text: str, file: str, line: int) -> None: ...

    @property
    def source(self) -> str:
        """The line, where it is not to be read from the file."""

    @source.setter
    def source(self, arg: str, /) -> None: ...

    @property
    def facts(self) -> list[tuple[str, str]]: ...

    def to_json(self) -> str: ...

    def text(self, colour: bool = False) -> str:
        """What everything that shows a diagnostic shows."""

    def __str__(self) -> str: ...

def wants_colour(fd: int) -> bool:
    """Whether text for this file descriptor is to be coloured."""

def diagnostic(category: str, code: str, rule: str, found: str, help: str, *, file: str | None = None, line: int = 0, severity: str = 'error', allowed: str = '', facts: Sequence[tuple[str, str]] = [], column: int = 0, source: str = '', mark: str = '') -> Diagnostic: ...

def rules() -> dict:
    """The rules that native code raises, by label."""

def current_location() -> SourceLoc: ...

def frame_at(file: str, function: str, line: int) -> object:
    """
    A frame that stands at a line of a function and never runs, for tracebacks.
    """

class Op:
    @property
    def name(self) -> str: ...

    @property
    def function(self) -> object: ...

    @function.setter
    def function(self, arg: object | None, /) -> None: ...

    def __call__(self, *args, **kwargs) -> object: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> str: ...

def op(arg: str, /) -> Op: ...

def alu_ops() -> list: ...

def activations() -> list: ...

class NkiInstruction:
    """An issued instruction."""

    @property
    def id(self) -> int: ...

    def leave_open(self) -> None:
        """For nl.load and nl.store: their queue is the compiler's choice."""

    def depends_on(self, *args) -> object:
        """This instruction runs after each of the producers; returns itself."""

    def __repr__(self) -> str: ...

class Trace:
    def __init__(self, arg0: str, arg1: str, arg2: int, arg3: int, arg4: int, /) -> None: ...

    @property
    def lnc(self) -> int: ...

    @property
    def program_id(self) -> int: ...

    @property
    def nki(self) -> int: ...

    @nki.setter
    def nki(self, arg: int, /) -> None: ...

    @property
    def chip(self) -> Chip: ...

    @property
    def instructions(self) -> int: ...

    def places(self) -> list:
        """
        (file, line, callers, instructions) of every place that has issued some.
        """

    @property
    def open_loops(self) -> int: ...

    def open_fori_loop(self, arg0: object, arg1: object, arg2: int, /) -> VirtualRegister: ...

    def open_while_loop(self, arg: VirtualRegister, /) -> None: ...

    def usually(self, arg: int, /) -> None:
        """
        How many passes the innermost open loop usually has; `kiln time` counts with them.
        """

    def close_loop(self) -> None: ...

    def add_probe(self, tensor: NkiTensor) -> int: ...

    def new_register(self) -> VirtualRegister: ...

    def note_loop(self, arg0: int, arg1: int, /) -> None:
        """The instructions since `first` are so many passes of a loop."""

    def enter_no_reorder(self) -> None: ...

    def leave_no_reorder(self) -> None: ...

    @property
    def in_no_reorder(self) -> bool: ...

    def schedule(self, arg0: str, arg1: Sequence[str], /) -> None:
        """Instructions named `consumer` run after those named in `producers`."""

class VirtualRegister:
    """A 32-bit register of an engine's sequencer."""

    @property
    def id(self) -> int: ...

    @property
    def trace(self) -> Trace: ...

    @property
    def is_frozen(self) -> bool: ...

    def thaw(self) -> None: ...

    @property
    def name(self) -> str: ...

    def __repr__(self) -> str: ...

def activate(arg: Trace | None, /) -> None: ...

def active_trace() -> Trace: ...

nki_versions: tuple = (3, 6)

class DynamicSlice:
    def __init__(self, arg0: object, arg1: int, /) -> None: ...

class NkiTensor:
    """A tensor of a kernel: storage seen through shape, strides and offset."""

    def __init__(self, *args, **kwargs) -> None: ...

    @property
    def shape(self) -> tuple:
        """The size of every dimension; on chip the first one counts partitions."""

    @property
    def strides(self) -> tuple:
        """Elements from one index of a dimension to the next."""

    @property
    def offset(self) -> int:
        """
        Where the view starts, in elements of the tensor; without run-time parts.
        """

    @property
    def dtype(self) -> object:
        """The dtype that the bytes are seen in."""

    @property
    def buffer(self) -> object:
        """The memory: nl.sbuf, nl.psum, nl.private_hbm or nl.shared_hbm."""

    @property
    def name(self) -> str:
        """
        The name of the tensor, from name= or from the variable that it was assigned to.
        """

    @property
    def ndim(self) -> int:
        """The number of dimensions."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def address(self) -> object:
        """(partition, byte) of a tensor that was placed by hand, else None."""

    @property
    def tensor_id(self) -> int: ...

    @property
    def trace(self) -> Trace: ...

    def get_pattern(self) -> list:
        """[[stride, size], ...] of the dimensions, as ap takes them."""

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other."""

    def is_indirect(self) -> bool:
        """Whether the address has a part that is known at run time only."""

    def __getitem__(self, key: object | None) -> NkiTensor: ...

    def slice(self, dim: int, start: object, end: object, step: object = 1) -> NkiTensor:
        """Elements start, start + step, ... below end of a dimension."""

    def select(self, dim: int, index: object) -> NkiTensor:
        """
        One index of a dimension, which goes; an int, a register or a (1, 1) tile.
        """

    def vector_select(self, dim: int, vector_offset: NkiTensor) -> NkiTensor:
        """
        Rows of a tensor in HBM by the indices in a (P, 1) tile: partition p sees row vector_offset[p].
        """

    def permute(self, dims: object) -> NkiTensor:
        """
        The dimensions in another order; on chip the partition dimension stays first.
        """

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """A dimension of size 1 repeated: every index sees the same elements."""

    def expand_dim(self, dim: int) -> NkiTensor:
        """A new dimension of size 1."""

    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Without a dimension of size 1."""

    def reshape_dim(self, dim: int, shape: object) -> NkiTensor:
        """One dimension split into several; one size may be -1."""

    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """Neighbouring dimensions as one."""

    def reshape(self, *args) -> NkiTensor:
        """Another shape of the same elements, where that needs no copy."""

    def rearrange(self, src: object, dst: object, fixed_sizes: object | None = None) -> NkiTensor:
        """
        Dimensions by name, split, permuted and merged: rearrange(('p', ('a', 'b')), ('p', 'b', 'a'), {'a': 4}).
        """

    def view(self, dtype: object) -> NkiTensor:
        """The same bytes in another dtype; the last dimension scales."""

    def reinterpret_cast(self, dtype: object) -> NkiTensor:
        """view, under its old name."""

    def ap(self, pattern: object, offset: object | None = None, scalar_offset: object | None = None, vector_offset: object | None = None, indirect_dim: int = 0, dtype: object | None = None) -> NkiTensor:
        """
        Any pattern over the storage: [[step, size], ...] from an offset, in elements; a scalar_offset or vector_offset is added at run time, in steps of dimension indirect_dim.
        """

    def indirect(self, index: NkiTensor, num_elem: int | None = None) -> NkiTensor:
        """
        Free elements by the indices in a tile, per group of partitions (trn3).
        """

class NdarrayType(type):
    def __call__(self, /, *args, **kwargs):
        """Call self as a function."""

    def __init__(self, /, *args, **kwargs):
        """Initialize self.  See help(type(self)) for accurate signature."""

    __instancecheck__: types.MethodDescriptorType = ...

    __vectorcalloffset__: types.MemberDescriptorType = ...

def new_tensor(shape: object | None, dtype: object | None, buffer: object | None, name: object | None = '', address: object | None = None, role: str = 'internal') -> object: ...

def dtype_names() -> list: ...

def dtype_size(arg: object, /) -> int: ...

def enums() -> dict: ...

isa_functions: dict = ...

def issue(function: str, args: Sequence, kwargs: dict) -> object:
    """
    A call of a function of nki.isa as the newest NKI has it, whatever the kernel is traced as.
    """

def isa_signature(arg: str, /) -> str: ...

def isa_parameters(arg: str, /) -> list: ...

def isa_summary(arg: str, /) -> str: ...

class RunReport:
    @property
    def warnings(self) -> list[Diagnostic]: ...

    @property
    def instructions(self) -> int: ...

    @property
    def loops(self) -> dict: ...

    @property
    def instructions_by_engine(self) -> dict: ...

def check_summary(title: str, cores: Sequence[tuple[Program, CheckReport]], errors: int, warnings: int) -> str: ...

class CheckReport:
    @property
    def diagnostics(self) -> list[Diagnostic]: ...

    @property
    def left_out(self) -> int: ...

    @property
    def ok(self) -> bool: ...

    @property
    def sbuf(self) -> dict: ...

    @property
    def psum(self) -> dict: ...

    def raise_if_failed(self) -> None: ...

class Program:
    """
    Tensors, instructions and loops of one core: what Kiln checks, runs and times.
    """

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def lnc(self) -> int: ...

    @property
    def tensors(self) -> list: ...

    @property
    def border(self) -> list:
        """
        The tensors that whoever runs it sees: inputs, outputs and what it changes.
        """

    def first_write(self, tensor: str) -> SourceLoc | None:
        """Where it first writes a tensor, by name; or None."""

    @property
    def device_loops(self) -> list[str]: ...

    @property
    def instruction_count(self) -> int: ...

    @property
    def instructions_by_engine(self) -> dict: ...

    def save(self, path: object) -> None:
        """
        Writes the program as text; `kiln check`, `kiln run` and `kiln time` take the file.
        """

    def check(self, reserved_psum_banks: int = 0, strict_order: bool = False, unwritten: bool = False) -> CheckReport: ...

    def for_chip(self, chip: Chip) -> Program:
        """The same instructions for another chip."""

    def text(self, locations: bool = True) -> str: ...

    def __str__(self) -> str: ...

def finish(trace: Trace, outputs: Sequence[int]) -> Program: ...

def copy_so_far(trace: Trace) -> Program: ...

nan_modes: tuple = ('off', 'warn', 'error')

def parse_program(arg0: str, arg1: str, /) -> Program: ...

def require_memory(programs: Sequence[Program], max_memory: int, ranks: int = 1) -> None:
    """
    Raises when the tensors of a run take more bytes than `max_memory`; 0: nine tenths of what this machine has.
    """

def parse_bytes(text: str) -> int | None:
    """The bytes of a text such as 8G; None when it is none."""

def write_file(path: bytes, data: bytes) -> None:
    """Writes a file completely or not at all. Raises OSError."""

def process() -> int:
    """
    Which of the processes this is that mpirun started, from 0 on; 0 without mpirun.
    """

def run(programs: Sequence[Program], arrays_of_ranks: Sequence[Mapping[str, Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]]], threads: int = 0, plain: bool = False, max_iterations: int = 100000000, max_memory: int = 0, watched: Sequence[Sequence[int]] = [], see: object | None = None, nan: str = 'warn', describe_pass: object | None = None) -> RunReport: ...

def spilling_helps(diagnostic: Diagnostic) -> bool:
    """Whether it is about on-chip memory that is too small."""

def check_launch(programs: Sequence[Program]) -> list[Diagnostic]:
    """What is to be said about the programs of all cores together."""

class SpareBuffer:
    """Bytes of any content, for an array."""

    def __init__(self, bytes: int) -> None: ...

class Timing:
    @property
    def total_ns(self) -> float: ...

    @property
    def low_ns(self) -> float: ...

    @property
    def high_ns(self) -> float: ...

    @property
    def benchmark_latency_ns(self) -> float: ...

    @property
    def bottleneck(self) -> str: ...

    @property
    def target(self) -> str: ...

    def text(self, arg: int, /) -> str: ...

    def json(self) -> str: ...

    def html(self, arg: Mapping[str, str], /) -> str: ...

    def perfetto(self) -> bytes: ...

    @property
    def files(self) -> list[str]: ...

def time_programs(programs: Sequence[Program], trip_counts: Mapping[str, int], what_if: Sequence[str], reorder: bool | None, advice: bool, limit: int = 10000000, max_memory: int = 0, without: Sequence[str] = [], as_written: bool = False, disable_dge: bool = False, spill: bool = False, of_rank: Sequence[int] = [], topology: str = '', take: bool = False) -> Timing: ...

def compare_timings(arg: Sequence[tuple[str, Timing]], /) -> str: ...

class PythonRequest:
    """A command line that Python is to perform."""

    @property
    def command(self) -> str: ...

    @property
    def words(self) -> list[str]: ...

    @property
    def options(self) -> dict[str, list[str]]: ...

    @property
    def script_words(self) -> list[str]: ...

def cli(words: Sequence[str], trace: object | None = None) -> object:
    """
    Runs a command of kiln, prints to stdout and stderr, and returns the exit code; a PythonRequest when it concerns kernels in Python. `kiln time` is performed all the same when it gets trace(file, compared, chip), which returns (programs, title, reserved PSUM banks, note).
    """

def read_program(path: str, source_roots: Sequence[str]) -> Program:
    """The program of a file in text form; - is standard input."""

def require_outputs(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuses files to write that are among the inputs or cannot be written."""

def tidy_on_signals() -> None:
    """
    For the program `kiln` alone: signals that end the process remove its temporary files first.
    """

def check_side_by_side(title: str, chips: Sequence[tuple[Sequence[tuple[Program, CheckReport]], int, int]]) -> str:
    """
    The verdicts for every chip, each (cores, errors, warnings) as for check_summary.
    """

def each_once(by_chip: Sequence[Sequence[Diagnostic]]) -> list[Diagnostic]:
    """The diagnostics for every chip, with those once that several have."""

def rule_examples() -> list:
    """
    The examples of the rules: (code, form, wrong, right, codes that the wrong one breaks as well).
    """

def rule_example_text(arg: str, /) -> str:
    """The example of a rule as `kiln explain` shows it; empty without one."""

def fragment(program: Program, outputs: Sequence[int], prefix: str = '', lnc: int = 1) -> Program: ...

def cut_at(program: Program, last: int, before: bool = False) -> Program: ...

def cut_at_meeting(program: Program, count: int) -> Program: ...

def first_pass(program: Program, open_loops: int) -> Program: ...

def updated_in_place(program: Program, input: str, output: str) -> Program: ...

def work(arg: Program, /) -> tuple: ...

def meetings(arg: Program, /) -> int: ...

def writers(program: Program, tensor: int) -> list[int]: ...

def instruction_text(arg0: Program, arg1: int, /) -> str: ...

def instruction_location(arg0: Program, arg1: int, /) -> SourceLoc: ...

def with_probes(program: Program, trace: Trace, numbers: Sequence[int]) -> tuple[Program, list[int]]: ...

class LastWrite:
    @property
    def instruction(self) -> str: ...

    @property
    def loc(self) -> SourceLoc: ...

    @property
    def is_result(self) -> bool: ...

    @property
    def computes(self) -> bool: ...

    @property
    def is_truth(self) -> bool: ...

def last_write(tensor: NkiTensor) -> object:
    """
    The instruction that wrote a tensor of the running kernel last, or None.
    """

def widen(programs: Sequence[Program]) -> tuple[list[Program], set[str]]: ...

def user_call(function: object, trim: object) -> object:
    """
    The function as a method of a class, whose exceptions carry the traceback that trim(exception) returns.
    """

def emit(programs: Sequence[Program], roll: bool = True, main: bool = False, origin: str = '', outputs: Sequence[str] = [], constants: Mapping[str, str] = {}, groups: Sequence[Sequence[str]] = []) -> str:
    """The programs of a logical core as NKI source."""

def normal_form(program: Program) -> Program:
    """
    The program unrolled, without what its writer may choose: equal programs print the same.
    """

class TensorGraph:
    """A tensor program: what the compiler takes."""

    def __init__(self, name: str = 'program') -> None: ...

    @staticmethod
    def parse(text: str, file_name: str = 'text') -> TensorGraph:
        """A program in text form."""

    def __str__(self) -> str: ...

    def input(self, name: str, dtype: str, shape: Sequence[int]) -> int:
        """An argument of the program."""

    def constant(self, dtype: str, shape: Sequence[int], numbers: Sequence[float]) -> int:
        """One number for all elements, or one for each."""

    def iota(self, dtype: str, shape: Sequence[int], axis: int) -> int:
        """The index along an axis."""

    def number(self, x: object, beside: int) -> int:
        """A Python number in the dtype that it takes beside a value."""

    def add(self, op: str, *operands, **attributes) -> int:
        """An op by its name."""

    def output(self, name: str, value: int) -> None:
        """A result of the program."""

    def type(self, value: int) -> tuple[str, list[int]]:
        """dtype and shape of a value."""

    def evaluate(self, inputs: Mapping[str, bytes]) -> dict[str, tuple[str, list[int], bytes]]:
        """What the program means: outputs as doubles, from bytes of inputs."""

    def evaluate_ranks(self, inputs: Sequence[Mapping[str, bytes]]) -> list[dict[str, tuple[str, list[int], bytes]]]:
        """
        The same on several ranks, which meet in collectives: inputs and outputs of each.
        """

    def compile(self, target: str = 'trn2', level: int = 2, donated: Sequence[str] = [], lnc: int = 1) -> TensorCompiled:
        """
        The program of instructions; `donated` inputs may be overwritten; with `lnc` 2 one for each core of a pair.
        """

    def compile_model(self, target: str, level: int, donated: Sequence[str], lnc: int, most_ops: int, search: object | None) -> TensorModel:
        """
        The same as one kernel, or as several that have at most `most_ops` ops each.
        """

    def at(self, file: str, line: int) -> None:
        """Ops that follow come from this line."""

    def push(self, code: int, operands: tuple, *attributes) -> tuple:
        """An op by its number: (value, dtype, shape)."""

    def constant_of_bytes(self, dtype: str, shape: Sequence[int], data: bytes) -> tuple:
        """A constant with these elements: (value, dtype, shape)."""

    def text(self, places: bool = False, digests: bool = False) -> str:
        """
        The program in text form; with `digests` in place of large constants, to tell programs apart.
        """

class TensorCompiled:
    """What the compiler made of a tensor program."""

    @property
    def program(self) -> Program:
        """The program of instructions; of a pair that of core 0."""

    @property
    def programs(self) -> list[Program]:
        """The programs of all cores."""

    @property
    def split(self) -> str:
        """What each core of a pair does."""

    @property
    def groups(self) -> list[list[str]]:
        """By core, by instruction: its group in a few words."""

    @property
    def constants(self) -> dict[str, tuple[str, list[int], bytes]]:
        """Inputs that the program brings itself."""

    @property
    def by_tile_limits(self) -> float:
        """Instructions that tiles of 128 rows would need."""

    @property
    def aliases(self) -> dict[str, str]:
        """Outputs that are inputs, updated in place."""

    @property
    def regions(self) -> list:
        """What the report says of each fused group."""

class TensorModel:
    """A tensor program as one kernel, or several that are called in order."""

    @property
    def kernels(self) -> list[TensorCompiled]:
        """Each kernel once."""

    @property
    def steps(self) -> list:
        """The calls: which kernel, and which buffer each argument and result is."""

    @property
    def buffers(self) -> list:
        """Tensors of the caller and between kernels."""

    @property
    def aliases(self) -> dict[str, str]:
        """Outputs that are inputs, updated in place."""

    @property
    def between_bytes(self) -> int:
        """HBM that buffers between kernels need."""

    @property
    def handed_on_bytes(self) -> int:
        """What they would need side by side."""

    @property
    def scratch_bytes(self) -> int:
        """HBM within a kernel, the most of all."""

    def plan(self, files: Sequence[Sequence[str]]) -> str:
        """Calls and buffers as JSON, with the files of the kernels."""

class TensorTuner:
    """A search for a faster program: asks for candidates, is told times."""

    def __init__(self, graph: TensorGraph, target: str, donated: Sequence[str], lnc: int, seed: int) -> None: ...

    def ask(self) -> list[list[int]]:
        """
        The next candidates whose times are not known; none when nothing is left to try.
        """

    def time(self, candidate: Sequence[int]) -> float:
        """Predicted nanoseconds of a candidate; infinity when it is not legal."""

    def tell(self, candidate: Sequence[int], ns: float) -> None:
        """The time of a candidate."""

    @property
    def tried(self) -> int:
        """How many candidates have a time."""

    @property
    def first_ns(self) -> float:
        """The time at level 2."""

    @property
    def best_ns(self) -> float:
        """The best time."""

    def compiled(self) -> TensorCompiled:
        """The fastest program."""

    def state(self) -> str:
        """All times that are known, as text."""

    def restore(self, text: str) -> None:
        """Times of an earlier search of the same program."""

def tensor_ops() -> dict[str, tuple[int, bool]]:
    """Every op: how many operands, and whether it is elementwise."""

def tensor_op_codes() -> dict[str, int]:
    """The number of every op."""

MOST_KERNEL_OPS: int = 400
