"""Times of calls that take turns, so that a busy machine disturbs them alike."""


def best_times(calls, rounds, seconds):
    """The best of several rounds, each of all calls; `seconds` measures one."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            times[name] = min(times[name], seconds(call))
    return times


def ratios(times, bars):
    """"a / b" of the bars whose two are among the times."""
    pairs = {name: name.split(" / ") for name in bars}
    return {name: times[a] / times[b] for name, (a, b) in pairs.items() if a in times and b in times}
