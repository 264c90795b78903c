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
    """How far off rows are with other constants; each program is timed once with each setting that matters to it."""

    def __init__(self, answer, metric_of):
        """answer(rows, variants): the replies of column.Workers.variants."""
        self._answer, self._metric_of = answer, metric_of
        self._known = {}  # by row and passes left out: figures by values of the constants
        self._deaf = {}  # likewise: constants that do not move the row

    def ask(self, questions):
        """questions: pairs of a row and a setting, timed in few runs."""
        missing = {}
        for row, setting in questions:
            values = self._values(row, setting)
            if values not in self._known.get((row["id"], setting[0]), {}):
                missing.setdefault(row["id"], (row, {}))[1][setting[0], values] = None
        replies = self._answer([row for row, _ in missing.values()],
                               [[_variant(s) for s in settings] for _, settings in missing.values()])
        for (row, settings), reply in zip(missing.values(), replies):
            for (without, values), parts in zip(settings, reply["variants"]):
                self._known.setdefault((row["id"], without), {})[values] = parts

    def learn(self, row, name, settings):
        """Settings that differ in one constant alone: when they come to the same, the row is not timed for it again."""
        figures = [self._parts(row, s) for s in settings]
        if name == BENCHMARK or any(f != figures[0] for f in figures):
            return
        place = row["id"], settings[0][0]
        self._deaf.setdefault(place, set()).add(name)
        self._known[place] = {tuple(v for v in values if v[0] != name): parts
                              for values, parts in self._known[place].items()}

    def _values(self, row, setting):
        """What of a setting the model is told for a row."""
        deaf = self._deaf.get((row["id"], setting[0]), ())
        return tuple((k, v) for k, v in setting[1] if k != BENCHMARK and k not in deaf)

    def _parts(self, row, setting):
        return self._known[row["id"], setting[0]][self._values(row, setting)]

    def error(self, row, setting):
        """predicted / measured - 1"""
        parts, added = self._parts(row, setting), dict(setting[1]).get(BENCHMARK)
        if added is not None:
            parts = [p | {"benchmark_ns": p["total_ns"] + float(added)} for p in parts]
        return column.predicted(row, parts, self._metric_of) / float(row["measured_ns"]) - 1

    def cost(self, rows, setting):
        """How far off the rows are; a repository with many of them counts as one with few."""
        off = {}
        for row in rows:
            off.setdefault(row["repository"], []).append(abs(math.log1p(self.error(row, setting))))
        return statistics.mean(statistics.mean(group) for group in off.values()) if off else 0


def _variant(setting):
    return {"without": list(setting[0]), "what_if": [f"{k}={v}" for k, v in setting[1]]}


def refit(folds, rows, model):
    """Sets the values of each fold, constant by constant, to those that serve the other repositories best."""
    for turn in range(ROUNDS * max(len(f.constants) for f in folds)):
        trials = [Trial(f, f.constants[turn % len(f.constants)], rows) for f in folds if f.constants]
        model.ask([(r, s) for t in trials for r in t.rows for s in t.extremes()])
        for trial in trials:
            for row in trial.rows:
                model.learn(row, trial.constant.name, trial.extremes())
        model.ask([(r, s) for t in trials for r in t.rows for s in t.settings.values()])
        for trial in trials:
            trial.choose(model)


class Trial:
    """Values of one constant, tried on what a fold learns from."""

    def __init__(self, fold, constant, rows):
        self.fold, self.constant, self.rows = fold, constant, [r for r in rows if fold.learns_from(r)]
        values = dict.fromkeys((fold.values[constant.name], *constant.values))
        self.settings = {v: fold.setting(**{constant.name: v}) for v in values}

    def extremes(self):
        return [self.settings[v] for v in (min(self.settings, key=float), max(self.settings, key=float))]

    def choose(self, model):
        """The best value, unless it is hardly better than the one that is there."""
        costs = {value: model.cost(self.rows, setting) for value, setting in self.settings.items()}
        best, name = min(costs, key=costs.get), self.constant.name
        if costs[best] < (1 - GAIN) * costs[self.fold.values[name]]:
            self.fold.values[name] = best
