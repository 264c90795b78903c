"""Records of the examples in C++: their kernels at the sizes and on the inputs of their tests, on every chip."""

import os
import pathlib
import sys

import numpy as np

import programs
from case_files import OURS, SEED
from normal import folder, normal, with_lines_from_the_first
from tree import find

TARGETS = ("trn1", "trn2", "trn3")


def jobs(tree):
    return [(f"cpp/{oracle.__name__}", records, (tree, oracle.__name__)) for oracle in tests().SIZES]


def tests():
    """This tree's tests of the examples, for every tree: they have sizes and make inputs."""
    os.environ.setdefault("KILN_BUILD_DIR", "")
    os.environ["KILN_SEED"] = str(SEED)
    path = str(find(OURS, "test_examples.py").parent)
    if path not in sys.path:
        sys.path.insert(0, path)
    import test_examples

    return test_examples


def records(tree, name):
    program = tree.program(name)
    oracle, shapes = next((o, s) for o, s in tests().SIZES.items() if o.__name__ == name)
    told = [("its own run", own_run(tree, program, name))]
    for target in TARGETS:
        for shape in shapes:
            title = f"{'x'.join(map(str, shape))} on {target}"
            told.append((title, tell(tree, program, oracle, shape, target)))
    return told


def own_run(tree, program, name):
    """What the program prints by itself."""
    with folder() as place:
        calls = [["--help"], *(["--target", t] for t in TARGETS)]
        calls += [["--demo", "--page", "page.html"]] if name == "attention" else []
        said = [(" ".join(words), programs.said(tree.call(program, *words, cwd=place))) for words in calls]
        return "".join(programs.section(title, text) for title, text in said)


def tell(tree, program, oracle, shape, target):
    inputs, outputs = oracle(np.random.default_rng([SEED, *shape]), *shape)
    with folder() as place:
        place = pathlib.Path(place)
        text = tree.call(program, "--text", "--target", target, "--sizes", *shape, cwd=place)
        if text.returncode:
            return programs.said(text)
        file, kernel = f"{oracle.__name__}.kiln", with_lines_from_the_first(text.stdout)
        (place / file).write_text(kernel)
        return "".join([programs.section("printed", normal(kernel)), programs.checked(tree, place, [file]),
                        programs.ran(tree, place, [file], inputs, list(outputs)),
                        programs.timed(tree, place, [file], kernel), programs.drawn(tree, place, [file], kernel)])
