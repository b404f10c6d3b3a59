"""Training throughput in samples per second (Figure A2)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from ngo.common.fields import choice, whole, within
from ngo.common.lazy import Table, pd, torch
from ngo.common.registries import METHODS
from ngo.data import loading
from ngo.data.dataset import Dataset
from ngo.measures.measurement import measurement
from ngo.native.threads import cores, one_intra_op_thread
from ngo.training.spec import RunSpec


@dataclass(frozen=True)
class ThroughputOptions:
    """Options of ``throughput_table``."""

    method: tuple[str, ...] = choice("method", ("gossip", "ngo"), METHODS)
    workers: tuple[int, ...] = whole("number of workers n", (1, 2, 4, 8), within(1, 2000))
    steps: int = whole("training steps per measurement", 20, within(1, 1_000_000))
    repeats: int = whole("measurements of each case", 5, within(1, 10_000))


@measurement(
    "throughput",
    ThroughputOptions,
    run_fields=("dataset", "model", "task", "topology", "gamma", "p", "lr", "batch_size"),
    exclusive=True,
    columns=("device", "cores", "repeat", "seconds", "samples_per_second", "train_samples"),
)
def throughput_table(
    options: ThroughputOptions,
    make_run: Callable[..., RunSpec],
    data_root: Path,
    device: str = "cpu",
) -> Table:
    r"""Measure how many samples per second n workers train on.

    A case is a --method and a number of --workers, on this machine. A step is what training does
    between evaluations: batches, gradients, SGD and consensus. Every worker has the whole data set.
    The cases take turns, --repeats times, so that other load on the machine affects all of them
    alike.

    The table has a row for each measurement of --steps steps, with the fields of the run, the
    device, the number of cores, the seconds and the samples per second.

    Compare NGO with DSGD, with four and with sixteen workers:
      ngo throughput --dataset digits --method ngo --method dsgd --workers 4 \
        --workers 16 --repeats 2 --out throughput.parquet
    """
    specs = [make_run(method=name, workers=max(2, *options.workers)) for name in options.method]

    steps = options.steps
    rows = []
    with one_intra_op_thread():
        data = loading.load(specs[0].dataset, data_root, device)  # that of all methods
        cases = [(spec, n, _trainer(spec, n, data)) for spec, n in product(specs, options.workers)]
        for _, _, step in cases:
            step()  # the first step allocates
        for repeat in range(options.repeats):
            for spec, n, step in cases:
                start = _clock(device)
                for _ in range(steps):
                    step()
                seconds = _clock(device) - start
                fields = ("dataset", "model", "topology", "batch_size")
                row = {name: getattr(spec, name) for name in fields}
                row |= {"train_samples": len(data.train_inputs), "seed": spec.seed}
                row |= {"device": device, "cores": cores(), "method": spec.method, "workers": n}
                row |= {"repeat": repeat, "steps": steps, "seconds": seconds}
                rows.append(row | {"samples_per_second": steps * n * spec.batch_size / seconds})
    return pd.DataFrame(rows)


def _clock(device: str) -> float:
    """The time in seconds, after the GPU has finished its work."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _trainer(spec: RunSpec, n: int, data: Dataset) -> Callable[[], object]:
    """A function that takes one training step with ``n`` workers; each has the whole data set."""
    from ngo.training.learning_problem import make_problem
    from ngo.training.stepper import Stepper

    spec = replace(spec, workers=n)
    everything = np.arange(len(data.train_inputs))
    problem = make_problem(spec, data, [everything] * n)
    return Stepper(spec, problem, steps=1).advance
