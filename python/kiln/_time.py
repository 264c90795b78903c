"""kiln.time: how long a kernel takes on the chip, and why."""

import html
import json
import numbers
import os

from kiln import _kiln
from kiln._files import write_aside
from kiln._program import plain
from kiln._trace import env, on_ranks, rules, simulate, specs
from kiln._trace.errors import refuse

_LIMIT = 10_000_000


class Timing:
    """The predicted time of a kernel with its error band. `print` shows the report; in a notebook it shows the page."""

    def __init__(self, native):
        self._native = native

    @property
    def latency_us(self):
        """The prediction, in microseconds."""
        return self._native.total_ns / 1000

    @property
    def band_us(self):
        """(low, high): where the measured value is expected in four of five cases."""
        return self._native.low_ns / 1000, self._native.high_ns / 1000

    @property
    def bottleneck(self):
        """The engine that is busy longest."""
        return self._native.bottleneck

    @property
    def target(self):
        return self._native.target

    def report(self, lines=10):
        """The report as text, with so many lines of the critical path and of the source."""
        if isinstance(lines, bool) or not isinstance(lines, int) or not 0 <= lines < 2**31:
            refuse(rules.ARGUMENT_KIND, f"report({lines!r})", "pass how many lines: 0, 1, 2, ...")
        return self._native.text(lines)

    def as_dict(self):
        """The report as JSON has it; docs/time-command.md lists the keys."""
        return json.loads(self._native.json())

    def html(self):
        """One page that needs no network: timeline, source with time per line, memory, roofline, advice."""
        sources = {}
        for name in set(self._native.files):
            if os.path.isfile(name):
                with open(name, errors="replace") as file:
                    sources[name] = file.read()
        return self._native.html(sources)

    def save_html(self, path):
        write_aside(path, self.html())

    def save_trace(self, path):
        """A trace that ui.perfetto.dev opens."""
        write_aside(path, self._native.perfetto())

    def compare(self, other, titles=("this", "other")):
        """Both reports side by side, as text."""
        if not isinstance(other, Timing):
            raise TypeError(f"a Timing is compared with a Timing, not with {other!r}")
        if not isinstance(titles, (tuple, list)) or [type(t) for t in titles] != [str, str]:
            refuse(rules.ARGUMENT_KIND, f"titles={titles!r}", "pass two strings")
        return _kiln.compare_timings([(titles[0], self._native), (titles[1], other._native)])

    def __str__(self):
        return self.report()

    def __repr__(self):
        low, high = self.band_us
        return (f"<Timing {self.latency_us:.2f} us ({low:.2f} to {high:.2f}) on {self.target}, "
                f"bound by {self.bottleneck}>")

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self.html())}" style="width:100%;height:700px;border:0"></iframe>'


class Latency:
    """What a benchmark would measure: the predicted latency and its band, in microseconds."""

    def __init__(self, timing):
        native = timing._native
        scale = native.benchmark_latency_ns / native.total_ns if native.total_ns else 1
        self.timing = timing
        self.latency_us = native.benchmark_latency_ns / 1000
        self.low_us, self.high_us = (t * scale for t in timing.band_us)

    def get_latency_percentile(self, percentile):
        """The model has no jitter: 50 is the prediction, 0 and 100 are the ends of the band, linear in between."""
        if not isinstance(percentile, numbers.Real) or not 0 <= percentile <= 100:
            raise ValueError(f"a percentile is between 0 and 100, not {percentile}")
        side = (self.latency_us - self.low_us if percentile < 50 else self.high_us - self.latency_us)
        return self.latency_us + side * (percentile - 50) / 50

    def __float__(self):
        return self.latency_us

    def __repr__(self):
        return f"<Latency {self.latency_us:.2f} us ({self.low_us:.2f} to {self.high_us:.2f}), predicted>"


def _average_trips(cores, programs):
    """How often the dynamic loops run, measured by running the kernel on copies of its arguments."""
    report = simulate.measure(cores, programs)
    return {name: round(total / entries) if entries else 0 for name, (entries, total) in report.loops.items()}


def checked_trips(given):
    """The trip counts as the native half takes them."""
    counts = {} if given is None else given
    if not isinstance(counts, dict) or not all(isinstance(k, str) and _is_count(v) for k, v in counts.items()):
        refuse(rules.ARGUMENT_KIND, f"trip_counts={given!r}", "pass {name of a loop or of its register: passes}")
    return {k.encode(errors="backslashreplace").decode(): int(v) for k, v in counts.items()}


def _is_count(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _check(programs, spill):
    """As check, but with spills too little memory is no error."""
    if not spill:
        return simulate.check_all(programs)
    for program in programs:
        report = program.check(env.reserved_psum_banks())
        if any(d.severity == "error" and not _kiln.spilling_helps(d) for d in report.diagnostics):
            report.raise_if_failed()


def _shape(value):
    """A Spec for a shape; arrays stay, because their values may decide how often loops run."""
    if isinstance(value, on_ranks.PerRank):
        return on_ranks.PerRank(map(_shape, value.values))
    return specs.of_value(value) if isinstance(value, str) else value


def _has_shape(call):
    args, kwargs = call
    return any(map(specs.has_shape, [*args, *kwargs.values()]))


def time(kernel, *, trip_counts=None, what_if=(), reorder=None, advice=True, limit=_LIMIT, without=(), as_written=False,
         disable_dge=False, spill=False, ranks=None, topology=None):
    """A callable that times a kernel: kiln.time(kernel)(*args) returns a Timing. Arguments are arrays or shapes such as
    "float32[128,512]". Loops on registers take their trip counts from `trip_counts` ({name: n}); with arrays they are
    measured by running the kernel. what_if: ("dma_bandwidth=2x", ...). reorder: whether each engine's instructions are
    reordered as the vendor's compiler may; None: unless the kernel executes more than 300,000. limit: how many
    instructions of loops may be simulated one by one, where their passes are not alike. without: passes of the
    vendor's compiler to leave out ("hoist", ...); as_written leaves out all. disable_dge: as its option
    --disable-dge. spill: times a kernel whose tiles do not fit, with those that do not waiting in HBM. ranks: so many
    meet in collectives, with arguments that may be kiln.per_rank([...]); topology: what joins them
    ("trn2-ultraserver"; `kiln time --topology list` names all)."""
    function, lnc = plain(kernel)
    counts = checked_trips(trip_counts)
    what_if = [what_if] if isinstance(what_if, str) else list(what_if)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise TypeError(f"limit is a number of instructions, not {limit!r}")
    if not all(isinstance(text, str) for text in what_if):
        raise TypeError(f"what_if is a text such as 'dma_bandwidth=2x' or several, not {what_if!r}")
    without = [without] if isinstance(without, str) else list(without)
    if not all(isinstance(text, str) for text in without):
        raise TypeError(f"without is the name of a pass such as 'hoist' or several, not {without!r}")

    if topology is not None and not isinstance(topology, str):
        raise TypeError(f"topology is a name such as 'trn2.48xlarge', not {topology!r}")
    if ranks is not None:
        env.require_ranks(ranks, f"ranks={ranks!r}")

    def timed(*args, **kwargs):
        args, kwargs = [_shape(v) for v in args], {k: _shape(v) for k, v in kwargs.items()}
        calls, kinds = on_ranks.kinds_of_calls(ranks or 1, args, kwargs)
        traced = [simulate.trace_cores(function, lnc, *call, getattr(kernel, "schedule", ())) for call in calls]
        of_kind = [[core.program() for core in cores] for cores in traced]
        programs = [program for own in of_kind for program in own]
        _check(programs, spill)
        trips = dict(counts)
        if not trips and not any(map(_has_shape, calls)) and any(p.device_loops for p in programs):
            trips = _average_trips(traced[0], of_kind[0])
        of_rank = [kind * len(of_kind[0]) for kind in kinds] if ranks else []
        return Timing(_kiln.time_programs(programs, trips, what_if, reorder, advice, limit, env.max_memory(), without,
                                          bool(as_written), bool(disable_dge), bool(spill), of_rank, topology or "",
                                          take=True))

    return timed


profile = time


def benchmark(kernel, **options):
    """A callable like the vendor's benchmark: kiln.benchmark(kernel)(*args) returns the predicted Latency with its
    band."""
    timed = time(kernel, advice=False, **options)
    return lambda *args, **kwargs: Latency(timed(*args, **kwargs))
