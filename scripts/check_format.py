#!/usr/bin/env python3
"""Whether clang-format would lay out a C++ file differently; with --fix it does."""

import subprocess
import sys

from source_files import ROOT, source_files


def main():
    mode = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "-Werror"]
    return subprocess.run(["clang-format", *mode, *source_files(".cpp", ".h")], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
