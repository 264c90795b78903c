"""The commands of `kiln` that take a kernel in Python: each module has `main(words)`, which returns the exit code."""
