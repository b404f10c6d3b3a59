"""Jobs: what the workflow starts in order to train.

A combination has all values of a run but the seed. A job trains one combination with all its seeds,
or several combinations that take seconds. Which ones share a job follows from their hashes, not
from their order or seeds: a new seed renames no job, and a new combination hardly any.

A job's file lists its runs, with the numbers and libraries that decide their results. The hash of
the file is the job's key. ``ngo train --job`` trains what is missing
(``ngo.pipeline.job_training``).

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ngo.common import versions
from ngo.common.files import hashed
from ngo.common.registries import DATASETS, METHODS
from ngo.data.description import identity
from ngo.pipeline.paths import job_table, partition_file
from ngo.pipeline.plan import Plan
from ngo.training.evaluation import evaluation_steps
from ngo.training.results_version import results_version, version_of
from ngo.training.spec import RunSpec
from verdicts.registry import UserError

#: The numbers of an image of MNIST.
MNIST = 28 * 28

# Test samples of a data set: as many as MNIST and CIFAR-10 have.
TEST_SAMPLES = 10_000


def cost(spec: RunSpec) -> float:
    """The approximate cost of a run without divergence: numbers of its inputs, in samples of MNIST.

    Evaluating an image counts a third of training on it. The first evaluation has one model, since
    all workers agree.
    """
    source = DATASETS[spec.dataset]
    m = source.train_samples
    steps = spec.steps(owned := spec.owned_of(m))
    evaluations = len(evaluation_steps(spec, owned))
    part = min(spec.eval_images or TEST_SAMPLES, TEST_SAMPLES)
    images = part + ((evaluations - 2) * part + TEST_SAMPLES) * models(spec)
    images += evaluations * (m - spec.kept(m))
    size = math.prod(source.input_shape) / MNIST
    return (steps * spec.per_step + images / 3) * size


def models(spec: RunSpec) -> int:
    """The number of models in an evaluation: the evaluated workers, and the mean of all."""
    differ = METHODS[spec.method].decentralized or (spec.local_steps or 1) > 1
    return spec.evaluated + 1 if differ else 1


#: What combinations of one job cost together, at most, for one seed (see ``cost``).
LIMIT = 1_000_000

#: The most jobs of a tier, about: above it, the limit is doubled.
MOST = 200


@dataclass(frozen=True)
class Combination:
    """The runs that differ in their seed alone."""

    runs: tuple[RunSpec, ...]

    @cached_property
    def name(self) -> str:
        """For example ``mnist-shards-ring-ngo-p0.9-1f3a9c2e``."""
        *parts, _, digest = replace(self.runs[0], seed=0).id.split("-")
        return "-".join([*parts, digest])

    @cached_property
    def bits(self) -> str:
        """The 32 bits of its hash."""
        return f"{int(self.name[-8:], 16):032b}"

    @cached_property
    def cost(self) -> float:
        """The cost of one seed."""
        return cost(self.runs[0])


#: An experiment and a setting with all of their combinations, and a name with some of them.
Group = tuple[str, str, list[Combination]]
Part = tuple[str, Sequence[Combination]]


class JobFile:
    """A file that the workflow writes before it starts a job, and the job reads."""

    content: Mapping[str, object]
    #: The path of what the job makes.
    table: str

    @property
    def file(self) -> str:
        """Its path, beside what the job makes."""
        return str(Path(self.table).with_suffix(".json"))

    @cached_property
    def text(self) -> str:
        """Its text, with the versions of the libraries."""
        content = {**self.content, "made_with": dict(versions.installed())}
        return json.dumps(content, sort_keys=True, indent=1) + "\n"

    @cached_property
    def key(self) -> str:
        """16 hex digits that change when anything of it is to be made again, or is new."""
        return hashed(self.text)


@dataclass(frozen=True)
class Job(JobFile):
    """Some runs of one experiment in one setting, which one process trains in turn."""

    name: str
    #: The path of the tidy table of its runs.
    table: str
    setting: str
    combinations: tuple[Combination, ...]
    #: The steps after which a run's models are kept, by the run's id.
    snapshots: Mapping[str, Sequence[int | str]]

    @property
    def runs(self) -> list[RunSpec]:
        """The runs, seed after seed of each combination."""
        return [spec for combination in self.combinations for spec in combination.runs]

    @property
    def cost(self) -> float:
        """The cost of all runs."""
        return sum(combination.cost * len(combination.runs) for combination in self.combinations)

    def memory(self, resources: Mapping) -> int:
        """The requested memory in MB, by the config's ``resources.train``."""
        by_dataset = resources.get("mem_mb_of", {})
        return max(by_dataset.get(spec.dataset, resources["mem_mb"]) for spec in self.runs)

    def minutes(self, resources: Mapping) -> int:
        """The requested time in minutes: that of one run times the number of runs."""
        return int(resources["runtime"]) * len(self.runs)

    @property
    def content(self) -> dict[str, object]:
        """The content of its file."""
        combinations = [
            {
                "values": {k: v for k, v in combination.runs[0].values().items() if k != "seed"},
                "seeds": [spec.seed for spec in combination.runs],
                "version": results_version(combination.runs[0]),
                "data": identity(combination.runs[0].dataset),
            }
            for combination in self.combinations
        ]
        return {"combinations": combinations, "snapshots": self.snapshots}


@dataclass(frozen=True)
class Drawing(JobFile):
    """The partitions of a setting, which one process draws into one file."""

    table: str
    specs: tuple[RunSpec, ...]

    @property
    def datasets(self) -> list[str]:
        """The data sets that are divided."""
        return sorted({spec.dataset for spec in self.specs})

    @property
    def content(self) -> dict[str, object]:
        """The content of its file."""
        return {
            "partitions": [spec.partition_fields for spec in self.specs],
            "versions": [version_of(spec.partition_fields) for spec in self.specs],
            "data": sorted({str(identity(spec.dataset)) for spec in self.specs}),
        }


def jobs(plan: Plan) -> dict[str, list[Job]]:
    """The jobs of each experiment of a plan.

    Raises a UserError for a setting that is named like a part of another.
    """
    made: dict[str, list[Job]] = {name: [] for name in plan.training}
    for experiment, setting, (part, combinations) in _cuts(list(_groups(plan)), LIMIT):
        whole = "-".join(filter(None, [experiment, setting, part]))
        for name, block in _blocks(whole, combinations, plan.config.get("seeds_per_job")):
            ids = {spec.id for combination in block for spec in combination.runs}
            kept = {run: steps for run, steps in plan.snapshots.items() if run in ids}
            made[experiment].append(Job(name, job_table(plan.tier, name), setting, block, kept))
    names = Counter(job.name for group in made.values() for job in group)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UserError(f"settings: two jobs have the name {twice[0]!r}; rename a setting.")
    return made


def drawings(plan: Plan) -> dict[str, Drawing]:
    """The drawing of partitions of each setting of a plan."""
    return {
        setting: Drawing(partition_file(plan.tier, setting), tuple(specs[k] for k in sorted(specs)))
        for setting, specs in plan.drawn.items()
    }


def _groups(plan: Plan) -> Iterator[Group]:
    """The combinations of each experiment in each of its settings."""
    for experiment, specs in plan.training.items():
        by_setting: dict[str, dict[RunSpec, list[RunSpec]]] = {}
        for spec in sorted(specs, key=lambda spec: spec.seed):
            runs = by_setting.setdefault(plan.settings[spec.id], {})
            runs.setdefault(replace(spec, seed=0), []).append(spec)
        for setting, runs in by_setting.items():
            yield experiment, setting, [Combination(tuple(seeds)) for seeds in runs.values()]


def _cuts(groups: list[Group], limit: float) -> list[tuple[str, str, Part]]:
    """The parts of all groups; the limit is doubled where there are too many."""
    cuts = [(*of, part) for *of, combinations in groups for part in _cut(combinations, limit)]
    return cuts if len(cuts) <= max(MOST, len(groups)) else _cuts(groups, 2 * limit)


def _cut(combinations: list[Combination], limit: float) -> Iterator[Part]:
    """Parts below the limit, each with its name: a combination's, or the bits of hashes."""
    for combination in combinations:
        if combination.cost > limit:
            yield combination.name, (combination,)
    waiting = [("", [combination for combination in combinations if combination.cost <= limit])]
    while waiting:
        bits, part = waiting.pop()
        if len(part) > 1 and sum(combination.cost for combination in part) > limit:
            for bit in "01":
                half = [combination for combination in part if combination.bits[len(bits)] == bit]
                waiting.append((bits + bit, half))
        elif part:
            yield bits, tuple(sorted(part, key=lambda combination: combination.name))


def _blocks(name: str, combinations: Sequence[Combination], size: int | None) -> Iterator[Part]:
    """The part of a cut, or its blocks of ``size`` seeds, named by their numbers."""
    if size is None:
        yield name, combinations
        return
    seeds = sorted({spec.seed for combination in combinations for spec in combination.runs})
    for start in range(0, len(seeds), size):
        block = set(seeds[start : start + size])
        kept = (tuple(spec for spec in c.runs if spec.seed in block) for c in combinations)
        yield f"{name}-seeds{start // size}", tuple(Combination(runs) for runs in kept if runs)
