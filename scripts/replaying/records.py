"""Records: a title and lines of text. A file of records has what was said about one source file."""

import hashlib
import json

MARK = "=== "


def write(path, records):
    """`records`: [(title, text)]"""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = []
    for title, text in records:
        body = "".join(f" {line}\n" if line.startswith(MARK) else f"{line}\n" for line in text.rstrip("\n").split("\n"))
        parts.append(f"{MARK}{title}\n{body}\n")
    path.write_text("".join(parts))


def read(path):
    """{title: text}"""
    records, lines = {}, []
    for line in path.read_text().split("\n"):
        if line.startswith(MARK):
            lines = records[line[len(MARK):]] = []
        else:
            lines.append(line)
    return {title: "\n".join(body).rstrip("\n") for title, body in records.items()}


def digest(data):
    data = data.encode() if isinstance(data, str) else data
    return hashlib.sha256(data).hexdigest()[:24]


def array_line(name, array):
    """An array's dtype, shape and the digest of its bytes."""
    return f"{name}: {array.dtype}{list(array.shape)} {digest(array.tobytes())}"


def _is_empty(value):
    return value in (None, "", [], {}) or (type(value) in (int, float) and value == 0)


def _leaves(value, path):
    """(path, value) of what has no parts."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        for i, part in enumerate(value):
            yield from _leaves(part, f"{path}[{i}]")
    else:
        yield path, value


def flat(value):
    """JSON with one line for each value. Of zeros and empty values there is only a digest of their names."""
    leaves = list(_leaves(value, ""))
    lines = [f"{path} = {json.dumps(v, ensure_ascii=False)}" for path, v in leaves if not _is_empty(v)]
    empty = [(path, v) for path, v in leaves if _is_empty(v)]
    return "\n".join(lines + ([f"{len(empty)} empty values: {digest(repr(empty))}"] if empty else []))


def flat_text(text):
    """The same for JSON that a program printed; a text that is none as it is."""
    try:
        return flat(json.loads(text))
    except ValueError:
        return text
