"""Constants of the model that kernels have given, fitted once more without a repository: on the rows of all others.
fitted.csv has them in their order, with the value to begin with, which no measured kernel gave, and those that are
tried. Constants that a repository's traces give are fitted where that repository is left out, and known elsewhere."""

import csv
import dataclasses
import math
import pathlib
import statistics

import column

ROUNDS = 2
GAIN = 0.01  # of the error: another value has to be better by so much
BENCHMARK = "benchmark"  # is added to what the model says, and is no constant of it


@dataclasses.dataclass(frozen=True)
class Constant:
    name: str
    target: str
    traced_by: str  # the repository whose traces give it; empty: none does
    first: str
    values: tuple

    def is_unknown_without(self, repository):
        return self.traced_by in ("", repository)


@dataclasses.dataclass
class Fold:
    """A repository on a generation: what was learned from its rows is not known."""

    repository: str
    target: str
    without: tuple  # passes
    constants: tuple
    values: dict  # of the constants

    def setting(self, **changed):
        return self.without, tuple((self.values | changed).items())

    def owns(self, row):
        return row["repository"] == self.repository and row["target"] == self.target

    def learns_from(self, row):
        return row["repository"] != self.repository and row["target"] == self.target


def constants():
    with open(pathlib.Path(__file__).with_name("fitted.csv"), newline="") as file:
        return [Constant(r["constant"], r["target"], r["traced_by"], r["first"], tuple(r["values"].split()))
                for r in csv.DictReader(file)]


def fold_of(repository, target, without):
    unknown = tuple(c for c in constants() if c.target == target and c.is_unknown_without(repository))
    return Fold(repository, target, tuple(without), unknown, {c.name: c.first for c in unknown})


def folds_of(rows, taught):
    """taught: the passes that each repository alone has shown."""
    names = dict.fromkeys((r["repository"], r["target"]) for r in rows)
    return [fold_of(name, target, taught.get(name, ())) for name, target in names]


class Model:
    """How far off rows are with other constants; each program is timed once with each setting."""

    def __init__(self, answer, metric_of):
        """answer(rows, variants): the replies of column.answers."""
        self._answer, self._metric_of, self._known = answer, metric_of, {}

    def ask(self, questions):
        """questions: pairs of a row and a setting, timed in few runs."""
        missing = {}
        for row, setting in questions:
            if (row["id"], _timed(setting)) not in self._known:
                missing.setdefault(row["id"], (row, {}))[1][_timed(setting)] = None
        groups = {}
        for row, settings in missing.values():
            groups.setdefault(tuple(settings), []).append(row)
        for settings, rows in groups.items():
            replies = self._answer(rows, [_variant(s) for s in settings])
            for row in rows:
                for setting, parts in zip(settings, replies[row["id"]]["variants"]):
                    self._known[row["id"], setting] = parts

    def error(self, row, setting):
        """predicted / measured - 1"""
        parts, added = self._known[row["id"], _timed(setting)], dict(setting[1]).get(BENCHMARK)
        if added is not None:
            parts = [p | {"benchmark_ns": p["total_ns"] + float(added)} for p in parts]
        return column.predicted(row, parts, self._metric_of) / float(row["measured_ns"]) - 1

    def cost(self, rows, setting):
        """How far off the rows are; a repository with many of them counts as one with few."""
        off = {}
        for row in rows:
            off.setdefault(row["repository"], []).append(abs(math.log1p(self.error(row, setting))))
        return statistics.mean(statistics.mean(group) for group in off.values()) if off else 0


def _timed(setting):
    """What of a setting the model is told."""
    without, values = setting
    return without, tuple((k, v) for k, v in values if k != BENCHMARK)


def _variant(setting):
    return {"without": list(setting[0]), "what_if": [f"{k}={v}" for k, v in setting[1]]}


def refit(folds, rows, model):
    """Sets the values of each fold, constant by constant, to those that serve the other repositories best."""
    most = max(len(f.constants) for f in folds)
    for turn in range(ROUNDS * most):
        trials = [(f, _tried(f, f.constants[turn % len(f.constants)])) for f in folds if f.constants]
        model.ask([(r, setting) for fold, tried in trials for setting in tried.values() for r in rows
                   if fold.learns_from(r)])
        for fold, tried in trials:
            _choose(fold, fold.constants[turn % len(fold.constants)].name, tried,
                    [r for r in rows if fold.learns_from(r)], model)


def _tried(fold, constant):
    """The setting for each value of the constant; the one that it has comes first."""
    values = dict.fromkeys((fold.values[constant.name], *constant.values))
    return {v: fold.setting(**{constant.name: v}) for v in values}


def _choose(fold, name, tried, rows, model):
    costs = {value: model.cost(rows, setting) for value, setting in tried.items()}
    best = min(costs, key=costs.get)
    if costs[best] < (1 - GAIN) * costs[fold.values[name]]:
        fold.values[name] = best
