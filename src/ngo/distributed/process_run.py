"""A run in several processes, on one machine or on many.

Each process has the rows, the training samples and the random streams of its own workers, and the
whole test set. Streams have the same keys as in a simulated run, and the methods are the same. So a
run equals the simulated one up to rounding.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import torch

import ngo
from ngo.common.devices import chosen, deterministic, usable
from ngo.common.locks import file_lock
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError
from ngo.data import loading
from ngo.data.partition import WHOLE, Parts
from ngo.distributed.meeting import Group, Meeting, open_meeting
from ngo.distributed.participant import Participant
from ngo.distributed.process_network import shares
from ngo.gossip.schedule import topologies
from ngo.gossip.topology import TOPOLOGIES
from ngo.native.pool import cores
from ngo.training import earlier
from ngo.training.checkpoint import NAME as CHECKPOINT
from ngo.training.earlier import INSTEAD
from ngo.training.evaluation import Evaluation
from ngo.training.own import check_problem
from ngo.training.partition_file import draw, parts_by_owner
from ngo.training.problem import make_problem
from ngo.training.record import last_evaluation, make_origin, write_results
from ngo.training.resolve import check_filled
from ngo.training.results_version import results_version
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper

log = logging.getLogger("ngo")


def check(spec: RunSpec, out: Path, processes: int, on_failure: str) -> None:
    """Raise a UserError for what a distributed run does not support."""
    if processes > spec.workers:
        raise UserError(
            f"processes: {processes} is more than the {spec.workers} workers; it must be "
            f"{spec.workers} or less."
        )
    if spec.short_share == WHOLE:
        raise UserError(
            "short_share: 'whole' is not possible in a distributed run; it must be error or repeat."
        )
    if spec.clock != "steps":
        raise UserError(
            f"clock: {spec.clock!r} is simulated time, and the workers of a distributed run have "
            f"real time; it must be steps."
        )
    for name in topologies(spec) if on_failure == "drop" else ():
        if (topology := TOPOLOGIES[name]).directed or topology.weighted:
            kind = "is directed" if topology.directed else "has its own weights"
            raise UserError(
                f"on-failure: 'drop' recomputes the weights of edges after a loss, but "
                f"topology {name!r} {kind}; allowed: stop."
            )
    if out.resolve().name == spec.id:
        raise UserError(
            f"out: the folder {str(out)!r} has the name of the simulated run, whose bytes differ "
            f"from those of a distributed run; choose another name."
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
    overwrite: bool = False,
    report: Callable[[Evaluation], None] = lambda row: None,
) -> Evaluation | None:
    """Take part in training ``spec``, as one process of several.

    The leader writes the files of ``training.run.run`` into ``out``, and returns the last
    evaluation; other processes return None. Earlier results in ``out``, and ``overwrite``, have the
    same effect as there.

    ``run.json`` also has ``distributed``: the number of processes, the lost ones, and the traffic
    up to each evaluation. The run's name in the metrics has a suffix if it has lost a process.
    """
    meeting = open_meeting(timeout)
    me, processes = meeting.me, meeting.size
    finished = None
    with ExitStack() as lock:
        # This may take long, and timeouts apply to members of a group: it comes before the group.
        with meeting.failure_published():
            terms = {"WORLD_SIZE": processes, "on_failure": on_failure, "timeout": timeout}
            terms |= {"version": ngo.__version__, "torch": str(torch.__version__), **spec.values()}
            meeting.agree("run", {**terms, "code": results_version(spec)}, timeout)
            check(spec, out, processes, on_failure)
            place = _place(device, meeting)
            own = shares(spec.workers, processes)[me]
            data = loading.load(spec.dataset, root, place, spec)
            parts = parts or parts_by_owner(spec, root) or draw(spec, data.labels)
            check_filled(spec, parts)
            problem = make_problem(spec, data, parts)
            check_problem(spec, problem)
            origin = make_origin(spec, problem, place, distributed={"processes": processes})
            names = ("train_samples", "test_samples", "data_digest", "parts")
            meeting.agree("data", {name: origin.about[name] for name in names})
            if me == 0:
                finished = _lock_folder(out, origin.about, overwrite, lock)
            problem = problem.restricted_to(own)  # frees the samples of other workers
            del data
            threads = threads or max(1, cores() // meeting.place.local_size)
            stepper = Stepper(spec, problem, threads=threads, workers=own)
            ready = meeting.gather("ready", bool(finished))
        if ready[0]:
            meeting.ask("set", "written", "")
            meeting.leave()
            return finished
        group = Group(meeting, timeout)
        for note in origin.notes if me == 0 else ():
            log.info(note)
        participant = Participant(spec, problem, stepper, group, on_failure, report)

        def write() -> None:
            lost = sum(len(entry["workers"]) for entry in participant.lost)
            name = spec.id + f"-lost{lost}" * bool(lost)
            how = {"processes": processes, "on_failure": on_failure, "lost": participant.lost}
            facts = {
                "snapshots": [],
                "workers_evaluated": len(problem.evaluated),
                "backend": stepper.population.backend,
                "distributed": {**how, "evaluations": participant.traffic},
            }
            earlier.clear(out)
            write_results(out, origin, participant.rows, stepper.population.d, facts, name)
            (out / CHECKPOINT).unlink(missing_ok=True)
            meeting.ask("set", "written", "")

        participant.train(write)
        return participant.rows[-1] if me == group.leader else None


def _place(device: str, meeting: Meeting) -> str:
    """The device of this process: of its machine's GPUs, the one with its number."""
    if chosen(device) == "cpu" or not usable(device, "cuda"):
        return "cpu"
    gpu = meeting.place.local_me % torch.cuda.device_count()
    deterministic()
    torch.cuda.set_device(gpu)
    return f"cuda:{gpu}"


def _lock_folder(
    out: Path, about: earlier.About, overwrite: bool, lock: ExitStack
) -> Evaluation | None:
    """Lock the folder ``out`` until ``lock`` is closed.

    Returns the last evaluation of the run described by ``about`` if the folder holds it, finished.
    Raises a UserError if it holds another run, or if one is being trained there.
    """

    def refuse() -> None:
        raise UserError(f"out: another run is at work in {str(out)!r}; wait for it, or stop it.")

    lock.enter_context(file_lock(writable_folder(out) / earlier.LOCK, refuse))
    if overwrite:
        return None
    if (out / CHECKPOINT).exists():
        raise UserError(f"out: {str(out)!r} holds the checkpoint of a simulated run; {INSTEAD}")
    if (found := earlier.finished(out, about)) is None:
        return None
    seconds, line = found
    log.info(line)
    return last_evaluation(out, seconds)
