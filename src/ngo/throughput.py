"""How many samples per second n workers train on (Figure A2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from ngo import datasets
from ngo.datasets import Dataset
from ngo.graphs import mixing_stream
from ngo.pool import cores, one_intra_op_thread, using
from ngo.population import Population
from ngo.protocols import PROTOCOLS
from ngo.seeding import torch_stream
from ngo.spec import RunSpec
from ngo.training import Batches, BatchStream


@one_intra_op_thread()
def throughput_table(
    specs: Sequence[RunSpec],
    workers: Sequence[int],
    steps: int,
    repeats: int,
    root: Path,
    device: str = "cpu",
) -> pd.DataFrame:
    """Samples per second of whole training steps, by run and number of workers, as rows.

    A step is what training does between evaluations: batches, gradients, SGD and consensus. Each
    of ``specs`` is measured with each number of ``workers`` in place of its own; all cases take
    turns, ``repeats`` times, so that what else the machine does meets all of them alike. A row is
    ``steps`` steps: the run's facts, the ``device`` and the ``cores`` that this process may use,
    ``protocol``, ``workers``, ``repeat``, ``steps``, ``seconds`` and ``samples_per_second``.
    """
    data = {spec.dataset: datasets.load(spec.dataset, root, device) for spec in specs}
    cases = [(spec, n, _trainer(spec, n, data[spec.dataset])) for spec in specs for n in workers]
    for _, _, step in cases:
        step()  # the first has to allocate
    rows = []
    for repeat in range(repeats):
        for spec, n, step in cases:
            start = _clock(device)
            for _ in range(steps):
                step()
            seconds = _clock(device) - start
            rows.append(
                {
                    "dataset": spec.dataset,
                    "model": spec.model,
                    "topology": spec.topology,
                    "batch_size": spec.batch_size,
                    "train_samples": len(data[spec.dataset].train_inputs),
                    "seed": spec.seed,
                    "device": device,
                    "cores": cores(),
                    "protocol": spec.protocol,
                    "workers": n,
                    "repeat": repeat,
                    "steps": steps,
                    "seconds": seconds,
                    "samples_per_second": steps * n * spec.batch_size / seconds,
                }
            )
    return pd.DataFrame(rows)


def _clock(device: str) -> float:
    """Seconds, once all that was given to a GPU is done."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _trainer(spec: RunSpec, n: int, data: Dataset) -> Callable[[], None]:
    """One step of training with ``n`` workers, each with all of the data, without evaluations."""
    population = Population(spec.model, n, spec.seed, device=data.train_inputs.device)
    protocol = PROTOCOLS[spec.protocol]
    own = np.arange(len(data.train_inputs))
    streams = [
        BatchStream(own, spec.batch_size, torch_stream(spec.seed, "batches", i)) for i in range(n)
    ]
    batches = Batches(population.task, data, streams)
    graphs = torch_stream(spec.seed, "graphs")
    decentralized = protocol.decentralized
    mixing = mixing_stream(spec.topology, n, spec.u, graphs) if decentralized else None
    past: list[torch.Tensor] = []
    t = 0

    def step() -> None:
        nonlocal t
        population.gradients(batches)
        W = next(mixing) if mixing is not None else None
        with using(population.spread):
            protocol.step(t, population.X, population.G, W, spec, past)
        t += 1

    return step
