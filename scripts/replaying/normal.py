"""What depends on the place, the moment or the machine is taken out of a text, here and nowhere else."""

import re
import tempfile

PREFIX = "kiln_replay_"

_RULES = [
    # Files lie in temporary folders, whose names all have one length, so that tables stay aligned.
    (re.compile(rf"[^\s\"'`(<>]*/{PREFIX}\w{{8}}/?"), ""),
    # A source of ours is its base name, so that it may move to another folder. Lines of C++ move with what is included
    # above them.
    (re.compile(r"(?:[\w.+-]*/)+([\w-]+\.(?:cpp|h|def|py|kiln)\b)"), r"\1"),
    (re.compile(r"\b(\w+\.(?:cpp|h)):\d+(?:, \d+)*"), r"\1:*"),
    # Where this program stands in it, as the caller of a kernel.
    (re.compile(r'(python_calls\.py"?):\d+'), r"\1:*"),
    # Elapsed time, and addresses.
    (re.compile(r'("seconds": )[\d.e+-]+'), r"\g<1>0"),
    (re.compile(r"\b(instructions in|that took) [\d.]+ m?s\b"), r"\1 * s"),
    (re.compile(r"\b0x[0-9a-f]{8,}\b"), "0x*"),
]


def folder():
    """A temporary folder whose name normal() takes out; a context manager."""
    return tempfile.TemporaryDirectory(prefix=PREFIX)


def normal(text):
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text


def normal_page(text):
    """The same for a page, wherever the lines of its style and script end."""
    return normal(" ".join(text.split()))


def normal_bytes(data):
    """The same for a file that is not all text."""
    return normal(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")


_FRAME = re.compile(r"\n *= called from: .*(?:/site-packages/|\.\.\. and).*")
_TEST_LINE = [(re.compile(r"\b(\w+\.py):\d+"), r"\1:*"), (re.compile(r"^ *\d+ \|", re.M), "* |"),
              (re.compile(r"^ +(-->|[=|])", re.M), r"\1")]


def without_test_lines(text):
    """A diagnostic about a kernel inside a test: the test is edited, and what runs it calls it through many frames."""
    text = normal(_FRAME.sub("", text))
    for pattern, instead in _TEST_LINE:
        text = pattern.sub(instead, text)
    return text


_PLACE = re.compile(r'@ "([^"]+\.(?:cpp|h))":(\d+)')


def with_lines_from_the_first(program):
    """A program's text with lines of C++ counted from the first that it names, and without folders."""
    first = {}
    for file, line in _PLACE.findall(program):
        first[file] = min(int(line), first.get(file, int(line)))
    return _PLACE.sub(lambda m: f'@ "{m[1].rpartition("/")[2]}":{int(m[2]) - first[m[1]] + 1}', program)
