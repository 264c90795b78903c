"""Records of published sources: what kiln.time says of the kernel of every row of bench/plain, by repository.
KILN_SOURCES names them, a folder of fetched repositories as bench/timing takes it; without it there are none."""

import csv
import json
import os

from normal import folder, normal
from records import flat


def jobs(tree):
    sources = os.environ.get("KILN_SOURCES")
    rows = [path for path in tree.files("plain/rows.csv") if path.with_name("worker.py").exists()]
    if not sources or not rows:
        return []
    groups = {}
    for row in _read(rows[0]):
        groups.setdefault(row["repository"], []).append(row)
    targets = {row["id"]: row["target"] for path in tree.files("timing_rows.csv") for row in _read(path)}
    return [(f"published/{name.replace('/', '+')}", records, (tree, rows[0].with_name("worker.py"), sources,
             [row | {"target": targets[row["id"]]} for row in group])) for name, group in groups.items()]


def _read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def records(tree, worker, sources, rows):
    with folder() as place:
        done = tree.call(tree.python, worker, os.path.abspath(sources), cwd=place,
                         input="".join(json.dumps(row) + "\n" for row in rows))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(rows):
        raise RuntimeError(f"{worker.name} answers {len(answers)} of {len(rows)} rows: {done.stderr[-2000:]}")
    return [(answer.pop("id"), tell(answer)) for answer in answers]


def tell(answer):
    for part in answer.get("parts", []):
        part.pop("seconds", None)  # of the computer
    return normal(flat(answer))
