"""Rows of the benchmark's table, and timing calls that take turns."""

import os
import statistics
import time

THREADS = len(os.sched_getaffinity(0))
PAUSE = 0.05  # seconds; threads of OpenBLAS go on spinning for a while after their work is done


class Figures:
    """Rows of the table, printed as they come."""

    def __init__(self):
        self.rows = []
        print(f"{'name':26} {'value':>12} {'limit':>14}  {'':6}  median (best) times")

    def add(self, name, value, limit, unit, note):
        at_least = unit in ("instructions/s", "gain")
        meets = value is not None and (value >= limit if at_least else value <= limit)
        self.rows.append({"name": name, "value": value, "limit": limit, "unit": unit, "meets": meets})
        shown = "-" if value is None else f"{value:,.0f}" if unit == "instructions/s" else f"{value:.2f}"
        bound = f"at least {limit:,}" if at_least else f"at most {limit}"
        print(f"{name:26} {shown:>12} {bound:>18}  {'' if meets else 'MISSES':6}  {note}", flush=True)

    def missed(self):
        return [row["name"] for row in self.rows if not row["meets"]]


def milliseconds(times):
    return f"{statistics.median(times) * 1e3:.1f} ({min(times) * 1e3:.1f}) ms"


def ratio(ours, theirs):
    """Of the best times: what else the machine does only ever adds, and adds more to work on two threads."""
    return min(ours) / min(theirs)


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def processor_and_clock(call):
    """Seconds of all threads, which other programs do not lengthen, and those that passed."""
    start, busy = time.perf_counter(), time.process_time()
    call()
    return time.process_time() - busy, time.perf_counter() - start


def take_turns(calls, rounds, measure=seconds_of):
    """A list of times per call; nobody always follows the same neighbour."""
    times = [[] for _ in calls]
    for round_number in range(rounds):
        for k in range(len(calls)):
            which = (round_number + k) % len(calls)
            time.sleep(PAUSE)
            times[which].append(measure(calls[which]))
    return times
