"""Records of timing_rows.csv: what the model says about the kernel of every row, events included."""

import csv
import json

from normal import folder, normal
from records import flat


def jobs(tree):
    return [(f"timing/{path.name}", records, (tree, path)) for path in tree.files("timing_rows.csv")]


def records(tree, path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    asked = [(row, part.strip()) for row in rows for part in row["kernel"].split(" + ")]
    lines = "".join(f"{part} without={row['id']}\n" for row, part in asked)
    with folder() as place:
        done = tree.call(tree.program("timing_rows"), cwd=place, input=lines)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(asked):
        raise RuntimeError(f"timing_rows answers {len(answers)} of {len(asked)} lines: {done.stderr}")
    return [(f"{row['id']}: {row['metric']} of {part}", tell(answer)) for (row, part), answer in zip(asked, answers)]


def tell(answer):
    answer.pop("seconds", None)  # of the computer
    events = answer.pop("events", [])
    return normal(flat(answer)) + "\n" + "\n".join(" ".join(map(str, event)) for event in events)
