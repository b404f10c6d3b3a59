"""How much work a run is, computed from its values.

Light: the workflow imports this module at every start, so it imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ngo.data.dataset import DATASETS
from ngo.gossip.method import METHODS
from ngo.pipeline.grid import training_runs
from ngo.pipeline.left_out import without_left_out
from ngo.pipeline.universes import PREFIX, sampled_runs
from ngo.training.earlier import METRICS, record_of
from ngo.training.spec import RunSpec

MNIST = 28 * 28
"""The numbers of an image of MNIST."""

# Test samples of a data set of which no run has been recorded: as many as MNIST and CIFAR-10 have.
TEST_SAMPLES = 10_000


@dataclass(frozen=True)
class Work:
    """What a run computes."""

    steps: int
    #: Training samples, of all workers and steps.
    samples: int
    evaluations: int
    #: Forward passes of evaluations: samples of all evaluations and models.
    images: int


@dataclass(frozen=True)
class Recorded:
    """What the record of a finished run says of its time."""

    #: From the first step to the last evaluation; without start-up and files.
    seconds: float
    #: Of these seconds, those in evaluations.
    evaluating: float
    #: The last step, which is earlier than planned if the run diverged.
    steps: int
    #: The fingerprint of the code that trained it.
    code: str
    test_samples: int


def work(spec: RunSpec, test_samples: int = TEST_SAMPLES, train_samples: int | None = None) -> Work:
    """The work of a run that does not diverge.

    ``train_samples`` is the size of the training set, by default the one that the data set states.
    The first evaluation has one model, since all workers agree.
    """
    m = DATASETS[spec.dataset].train_samples if train_samples is None else train_samples
    steps = spec.steps(owned := spec.owned_of(m))
    evaluations = evaluation_count(spec, owned)
    part = min(spec.eval_images or test_samples, test_samples)
    images = part + ((evaluations - 2) * part + test_samples) * models(spec)
    held = evaluations * (m - spec.kept(m))
    return Work(steps, steps * spec.per_step(owned), evaluations, images + held)


def cost(spec: RunSpec) -> float:
    """What a run costs, about: numbers of the inputs that it trains on, in samples of MNIST.

    An image that is evaluated counts a third of one that is trained on.
    """
    done = work(spec)
    size = math.prod(DATASETS[spec.dataset].input_shape) / MNIST
    return (done.samples + done.images / 3) * size


def models(spec: RunSpec) -> int:
    """How many models an evaluation has: those of the evaluated workers, and the mean of all."""
    differ = METHODS[spec.method].decentralized or (spec.local_steps or 1) > 1
    return spec.evaluated + 1 if differ else 1


def requested_memory(resources: Mapping, dataset: str) -> int:
    """The memory in MB that a run on a data set requests, by the config's ``resources.train``."""
    return resources.get("mem_mb_of", {}).get(dataset, resources["mem_mb"])


def evaluation_count(spec: RunSpec, owned: int) -> int:
    """How often a run is evaluated (see ``training.evaluation.evaluation_steps``)."""
    steps = spec.steps(owned)
    apart = spec.eval_every * owned / spec.per_step(owned)
    return min(steps, max(1, math.ceil((steps - 0.5) / apart))) + 1


def runs_by_setting(config: Mapping) -> Iterator[tuple[str, str, list[RunSpec]]]:
    """The runs of each experiment in each of its settings, as (experiment, setting, runs).

    A run that several experiments share is listed with the first of them alone.
    """
    seen: set[str] = set()
    config = without_left_out(config)
    for name, entry in config["training"].items():
        for setting in entry["settings"]:
            one = {**entry, "settings": [setting]}
            if isinstance(seeds := entry.get("seeds"), Mapping):
                one["seeds"] = {key: seeds[key] for key in seeds if key == setting}
            runs = training_runs(f"training.{name}", config, one)
            new = {spec.id: spec for spec in runs if spec.id not in seen}
            seen.update(new)
            yield name, setting, list(new.values())
    for name, entry in config.get("universes", {}).items():
        for setting in entry["settings"]:
            runs, _ = sampled_runs(name, config, {**entry, "settings": [setting]})
            new = {spec.id: spec for spec in runs if spec.id not in seen}
            seen.update(new)
            yield PREFIX + name, setting, list(new.values())


def recorded(run: str, results: Path) -> Recorded | None:
    """The record of a run's time in ``results/runs``; None if it has not finished."""
    folder = results / "runs" / run
    record = record_of(folder) if (folder / METRICS).exists() else {}
    try:
        return Recorded(
            seconds=float(record["evaluation_seconds"][-1]),
            evaluating=float(record["seconds_evaluating"]),
            steps=int(record["final"]["step"]),
            code=record["about"]["code"],
            test_samples=int(record["about"]["test_samples"]),
        )
    except (ValueError, LookupError, TypeError):
        return None  # damaged, or of another version, or of a distributed run
