"""nki.builtin: older simulators put what the language needs beside Python's builtins here; Kiln needs nothing there."""
