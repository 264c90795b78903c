"""The rules of the language lint: one row each.

A row is all there is to know about a rule; messages, `explain`, the page docs/language-lint.md and the completeness
test walk this table. Severities are per front end: "error" means it refuses the code (or gives another meaning to it),
"warning" that it takes the code with a doubt, "" that the rule does not hold there. A number, once given, stays.
"""

import ast
from dataclasses import dataclass

PROFILES = ("parser", "tracer")
NEWEST = "0.6.0"

DOCUMENTED = "documented"  # in the vendor's documentation or release notes
OBSERVED = "observed"  # read off the open parser, production kernels or reports from the field


@dataclass(frozen=True)
class Rule:
    number: int
    name: str  # how the checks call it
    title: str  # the rule, as a sentence
    found: str  # the message; {words} are filled in by the check
    help: str  # the remedy; {words} likewise
    allowed: str = ""
    parser: str = "error"
    tracer: str = ""
    since: str = "0.2.0"  # the first version that has the rule
    until: str = ""  # the first version that has it no more
    evidence: str = OBSERVED
    nodes: tuple = ()  # syntax that breaks the rule wherever it stands

    @property
    def label(self):
        return f"language.R{self.number}"

    def severity(self, profiles):
        """Of a finding: what the parser takes runs on the device, so a refusal by the tracer alone is a warning."""
        given = {getattr(self, profile) for profile in profiles}
        if not given - {""}:
            return ""
        return "error" if "error" in given and (self.parser == "error" or profiles == ("tracer",)) else "warning"

    def holds_for(self, profiles, api_version):
        """The profiles, out of these, for which the rule holds in this version."""
        if version_key(api_version) < version_key(self.since):
            return ()
        if self.until and version_key(api_version) >= version_key(self.until):
            return ()
        return tuple(profile for profile in profiles if getattr(self, profile))


def version_key(version):
    try:
        return tuple(int(part) for part in version.split("."))
    except (ValueError, AttributeError):
        raise ValueError(f"not a version of NKI: {version!r}; write it like {NEWEST}") from None


BOTH = {"parser": "error", "tracer": "error"}
DOUBT = {"parser": "warning", "tracer": "warning"}
# Not every Python has every kind of syntax.
TYPE_ALIAS = tuple(getattr(ast, name) for name in ["TypeAlias"] if hasattr(ast, name))
TRY = tuple(getattr(ast, name) for name in ["Try", "TryStar"] if hasattr(ast, name))

RULES = (
    # Files.
    Rule(1, "unreadable", "a kernel file is text in UTF-8, at most 16 MiB, of an ordinary depth of nesting",
         "{reason}", "give the path of a Python source file", **BOTH, evidence=DOCUMENTED),
    Rule(2, "syntax", "a kernel file is valid Python",
         "{reason}", "correct the syntax; nothing else in the file was looked at", **BOTH, evidence=DOCUMENTED),
    Rule(3, "no_kernel", "a name given as a kernel is a function of the file",
         "no function `{kernel}` in this file", "give the name of a function that is defined in the file", **BOTH,
         evidence=DOCUMENTED),

    # Definitions.
    Rule(10, "inner_def", "no function is defined inside a kernel or a function that it calls",
         "`{name}` is defined inside `{outer}`", "move `{name}` to module level{captured}",
         "the tracer takes inner functions since 0.6.0"),
    Rule(11, "inner_class", "no class is defined inside a kernel or a function that it calls",
         "class `{name}` is defined inside `{outer}`", "move the class to module level"),
    Rule(12, "lambda", "kernel code has no `lambda`",
         "a lambda expression", "write a named function at module level", nodes=(ast.Lambda,)),
    Rule(13, "async", "kernel code has no `async` and no `await`",
         "asynchronous code", "write ordinary functions, loops and calls", "synchronous code",
         parser="error", tracer="error", nodes=(ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)),
    Rule(14, "yield", "kernel code has no `yield`",
         "a generator", "append to a list and return it", nodes=(ast.Yield, ast.YieldFrom), **BOTH),
    Rule(15, "varargs", "functions of the call tree take no `*args`",
         "parameter `*{name}`", "name the parameters, or take one tuple `{name}`"),
    Rule(16, "kwargs", "a parameter `**kwargs` stays empty",
         "parameter `**{name}`: a call that fills it is refused", "name the parameters, or take a dict",
         parser="warning"),
    Rule(17, "keyword_only", "signatures have no keyword-only parameters",
         "`*` makes {names} keyword-only", "drop the `*`", "parameters without the `*`; `/` is tolerated",
         parser="error", tracer="warning", since="0.3.0", evidence=DOCUMENTED),
    Rule(18, "closure", "kernel code uses no variable of an enclosing function",
         "`{name}` belongs to the enclosing function `{outer}`",
         "make it a parameter of `{inner}` or a constant at module level", "parameters, locals and module globals"),
    Rule(19, "decorator", "functions of the call tree are decorated with nki.jit, dataclass or staticmethod only",
         "decorator `{name}`", "drop the decorator, or call the undecorated function"),
    Rule(20, "class_base", "classes of kernel code derive directly from NKIObject or Enum (NamedTuple is tolerated)",
         "class `{name}` {bases}", "write `class {name}(nl.NKIObject):`, or `class {name}(Enum):` for an enumeration",
         evidence=DOCUMENTED),
    Rule(21, "class_statement", "the body of a class has fields, methods and a docstring only",
         "{what} in the body of class `{name}`", "move it out of the class body"),
    Rule(22, "inner_body", "the parser has no inner functions, also not as the body of nl.fori_loop or nl.while_loop",
         "`{name}`, the body of {loop}, is defined inside `{outer}`",
         "the tracer takes it as it is; for the parser write a static loop, or `for i in nl.dynamic_range(...)`",
         "the tracer takes inner functions since 0.6.0", parser="warning", since="0.6.0"),

    # Statements.
    Rule(30, "loop_target", "the target of a `for` loop is one name",
         "the loop unpacks into `{target}`", "{rewrite}", "one name"),
    Rule(31, "loop_else", "loops have no `else`",
         "`else` of a loop", "set a flag in the loop and test it afterwards"),
    Rule(32, "subscript_target", "a tuple assignment binds names only",
         "`{target}` in a tuple assignment", "assign to names first, then `{target} = name`"),
    Rule(33, "several_mutations", "one statement changes at most one list, dict or object",
         "{count} elements or attributes are assigned in one statement", "write one assignment each"),
    Rule(34, "star_expression", "nothing is unpacked with `*`",
         "`{text}`", "write the elements out, or index them one by one"),
    Rule(35, "keyword_expansion", "nothing is unpacked with `**`",
         "`{text}`", "write the keywords out"),
    Rule(36, "import_in_body", "kernel code has no `import`",
         "an import inside `{outer}`", "move the import to module level", nodes=()),
    Rule(37, "global_statement", "kernel code has no `global` and no `nonlocal`",
         "`{text}`", "pass the value in and return it, or keep it in a dict that is passed between functions"),
    Rule(38, "del", "kernel code has no `del`",
         "a `del` statement", "leave the name alone: tensors are freed when they are no longer used",
         nodes=(ast.Delete,)),
    Rule(39, "try", "kernel code has no `try`",
         "a `try` statement", "test with `if` before the operation, or move the block to host code", nodes=TRY),
    Rule(40, "raise", "kernel code has no `raise`",
         "a `raise` statement", "{rewrite}", "`assert`"),
    Rule(41, "match", "kernel code has no `match`",
         "a `match` statement", "write `if` / `elif`, or look the value up in a dict", nodes=(ast.Match,)),
    Rule(42, "type_alias", "kernel code has no `type` statement",
         "a `type` statement", "move it to module level", nodes=TYPE_ALIAS),
    Rule(43, "with_other", "the only context manager is `nl.no_reorder()`, alone and without arguments",
         "`with {text}`", "move the block to host code; `with nl.no_reorder():` is the only form"),
    Rule(44, "with_as", "a `with` binds no name",
         "`as {name}`", "write `with nl.no_reorder():`"),
    Rule(45, "assert_message", "the message of an `assert` is a string",
         "the message is {what}", "write it as an f-string"),
    Rule(46, "bare_annotation", "an annotation without a value stands on a name",
         "`{text}`", "assign a value: `{target} = None`"),

    # Expressions.
    Rule(50, "comprehension", "kernel code has no comprehensions and no generator expressions",
         "{what}", "write a `for` loop that appends to a list",
         nodes=()),
    Rule(51, "set_literal", "kernel code has no sets",
         "a set literal", "use a tuple", nodes=(ast.Set,)),
    Rule(52, "walrus", "kernel code has no `:=`",
         "an assignment expression", "assign in a statement of its own", nodes=(ast.NamedExpr,)),
    Rule(53, "is_comparison", "`is` compares with None only",
         "`{text}`", "write `{rewrite}`", "`is None` and `is not None`", parser="error", tracer="warning",
         since="0.3.0", evidence=DOCUMENTED),
    Rule(54, "dict_membership", "`in` works on tuples, lists and strings, not on dicts",
         "`{text}` asks a dict", "write `{rewrite}`", "tuple, list, str in str"),
    Rule(55, "chained_membership", "`in` is no part of a chained comparison",
         "`{text}`", "join two comparisons with `and`"),
    Rule(56, "chained_effect", "operands of a chained comparison have no side effects: all of them are evaluated",
         "`{text}` always evaluates `{call}`", "assign the results to names first, or join comparisons with `and`",
         parser="warning"),
    Rule(57, "matmul_operator", "kernel code has no operator `@`",
         "`{text}`", "nisa.nc_matmul(dst=…, stationary=…, moving=…)", **BOTH),
    Rule(58, "format_spec", "f-strings have no format specifications",
         "`{text}`", "write `{rewrite}`", "`{{x}}`, `{{x!r}}`, `{{x!s}}`, `{{x!a}}`"),
    Rule(59, "large_int", "integer literals fit into 32 bits",
         "{value} is outside -2147483648 … 2147483647", "{rewrite}", "-2147483647 … 2147483647 as a literal"),
    Rule(60, "ellipsis_value", "`...` stands only inside an index",
         "`...` as a value", "{rewrite}"),
    Rule(61, "negative_step", "the step of a slice is positive",
         "step {step}", "{rewrite}"),

    # Containers, strings, builtins, modules.
    Rule(70, "list_method", "list methods have the meaning that both front ends give them",
         "`{text}`: {why}", "{rewrite}", "append, clear, copy, extend, pop() without an index, reverse"),
    Rule(71, "dict_method", "dict methods are clear, copy, get, items, keys, pop, setdefault and values",
         "`{text}`", "{rewrite}"),
    Rule(72, "dict_iteration", "a loop does not run over a dict itself",
         "the loop runs over the dict `{text}`", "write `for … in {text}.keys()`"),
    Rule(73, "dict_key", "keys of a dict are strings",
         "key `{text}`", "use a string, or a list indexed by the number"),
    Rule(74, "str_method", "strings have no methods",
         "`{text}`", "{rewrite}"),
    Rule(75, "str_operation", "strings are joined with `+` only",
         "`{text}`", "write the string out, or build it with an f-string"),
    Rule(76, "builtin", "kernel code calls only the builtins that the parser knows",
         "builtin `{name}`", "{rewrite}",
         "abs bool dict divmod float int isinstance len list max min print range slice str tuple type"),
    Rule(77, "range_value", "`range(...)` stands in the header of a `for` loop",
         "`{text}` as a value", "{rewrite}"),
    Rule(78, "min_max", "`min` and `max` take two values, or one list or tuple",
         "`{text}`", "{rewrite}"),
    Rule(79, "isinstance_types",
         "`isinstance` asks for one type: a class of kernel code, bool, int, float, str, tuple, list, dict or slice",
         "`{text}` is always False", "{rewrite}"),
    Rule(80, "math_function",
         "of `math`, kernel code uses pi, e, inf, nan, ceil, floor, gcd, log2, log10, pow and sqrt",
         "`math.{name}`", "compute it in host code and pass the result, or {rewrite}",
         "pi e inf nan ceil floor gcd log2 log10 pow sqrt"),
    Rule(81, "host_module", "kernel code calls nothing of host libraries",
         "`{text}` of {module}", "{rewrite}", "nki, math"),
    Rule(82, "range_hint", "`affine_range`, `sequential_range` and `static_range` stand in the header of a `for` loop",
         "`{text}` as a value has no effect", "write `for i in {text}:`", parser="warning"),

    # Tensors.
    Rule(90, "tensor_item", "an element or slice of a tensor is written by an instruction, not by assignment",
         "`{text} = …` assigns into a tensor", "{rewrite}", parser="error", tracer="warning"),
    Rule(91, "tensor_arithmetic", "tensors have no operators",
         "`{text}` on a tensor", "{rewrite}", **BOTH),
    Rule(92, "tensor_truth",
         "a computed tensor is no condition: its values are not known while the kernel is traced",
         "`{text}` is {why}: the parser takes it as always true",
         "choose values with nl.where or nisa.tensor_copy_predicated, repeat work with nl.while_loop or nl.fori_loop "
         "on a register (nisa.register_load); to ask whether there is a tensor, write `is not None`", **BOTH),
    Rule(93, "tensor_attribute", "a tensor has the attributes and methods of the manual",
         "a tensor has no `{name}`", "{rewrite}", **BOTH, evidence=DOCUMENTED),
    Rule(94, "new_attribute", "views of a tensor before 0.5.0 are made by reshape, ap and view",
         "`{name}` came with 0.5.0", "write the view with `.ap(...)` or `.reshape(...)`", **BOTH, until="0.5.0",
         evidence=DOCUMENTED),
    Rule(95, "tensor_index", "an index of a tensor is made of integers, slices, `...` and nl.ds",
         "`{text}` in an index", "{rewrite}", **BOTH),
    Rule(96, "negative_index", "integer indices of a tensor count from the start",
         "index `{text}`", "write `t.shape[d] - n`", parser="warning"),
    Rule(97, "output_buffer", "a tensor that a kernel returns lives in nl.shared_hbm",
         "`{name}` is returned and lives in {buffer}", "write `buffer=nl.shared_hbm`", **BOTH, since="0.3.0",
         evidence=DOCUMENTED),

    # Registers and device loops.
    Rule(110, "register_arithmetic", "a register takes no part in Python arithmetic, comparisons, int() or range()",
         "`{text}` computes with the register `{register}`",
         "compute in a 1x1 tensor and load it with nisa.register_load(dst, src); a register serves as loop bound, "
         "scalar_offset or select index", **BOTH, evidence=DOCUMENTED),
    Rule(111, "register_condition", "a register has no truth value while tracing",
         "`{text}` is a register", "use nl.while_loop(init, body), or select with a predicated instruction",
         parser="", tracer="error", evidence=DOCUMENTED),
    Rule(112, "loop_statement", "device loops are nl.fori_loop and nl.while_loop",
         "`{text}` is a device loop: deprecated since 0.6.0, and not possible while tracing", "{rewrite}",
         parser="warning", tracer="error", since="0.6.0", evidence=DOCUMENTED),
    Rule(113, "dynamic_step", "the step of a device loop is a positive integer that is known beforehand",
         "step `{text}`", "give a positive integer", **BOTH, evidence=DOCUMENTED),
    Rule(114, "loop_variable", "the variable of a device loop is not written",
         "`{name}` is the variable of the device loop", "copy it: `nisa.register_move(dst, src={name})`", **BOTH,
         since="0.4.0", evidence=DOCUMENTED),
    Rule(115, "loop_exit", "a device loop has no `break`, `continue` or `return`",
         "`{what}` inside a device loop", "bound the loop, or end nl.while_loop through its condition", **BOTH),
    Rule(116, "loop_in_no_reorder", "no device loop inside nl.no_reorder()",
         "a device loop inside `with nl.no_reorder()`", "put the `with` inside the loop body", **BOTH,
         evidence=DOCUMENTED),
    Rule(117, "loop_carried", "no Python value is carried from one pass of a device loop to the next",
         "`{name}` is changed in the body, which is traced once: it changes once, not per pass",
         "keep the value in a tensor that exists before the loop and update it in place", **BOTH,
         evidence=DOCUMENTED),
    Rule(118, "loop_body_result", "the body of nl.fori_loop returns nothing, that of nl.while_loop the next condition",
         "the body `{name}` of nl.{loop} returns {what}", "{rewrite}", **BOTH, since="0.6.0", evidence=DOCUMENTED),

    # Purity and arguments.
    Rule(130, "mutable_global", "kernels depend on their arguments only: compiled kernels are cached",
         "`{name}` is a module variable that line {line} changes", "pass the value as an argument", **DOUBT,
         evidence=DOCUMENTED),
    Rule(131, "outside_state", "kernels read no environment, clock or random numbers: compiled kernels are cached",
         "`{text}` is evaluated once, when the kernel is compiled", "read it in host code and pass the value",
         **DOUBT, evidence=DOCUMENTED),
    Rule(132, "list_argument", "arguments of a kernel are no lists",
         "a list is passed to the kernel `{kernel}`", "pass a tuple: `{rewrite}`", **BOTH, since="0.3.0",
         evidence=DOCUMENTED),
    Rule(133, "numpy_dtype", "dtypes are NKI dtypes",
         "`{text}` is a NumPy dtype", "write `{rewrite}`"),

    # Old forms.
    Rule(150, "neuronxcc", "kernels use the package nki",
         "`{text}` is used in kernel code", "{rewrite}", **BOTH, since="0.4.0", evidence=DOCUMENTED),
    Rule(151, "removed_name", "kernels use names that exist",
         "`{text}` {what}", "{rewrite}", **BOTH, evidence=DOCUMENTED),
    Rule(152, "deprecated_name", "kernels use names that stay",
         "`{text}` {what}", "{rewrite}", **DOUBT, evidence=DOCUMENTED),
    Rule(153, "removed_keyword", "calls use keywords that exist",
         "`{text}` {what}", "{rewrite}", **BOTH, evidence=DOCUMENTED),
    Rule(154, "deprecated_keyword", "calls use keywords that have an effect",
         "`{text}` {what}", "{rewrite}", **DOUBT, evidence=DOCUMENTED),
    Rule(155, "string_buffer", "a buffer is a member of nl",
         "`{text}`", "write `{rewrite}`", **BOTH, since="0.3.0", evidence=DOCUMENTED),
    Rule(156, "integer_enum", "modes and engines are enum members",
         "`{text}`", "name the member: `{rewrite}`", **BOTH, since="0.3.0", evidence=DOCUMENTED),
    Rule(157, "missing_dst", "every instruction gets its destination",
         "`{name}` without `dst`",
         "allocate `{allocation}`, then `{rewrite}`", **BOTH, evidence=DOCUMENTED),
    Rule(158, "instruction_result", "an instruction returns no tile",
         "the result of `{name}` is used as a tile", "use the tile that was given as `dst`: `{rewrite}`", **BOTH,
         evidence=DOCUMENTED),
    Rule(159, "moved_argument", "positional arguments stand in today's order",
         "`{text}`: {why}", "write `{rewrite}`", **BOTH, evidence=DOCUMENTED),
    Rule(160, "string_mode", "modes and engines are enum members",
         "`{text}`", "write `{rewrite}`", **DOUBT, since="0.3.0", evidence=DOCUMENTED),
    Rule(161, "unknown_keyword", "calls of nki use keywords that the function has",
         "`{name}` has no parameter `{keyword}`", "{rewrite}", **BOTH, evidence=DOCUMENTED),
    Rule(162, "new_name", "kernels use names that their version of NKI has",
         "`{text}` came with {since}", "write it with the names of the older version, or ask for {since}", **BOTH,
         until=NEWEST, evidence=DOCUMENTED),
)

BY_NAME = {rule.name: rule for rule in RULES}
BY_LABEL = {rule.label: rule for rule in RULES}


def explain(label):
    """What a label means, as `kiln explain` prints it; None for a label that is not ours."""
    rule = BY_LABEL.get(label)
    if rule is None:
        return None
    versions = f"from {rule.since}" + (f", before {rule.until}" if rule.until else "")
    fronts = ", ".join(f"{profile} ({getattr(rule, profile)})" for profile in PROFILES if getattr(rule, profile))
    lines = [f"{rule.label}: {rule.title}", f"  help: {rule.help}"]
    if rule.allowed:
        lines.append(f"  allowed: {rule.allowed}")
    return "\n".join([*lines, f"  basis: {rule.evidence}", f"  applies to: {fronts}; NKI {versions}"])
