"""How much work a run is, computed from its values.

Light: the workflow imports this module at every start, so it imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ngo.data.dataset import DATASETS
from ngo.gossip.method import METHODS
from ngo.training.spec import RunSpec

#: The numbers of an image of MNIST.
MNIST = 28 * 28

# Test samples of a data set: as many as MNIST and CIFAR-10 have.
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


def work(spec: RunSpec) -> Work:
    """The work of a run that does not diverge.

    The first evaluation has one model, since all workers agree.
    """
    m = DATASETS[spec.dataset].train_samples
    steps = spec.steps(owned := spec.owned_of(m))
    evaluations = evaluation_count(spec, owned)
    part = min(spec.eval_images or TEST_SAMPLES, TEST_SAMPLES)
    images = part + ((evaluations - 2) * part + TEST_SAMPLES) * models(spec)
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
