"""Records of .test files: for every case the printed program, the verdict, digests of the outputs, and the time."""

import json
import os
import pathlib
import sys

import numpy as np

import programs
from normal import folder, normal
from records import array_line, flat
from tree import find

SEED = 1
HERE = pathlib.Path(__file__).resolve().parent
OURS = HERE.parent.parent  # whose readers of .test files serve for every tree


def jobs(tree):
    return [(f"test/{path.name}", records, (tree, path)) for path in tree.files("*.test")]


def borrowed():
    """The modules of the tests that read .test files, know dtypes and drive cases: this tree's own, for every tree."""
    os.environ.setdefault("KILN_BUILD_DIR", "")  # that `runner` looks at when it is imported
    os.environ["KILN_SEED"] = str(SEED)
    folder = str(find(OURS, "case_file.py", beside="runner.py").parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import case_file
    import oracle
    import runner

    return case_file, oracle, runner


def records(tree, path):
    case_file, _, runner = borrowed()
    runner.DRIVER = tree.program("isa_driver")
    cases, error = case_file.read(path)
    if error:
        return [("not well-formed", normal(str(error)))]
    prepared = [runner.Prepared(case) for case in cases]
    with folder() as root:
        root = pathlib.Path(root)
        places = {f"{i:04}": p for i, p in enumerate(prepared) if not p.error}
        for name, p in places.items():
            p.write(root / name)
        runner.drive(root)
        printed = print_all(tree, root)
        mutants = mutate(tree, root, places)
        told = {id(p): tell(tree, p, root / name, printed[name]) for name, p in places.items()}
    return [*((p.case.title, told.get(id(p)) or f"no inputs: {p.error!r}") for p in prepared), *mutants]


def mutate(tree, root, names):
    """What a check says about operands of legal cases in other memories and dtypes, for each operand once."""
    with folder() as legal:
        for name in names:
            if json.loads((root / name / "result.json").read_text())["status"] == "ok":
                os.symlink(root / name, pathlib.Path(legal, name))
        done = tree.call(tree.program("isa_driver"), "--mutate", legal, cwd=legal)
    if done.returncode:
        raise RuntimeError(done.stderr)
    rows = json.loads(done.stdout)
    said = ["\n".join(f"{m['to']}: {' '.join(m['codes'])}" for m in row["mutants"]) for row in rows]
    return [(f"mutants of {row['instruction']}({row['param']})", text) for row, text in zip(rows, said)]


def print_all(tree, root):
    """{case: the program as it is printed}; one process for all."""
    done = tree.call(tree.python, HERE / "print_programs.py", root, cwd=root)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def tell(tree, prepared, place, printed):
    case, result = prepared.case, json.loads((place / "result.json").read_text())
    text = programs.section("printed", normal(printed)) + programs.section("verdict", verdict(result))
    outputs = [f"{t.name}" for t in case.named("output", "inout") if (place / f"out_{t.name}.npy").exists()]
    lines = [array_line(name, np.load(place / f"out_{name}.npy")) for name in outputs]
    text += programs.section("results", "\n".join(lines)) if lines else ""
    if result["status"] == "rejected":
        return text
    files = ["program.kiln"] + ["peer.kiln"] * bool(case.peer)
    text += programs.timed(tree, place, files, case.text() + case.peer_text())
    return text


def verdict(result):
    lines = [result["status"] + (f", runs differ: {result['differs']}" if result.get("differs") else "")]
    lines += [result["message"]] if result.get("message") else []
    lines += [flat(d) for d in result["diagnostics"]]
    return normal("\n".join(lines))
