"""What a command line says about kernels in Python. The options are declared in the C++ program, with their help."""

from kiln.commands.named_function import nki_kernel


class Options:
    """The options of a request, under the names that commands use."""

    def __init__(self, request):
        given = request.options

        def one(name, default=None):
            return given[name][-1] if name in given else default

        self.files = given.get("FILE", [])
        self.kernel, self.compare_kernel = one("kernel"), one("compare-kernel")
        self.arguments = given.get("arg", [])
        self.dtype, self.record = one("dtype", "float32"), one("record")
        self.lnc = int(one("lnc", 0)) or None
        self.target, self.json = one("target"), "json" in given
        self.strict_order = "strict-order" in given
        self.compare = one("compare")
        self.ranks = one("ranks")
        self.source_roots = given.get("source-root", [])
        self.out, self.main, self.roll = one("out"), "main" in given, one("roll", "true") != "false"
        named = nki_kernel(self.files[0]) if len(self.files) == 1 and not self.kernel else None
        if named:
            self.files, self.kernel = [named[0]], named[1]
