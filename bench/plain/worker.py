"""Reads rows as JSON lines, times their sources, prints a JSON line each. A row that fails says why."""

import json
import logging
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
warnings.simplefilter("ignore")
logging.OFF = logging.NOTSET  # a published source asks for it

import time_row  # noqa: E402


def main():
    folder = sys.argv[1]
    for line in sys.stdin:
        row = json.loads(line)
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = row["target"]
        try:
            answer = time_row.time_row(folder, row, row.get("options", {}), row.get("variants", ()))
        except Exception as error:  # a source that cannot be timed is a figure as well
            text = " ".join(str(error).split())
            answer = {"problem": f"{type(error).__name__}: {text}"[:600]}
        print(json.dumps({"id": row["id"]} | answer), flush=True)


if __name__ == "__main__":
    main()
