"""The commands of `kiln` for kernels in Python: each module has `main(request)`, which returns the exit code. What may
stand on a command line is declared in cli/python_options.h; a request has been parsed."""
