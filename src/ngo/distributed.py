"""A run on several processes, on one machine or on many, whose models really cross a network.

Each process has the rows, the training samples and the streams of its own workers; the test set is
everywhere. Every stream has the key that it has in a simulation, and the protocols are those of
:mod:`ngo.protocols`, so that a synchronous run is the simulation's to rounding. In an asynchronous
one workers do not wait for each other. :mod:`ngo.meeting` says how processes find each other,
:mod:`ngo.participant` what each of them does, :mod:`ngo.processes` how they lose each other,
:mod:`ngo.network` how models travel, and :mod:`ngo.ledger` what an evaluation is made of.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import torch
import torch.distributed as dist

from ngo import datasets, earlier, partition, training
from ngo.checkpoint import NAME as CHECKPOINT
from ngo.devices import chosen, deterministic, usable
from ngo.earlier import INSTEAD
from ngo.files import held, writable_folder
from ngo.ledger import Ledger
from ngo.meeting import gathered, joined, met, placed, telling
from ngo.network import Asynchronous, Network
from ngo.participant import Participant
from ngo.partition import Parts
from ngo.partition_file import draw
from ngo.pool import cores
from ngo.population import Population
from ngo.processes import ON_FAILURE
from ngo.protocols import PROTOCOLS
from ngo.registry import UserError, unknown
from ngo.shares import share, shares
from ngo.spec import RunSpec
from ngo.training import Evaluation


def check(spec: RunSpec, out: Path, processes: int, asynchronous: bool, on_failure: str) -> None:
    """Raise a UserError for what a distributed run can't do."""
    if on_failure not in ON_FAILURE:
        raise unknown("on-failure", on_failure, ON_FAILURE)
    if processes > spec.workers:
        raise UserError(
            f"processes: {processes} is more than the {spec.workers} workers; it must be "
            f"{spec.workers} or less."
        )
    free = sorted(name for name, entry in PROTOCOLS.items() if entry.asynchronous)
    if asynchronous and spec.protocol not in free:
        raise UserError(
            f"asynchronous: the workers of protocol {spec.protocol!r} have to wait; allowed: "
            f"{', '.join(free)}."
        )
    if out.resolve().name == spec.id:
        raise UserError(
            f"out: the folder {str(out)!r} has the name of the simulated run, whose bytes a "
            f"distributed run does not give; choose another name."
        )


def run(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    parts: Parts | None = None,
    device: str = "auto",
    threads: int | None = None,
    timeout: float,
    on_failure: str = "stop",
    asynchronous: bool = False,
    overwrite: bool = False,
    report: Callable[[Evaluation], None] = lambda row: None,
) -> Evaluation | None:
    """Take part in training ``spec`` as one process; the leader writes the files of
    :func:`ngo.training.run`, and returns the last evaluation. Others return None.

    What ``out`` holds, and ``overwrite``, mean what they do there.

    ``run.json`` has ``distributed`` besides: the mode, the processes, those lost, and the traffic
    and staleness up to each evaluation. The metrics of an asynchronous run, or of one that lost a
    process, have a name of their own.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    store, me, processes = met(timeout)
    check(spec, out, processes, asynchronous, on_failure)
    way = {"mode": "asynchronous" if asynchronous else "synchronous", "processes": processes}
    there = None
    with ExitStack() as lock:
        # What may take long comes before the group, in which a silent process is lost.
        with telling(store, me):
            place, alone = _placed(device, store, me, processes, timeout)
            own = shares(spec.workers, processes)[me]
            data = datasets.load(spec.dataset, root, place)
            labels, classes = data.labels, data.classes
            parts = draw(spec, labels) if parts is None else parts
            about = training.describe(spec, data, parts, place, distributed=way)
            if me == 0:
                there = _finished(out, about, overwrite, lock)
            mine = share(spec, data, parts, own)
            del data  # all but the share
            local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            how = {"device": place, "threads": threads or max(1, cores() // local)}
            how |= {"backend": spec.backend, "precision": spec.precision}
            population = Population(spec.model, len(own), spec.seed, workers=own, **how)
            consensus = Population(spec.model, 1, spec.seed, **how)
        communication = "nccl" if alone and on_failure == "stop" and not asynchronous else "gloo"
        if gathered(store, me, processes, "ready", "" if there is None else "finished")[0]:
            store.set("written", "")
            return there
        group = joined(store, me, processes, backend=communication, timeout=timeout)
        network = (Asynchronous if asynchronous else Network)(group, spec.workers)
        ledger = Ledger(spec, mine, network, consensus, report)
        participant = Participant(spec, mine, population, ledger, network, on_failure)

        def write() -> None:
            rows, traffic = ledger.read()
            lost = participant.lost
            gone = sum(len(entry["workers"]) for entry in lost)
            changes = ["-asynchronous"] * asynchronous + [f"-lost{gone}"] * bool(gone)
            facts = {
                "snapshots": [],
                "backend": population.backend,
                "distributed": {
                    **way,
                    "communication": communication,
                    "on_failure": on_failure,
                    "lost": lost,
                    "evaluations": traffic,
                },
            }
            covered = partition.summary(labels, parts, classes).classes_covered if classes else None
            earlier.clear(out)
            training.leave(
                spec, out, about, labels, covered, rows, population.d, place, started, clock, facts,
                name=spec.id + "".join(changes),
            )  # fmt: skip
            (out / CHECKPOINT).unlink(missing_ok=True)
            store.set("written", "")

        participant.proceed(write)
        return ledger.read()[0][-1] if group.me == group.leader else None


def _finished(
    out: Path, about: earlier.About, overwrite: bool, lock: ExitStack
) -> Evaluation | None:
    """Hold the folder ``out`` until ``lock`` is closed; the last evaluation of the run that is
    ``about``, if it is there, finished. A UserError if another run is there, or at work.
    """

    def refuse() -> None:
        raise UserError(f"out: another run is at work in {str(out)!r}; wait for it, or stop it.")

    lock.enter_context(held(writable_folder(out) / ".lock", refuse))
    if overwrite:
        return None
    if (out / CHECKPOINT).exists():
        raise UserError(f"out: {str(out)!r} holds the checkpoint of a simulated run; {INSTEAD}")
    if (found := earlier.finished(out, about)) is None:
        return None
    seconds, line = found
    print(line, file=sys.stderr)
    return training.last_evaluation(out, seconds)


def _placed(
    device: str, store: dist.Store, me: int, processes: int, timeout: float
) -> tuple[str, bool]:
    """The device of this process, and whether every process has a GPU of its own."""
    gpus: list[str] = []
    if chosen(device) != "cpu" and usable(device, "cuda"):
        count = torch.cuda.device_count()
        gpus = [str(torch.cuda.get_device_properties(k).uuid) for k in range(count)]
    told = gathered(store, me, processes, "gpus", json.dumps(gpus), timeout)
    places, alone = placed([json.loads(ids) for ids in told])
    if not gpus:
        return "cpu", False
    deterministic()
    torch.cuda.set_device(places[me])
    return f"cuda:{places[me]}", alone
