"""print_programs.py FOLDER: as JSON, the programs of FOLDER/<case>/*.kiln as they are printed, with what a check says
of their memory. Runs with the package of the tree that is asked."""

import json
import pathlib
import sys

from kiln import _kiln  # no public name reads text


def printed(file):
    try:
        program = _kiln.parse_program(file.read_text(), file.name)
    except Exception as error:
        return f"no program: {error}"
    report = program.check()
    uses = "".join(f"\n{memory}: {getattr(report, memory)}" for memory in ("sbuf", "psum") if report.ok)
    return f"{program.text()}{program.instructions_by_engine if report.ok else 'not legal'}{uses}"


def main(root):
    json.dump({case.name: "\n".join(printed(f) for f in sorted(case.glob("*.kiln"), reverse=True))
               for case in sorted(root.iterdir()) if case.is_dir()}, sys.stdout)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
