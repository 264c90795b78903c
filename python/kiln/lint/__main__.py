"""`python -m kiln.lint FILE...`: exit code 0 fine, 1 a rule is broken, 2 a file cannot be read."""

import argparse
import sys

from . import NEWEST, PROFILES, as_json, as_text, check_file


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m kiln.lint", description="Checks the Python of kernels.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--profile", choices=PROFILES, action="append", help="only this front end")
    parser.add_argument("--api-version", default=NEWEST, help=f"version of NKI, {NEWEST} unless given")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    profiles = tuple(options.profile or PROFILES)
    each = [check_file(file, None, profiles, options.api_version) for file in options.files]
    findings = list(dict.fromkeys(one for some in each for one in some))  # files may share helpers
    sys.stdout.write(as_json(findings) + "\n" if options.json else as_text(findings))
    if any(finding.rule == "language.R1" for finding in findings):
        return 2
    return int(any(finding.severity == "error" for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
