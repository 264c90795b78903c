"""The rules of kiln.nki, `nki.R…`: one row each.

A row is all there is to know about a rule; the line that raises it names it, and `explain` and the completeness test
walk this table. What also native code raises has its sentence in python/src/rules.h. A number, once given, stays.
"""

from dataclasses import dataclass

from kiln import _kiln

_NATIVE = _kiln.rules()  # label -> sentence, of what native code raises


@dataclass(frozen=True)
class Rule:
    number: int
    text: str  # the rule, as a sentence
    help: str  # the usual remedy; {words} are filled in by the check
    category: str = "invalid"

    @property
    def label(self):
        return _label(self.number)


def _label(number):
    return f"nki.R{number}"


def _of_both(number, help, category="invalid"):
    """A rule that native code raises too."""
    return Rule(number, _NATIVE[_label(number)], help, category)


# Of both halves.
ONLY_TEXT = _of_both(0, "look at the error in the process that raised it")
INSIDE_KERNEL = _of_both(2, "call it from a function that runs under nki.simulate(kernel)(...) or kernel(...)")
OWN_TENSORS = _of_both(3, "return tensors that this call made")
BOUNDED_SIZE = _of_both(4, "make the loop one of the device (nl.fori_loop), whose body is traced once, or let its "
                           "instructions work on larger tiles")
TARGET = _of_both(6, "set it to one of {targets}", "config")
BUFFER = _of_both(8, "pass tensor.buffer")
SIGNATURE = _of_both(10, "write {call}")
NOT_BUILT = _of_both(13, "docs/status.md lists what is there", "not_yet")

# Calls of kernels: the environment, arguments, results, grid and schedule.
LIMITS = Rule(14, "limits in the environment are positive integers, those of memory also with a unit",
              "e.g. 1000, or 8G for memory", "config")
ARGUMENT_DTYPE = Rule(15, "kernel arguments have a dtype of NKI",
                      "convert it, e.g. {conversion}; NKI has no 64-bit types", "config")
SHARED_OUTPUTS = Rule(16, "a kernel returns tensors in shared_hbm", "allocate it with buffer=nl.shared_hbm")
HAS_RESULT = Rule(17, "a kernel returns a tensor or writes one of its arguments",
                  "return the tensor in nl.shared_hbm that holds the result", "config")
GRID_SIZE = Rule(18, "a logical core has 1 or 2 physical cores", "write kernel[1] or kernel[2]", "config")
SCHEDULE_EDGE = Rule(19, "an edge is (consumer, producer) or (consumer, [producer, ...])", "pass pairs of names")
NO_PLATFORM_TARGET = Rule(20, "nki.jit takes no platform_target since NKI 0.3.0",
                          "remove it and set NEURON_PLATFORM_TARGET_OVERRIDE=trn1|trn2|trn3 in the environment")

# Loops on the device, and the grid as kernels see it.
LOOP_IN_NO_REORDER = Rule(21, "device loops do not stand inside nl.no_reorder()",
                          "put the no_reorder block into the loop's body")
LOOP_STEP = Rule(22, "the step of a device loop is a positive int known while the kernel is traced",
                 "count up with a constant step")
LOOP_RUNS_TO_ITS_END = Rule(23, "a device loop's body runs to its end",
                            "bound the loop with a register, or make its condition register 0")
FORI_BODY = Rule(24, "the body of nl.fori_loop returns nothing",
                 "keep state in SBUF or HBM tensors and update them in place")
WHILE_CONDITION = Rule(25, "the condition of nl.while_loop is a register",
                       "load it with nisa.register_load, or nisa.register_alloc(1)")
GRID_AXIS = Rule(26, "a launch grid has one axis", "use axis 0")

# nki.language itself; the rules of the instructions are checked where they are issued.
TILE = Rule(27, "operands of nl functions are tiles in SBUF or PSUM", "bring it into SBUF with nl.load first")
EQUAL_SHAPES = Rule(28, "operands have equal shapes, or one of them is a number or a (P, 1) tile",
                    "expand it with nl.broadcast_to")
ONE_DTYPE = Rule(29, "operands of two dtypes need dtype=", "pass dtype=, e.g. dtype=nl.{dtype}")
REDUCED_AXES = Rule(30, "reductions take the last free dimensions, never the partition dimension",
                    "pass an int, or a list or tuple of ints")
HBM_AND_SBUF = Rule(31, "nl.load, nl.store and nl.load_transpose2d move between HBM and SBUF", "pass a tensor in HBM")
TILE_LAYOUT = Rule(32, "a tile has two dimensions or more and at most 128 partitions, and shapes fit the function",
                   "slice or reshape it to what the function takes")
ARGUMENT_KIND = Rule(33, "the argument has the kind that the function documents", "pass what the function's page names")
PORTABLE = Rule(34, "kernels use what compiles for the device", "write it with what the device's compiler takes")
READ_ONLY_CONSTANT = Rule(35, "a shared constant is read only", "copy it into a tensor of nl.ndarray first")
REMOVED_NAME = Rule(36, "names of older NKI are gone in 0.6.0", "write {rewrite}")
NO_OPERATORS = Rule(37, "tensors have no operators", "write {rewrite}")

# The package, its commands and their files.
NAME_IN_USE = Rule(40, "kiln.activate() does not take the name `nki` from a package that is in use",
                   "call kiln.activate() before the first `import nki`, or kiln.activate(force=True) to set that one "
                   "aside", "config")
SPEC_DTYPE = Rule(41, "a tensor's dtype is one of NKI", "the dtypes are {dtypes}", "config")
PYTHON_RUNS = Rule(42, "the kernel's Python runs to its end for these arguments",
                   "the line above raises it; wrong shapes in --arg or in an annotation also lead here")
RECORDED_CALL = Rule(43, "a recorded call can be made again", "give it with --arg, or record a call without it",
                     "config")
KERNEL_FILE = Rule(44, "a kernel file exists", "check the path", "config")
CORES_VARIABLE = Rule(45, "NEURON_LOGICAL_NC_CONFIG is 1 or 2", "set it to {lnc}, as the launch says, or unset it",
                      "config")
KNOWN_VERSION = Rule(46, "the versions of NKI that Kiln can behave like are listed", "choose one of {versions}",
                     "config")
ONE_KERNEL = Rule(47, "kiln time and kiln emit take one kernel with known arguments",
                  "choose one with --kernel NAME", "config")
PRECISE_FP = Rule(48, "NKI_PRECISE_FP is 0 or 1", "unset it for the real formats", "config")
IN_THE_VERSION = Rule(49, "kernels use what the chosen version of NKI has",
                      "the version in use is {version}: write it with what that has, or choose "
                      'kiln.nki.api_version("{since}")')

# nl.device_print.
PRINT_PREFIX = Rule(51, "the prefix of nl.device_print is a string", 'write nl.device_print("name", tensor)')
PRINT_TENSOR = Rule(52, "nl.device_print shows a tensor",
                    "pass a tensor or a view of one; print() shows what Python knows while the kernel is traced")
PRINT_MEMORY = Rule(53, "nl.device_print shows a tensor in SBUF or HBM",
                    "copy it to SBUF with nisa.tensor_copy first, or look with print()")

# nki.collectives.
REPLICA_GROUP = Rule(54, "a replica group is a list of lists of ranks, and each rank stands in it once",
                     "write ReplicaGroup([[0, 1], [2, 3]])")
COLLECTIVE_TENSORS = Rule(55, "a collective takes lists of tensors", "pass srcs=[tensor], dsts=[tensor]")
PER_RANK = Rule(56, "kiln.per_rank has a value for each rank, and what a kernel writes is given for each rank",
                "pass kiln.per_rank([a, b, ...]) with one array for each of the {ranks} ranks", "config")
RANK_COUNT = Rule(57, "the number of ranks is an int from 1 to 4096", "pass ranks=8", "config")
COLLECTIVE_OPERATOR = Rule(59, "op of a collective is an operator of nki.language",
                           "pass nl.add, nl.minimum or nl.maximum")

# Pairs of cores.
EQUAL_LOOPS = Rule(63, "the device loops of the two cores of a pair are the same",
                   "loop alike on both cores, and let program_id choose the data; static Python loops may differ")

# More about arguments, loops, files and options.
ARGUMENT_VALUES = Rule(64, "array arguments hold their values",
                       "pass a dense tensor with values: tensor.to_dense(), or one on the CPU", "config")
ARGUMENT_MEMORY = Rule(65, "array arguments are taken through DLPack, from memory of the CPU",
                       "pass a NumPy array of it", "config")
ARGUMENT_DIMENSIONS = Rule(66, "array arguments have at least one dimension",
                           "pass a Python number, or reshape it to (1,)", "config")
ARGUMENT_ELEMENTS = Rule(67, "array arguments have elements", "leave the kernel out for empty inputs", "config")
WRITABLE_ARGUMENT = Rule(68, "an argument that the kernel writes is writable", "pass a copy", "config")
GRID_IS_INT = Rule(69, "kernel[n] takes one int", "write kernel[2](...)", "config")
WHILE_BODY = Rule(70, "the body of nl.while_loop returns the next condition, a register",
                  "return the register that decides about the next pass")
SPEC_SHAPE = Rule(71, "a tensor has at least one dimension and elements", "write e.g. float32[128,512]", "config")
IMPORTABLE_FILE = Rule(72, "a file of kernels can be imported",
                       "install what it needs, or check a file with the kernel alone")
CALLS_FILE = Rule(73, "a file of calls is one that KILN_RECORD wrote",
                  "run the kernel with KILN_RECORD=calls.json in the environment", "config")
KERNEL_OPTION = Rule(74, "--kernel names a function of the file", "the kernels of the file are {kernels}", "config")
ARG_OPTION = Rule(75, "--arg takes NAME=VALUE", "e.g. --arg x=float32[128,512] --arg n=4", "config")
LAUNCH_GRID = Rule(76, "the launch grid equals NEURON_LOGICAL_NC_CONFIG",
                   "launch with kernel[{word}](...), or set NEURON_LOGICAL_NC_CONFIG={lnc}", "config")

# Tensors and dtypes where Python would take them for something else.
TENSOR_TRUTH = Rule(77, "a computed tensor is no condition: its values are not known while the kernel is traced",
                    "choose values with nl.where or nisa.tensor_copy_predicated; repeat work with nl.while_loop or "
                    "nl.fori_loop on a register (nisa.register_load); to ask whether there is a tensor, write "
                    "`is not None`")
LIST_ARGUMENT = Rule(78, "arguments of a kernel are no lists",
                     "pass a tuple: lists are refused since NKI 0.3.0; tensors are made of arrays, e.g. "
                     "np.array(..., np.float32)")
NUMPY_DTYPE = _of_both(79, "pass {dtype}")
REFERENCE_SHAPE = Rule(81, "the reference of a tensor has its shape, or one that broadcasts to it",
                       "reshape the reference of `{tensor}` to {shape}, or name another tensor", "config")

# What a command line says about kernels.
ARGUMENT_TEXT = Rule(82, "an argument as text is a tensor like float32[128,512], a Python literal, a dtype or a word",
                     "put strings with other characters into quotes: --arg 'name=\"a b\"'", "config")
ARGUMENT_ONCE = Rule(83, "--arg gives each argument once", "leave one of the two out", "config")
KNOWN_ARGUMENT = Rule(84, "--arg names a parameter of a kernel", "the parameters are {parameters}", "config")
ARGUMENTS_GIVEN = Rule(85, "a kernel is checked and timed with a value for every parameter that has no default",
                       "add {options}, annotate with nt.tensor[...], or take calls with --record; python -m kiln.lint "
                       "{file} lints alone", "config")
HAS_KERNELS = Rule(86, "a file that is checked or timed has a kernel",
                   "mark functions with @nki.jit, or name one with --kernel", "config")
CALL_RECORDED = Rule(87, "a file of calls has one of the kernel that is checked",
                     "run the kernel with KILN_RECORD={file} in the environment, or give its arguments with --arg",
                     "config")
NAN_MODE = Rule(88, "KILN_NAN, --nan and nan= are off, warn or error", "pass one of {modes}", "config")
USUAL_PASSES = Rule(89, "`# kiln: usually N` at a device loop says a number of passes",
                    "write e.g. `# kiln: usually 4`, or leave the comment out")
SAME_CONSTANT = Rule(90, "a shared constant holds the same data on both cores of a pair",
                     "make one constant for both cores and let each read its part")
SAME_RESULTS = Rule(91, "the two cores of a pair return the same tensors",
                    "make the results alike on both cores, and let each write its part")
COLLECTIVE_NAMES = Rule(92, "a tensor in HBM that a collective reads or writes has a name",
                        'name it: nl.ndarray(..., buffer=nl.shared_hbm, name="…")')

RULES = tuple(value for value in globals().values() if isinstance(value, Rule))
_SENTENCES = {**_NATIVE, **{rule.label: rule.text for rule in RULES}}


def explain(label):
    """What a label means, as `kiln explain` prints it; None for a label that is not ours."""
    if label not in _SENTENCES:
        return None
    return (f"{label}: {_SENTENCES[label]}\n"
            "  a rule of kiln.nki: the message itself says what was found and the remedy")
