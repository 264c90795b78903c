"""Reads .test files: programs, inputs and expectations as text. docs/test-files.md describes the format."""

import dataclasses
import functools
import itertools
import pathlib
import re
import shlex

TESTS = pathlib.Path(__file__).resolve().parent.parent
TEST_FILES = sorted(TESTS.rglob("*.test"))
KINDS = ("accept", "reject", "warn", "fail")
TENSOR = re.compile(r"\s*tensor\s+(\w+)\s*:\s*(?:(input|output|inout|internal)\s+)?(\w+)\s+(\w+)\s*\[([^\]]*)\]")
EXPECT = re.compile(r"(\w+)((?:\[.*?\])?)\s+(==|~)\s+(.*)")
WITHIN = re.compile(r"(.*\S)\s+within\s+(\S+)(\s+ulp)?(?:\s+abs\s+(\S+))?$")


class TestFileError(Exception):
    """A .test file that does not keep to its format."""

    __test__ = False  # not a test class


@dataclasses.dataclass
class Tensor:
    name: str
    role: str
    dtype: str
    shape: tuple


@dataclasses.dataclass
class Expectation:
    name: str  # of the output
    index: str  # what follows it, such as [:, 0:4]
    expression: str
    exact: bool = True
    ulp: float = 0
    relative: float = 0
    absolute: float = 0


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    line: int
    kind: str
    labels: tuple  # full: tensor_tensor.R1
    title: str
    target: str = "trn2"
    header: str = "fragment"
    program: str = ""
    peer: str = ""  # of the second core of a pair
    values: list = dataclasses.field(default_factory=list)  # (keyword, name, expression) of in and def, in order
    expectations: list = dataclasses.field(default_factory=list)
    expects_nothing: bool = False
    found: list = dataclasses.field(default_factory=list)
    tensors: dict = dataclasses.field(default_factory=dict)

    def text(self):
        return self.complete(self.program)

    def peer_text(self):
        return self.complete(self.peer)

    def complete(self, program):
        return f'kiln 1\nprogram "{self.path.stem}" target {self.target} {self.header}\n{program}'.replace(" \n", "\n")

    def named(self, *roles):
        return [t for t in self.tensors.values() if t.role in roles]


def logical_lines(text):
    """(number, line) without comments; a line that ends with a backslash goes on in the next."""
    pending, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", "", line).rstrip()
        start = start or number
        if line.endswith("\\"):
            pending += line[:-1].rstrip() + " "
            continue
        yield start, pending + (line.lstrip() if pending else line)
        pending, start = "", 0
    if pending:
        raise TestFileError(f"line {start}: the last line ends with a backslash")


class Reader:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.lines = list(logical_lines(self.path.read_text()))
        self.blocks, self.definitions, self.raw_cases = {}, [], []
        self.number = 0

    def error(self, message):
        raise TestFileError(f"{self.path.name}:{self.number}: {message}")

    def cases(self):
        self.split()
        cases = []
        for raw in self.raw_cases:
            for names in itertools.product(*raw["sweeps"]):
                variables = {k: v for pairs in names for k, v in pairs}
                cases += self.expand(raw["lines"], variables)
        titles = [case.title for case in cases]
        for case in cases:
            if titles.count(case.title) > 1:
                self.number = case.line
                self.error(f"two cases have the title '{case.title}'")
        return cases

    def split(self):
        """Blocks, file-wide definitions and the lines of each case."""
        sweeps, lines = [], iter(self.lines)
        for self.number, line in lines:
            word = line.split(" ")[0]
            if word == "let":
                self.block(line, lines)
            elif word == "for":
                sweeps.append(self.sweep(line))
            elif word in KINDS:
                self.raw_cases.append({"sweeps": sweeps, "lines": [(self.number, line)]})
                sweeps = []
            elif line and sweeps:
                self.error("`for` stands above the case that it repeats")
            elif line and self.raw_cases:
                self.raw_cases[-1]["lines"].append((self.number, line))
            elif word == "def":
                self.definitions.append((self.number, line))
            elif line:
                self.error(f"'{line}' stands above the first case")

    def block(self, line, lines):
        match = re.fullmatch(r"let (\w+) \{", line)
        if not match:
            self.error("write `let NAME {`, then lines, then `}`")
        content = self.blocks[match[1]] = []
        for self.number, inner in lines:
            if inner == "}":
                return
            content.append((self.number, inner))
        self.error(f"block {match[1]} has no end")

    def sweep(self, line):
        """for a b in 1:2 3:4: a list of [(a, 1), (b, 2)] and so on."""
        match = re.fullmatch(r"for ((?:\w+ )+)in (.+?):?", line)
        if not match:
            self.error("write `for NAME in VALUE VALUE …`")
        names = match[1].split()
        rows = [item.split(":", len(names) - 1) for item in shlex.split(match[2])]
        if any(len(row) != len(names) for row in rows):
            self.error(f"{len(names)} names, so every value has {len(names)} parts with colons between them")
        return [list(zip(names, row)) for row in rows]

    def substitute(self, lines, variables):
        for self.number, line in lines:
            line = re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: self.variable(m[1] or m[2], variables), line)
            if line.startswith("use "):
                name = line[4:].strip()
                if name not in self.blocks:
                    self.error(f"no block {name}")
                yield from self.substitute(self.blocks[name], variables)
            else:
                yield self.number, line

    def variable(self, name, variables):
        if name not in variables:
            self.error(f"no variable ${name}")
        return variables[name]

    def expand(self, lines, variables):
        """The case once for each of its targets."""
        lines = list(self.substitute(lines, variables))
        case, targets = self.case(self.definitions + lines[1:], lines[0])
        suffix = (lambda t: f" [{t}]") if len(targets) > 1 else (lambda t: "")
        return [dataclasses.replace(case, target=t, title=case.title + suffix(t)) for t in targets]

    def case(self, lines, first):
        self.number, heading = first
        kind, _, rest = heading.partition(" ")
        labels = ()
        if kind != "accept":
            words, _, rest = rest.strip().partition(" ")
            labels = tuple(f"{self.path.stem}.{w}" if "." not in w else w for w in words.split(","))
            if not all(re.fullmatch(r"\w+\.R\d+", label) for label in labels):
                self.error(f"'{words}' is no label; write R1, operand.R2 or R1,operand.R2")
        case, targets = Case(self.path, self.number, kind, labels, rest.strip()), ["trn2"]
        if not case.title:
            self.error("the case has no title")
        in_peer = False
        for self.number, line in lines:
            word, _, rest = line.partition(" ")
            if word == "":
                self.program_line(case, line, in_peer)
            elif word == "peer":
                in_peer, case.header = True, "lnc 2 fragment"
            elif word == "target":
                targets = rest.split()
            elif word == "header":
                case.header = rest.strip()
            elif word in ("in", "def"):
                self.value(case, word, rest)
            elif word == "expect":
                self.expect(case, rest)
            elif word == "found":
                case.found.append(rest.strip().strip('"'))
            else:
                self.error(f"'{word}' is no keyword of a test file (program lines are indented)")
        self.number = case.line
        self.validate(case)
        return case, targets

    def program_line(self, case, line, in_peer):
        if in_peer:
            case.peer += line + "\n"
        else:
            case.program += line + "\n"
        match = TENSOR.match(line)
        if match:
            name, role, _, dtype, shape = match.groups()
            sizes = tuple(int(n) for n in shape.split(",")) if shape.strip() else ()
            case.tensors[name] = Tensor(name, role or "internal", dtype, sizes)

    def value(self, case, keyword, rest):
        match = re.fullmatch(r"(\w+)\s*=\s*(.+)", rest.strip())
        if not match:
            self.error(f"write `{keyword} NAME = EXPRESSION`")
        case.values.append((keyword, match[1], match[2]))

    def expect(self, case, rest):
        if rest.strip() == "nothing":
            case.expects_nothing = True
            return
        match = EXPECT.fullmatch(rest.strip())
        if not match:
            self.error("write `expect OUTPUT == EXPRESSION` or `expect OUTPUT ~ EXPRESSION within 1e-6`")
        name, index, relation, expression = match.groups()
        wanted = Expectation(name, index, expression)
        if relation == "~":
            match = WITHIN.fullmatch(expression)
            if not match:
                self.error("`~` needs a tolerance: within 1e-6, within 2 ulp, within 1e-6 abs 1e-9")
            wanted.expression, wanted.exact = match[1], False
            wanted.ulp, wanted.relative = (float(match[2]), 0) if match[3] else (0, float(match[2]))
            wanted.absolute = float(match[4] or 0)
        case.expectations.append(wanted)

    def validate(self, case):
        """Every expectation has an output and every output of an accepted case an expectation."""
        if not case.program:
            self.error("the case has no program")
        outputs = {t.name for t in case.named("output", "inout")}
        inputs = {t.name for t in case.named("input", "inout")}
        expected = {e.name for e in case.expectations}
        for keyword, name, _ in case.values:
            if keyword == "in" and name not in inputs:
                self.error(f"`in {name}`: the program has no such input")
        if expected - outputs:
            self.error(f"`expect {min(expected - outputs)}`: the program has no such output")
        if case.kind == "accept":
            if outputs - expected:
                self.error(f"output {min(outputs - expected)} has no `expect`")
            if not outputs and not case.expects_nothing:
                self.error("a program without outputs needs `expect nothing`")
        if case.kind in ("reject", "fail") and (expected or case.expects_nothing):
            self.error(f"a case of kind {case.kind} has no results to expect")
        if case.kind == "accept" and case.found:
            self.error("`found` belongs to a diagnostic, and an accepted case has none")


@functools.cache
def read(path):
    """The cases of a file and None, or none and what is wrong with it."""
    try:
        return Reader(path).cases(), None
    except TestFileError as error:
        return [], error
