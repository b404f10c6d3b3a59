"""A run in several processes, on one machine or on many.

Each process has the rows, the training samples and the random streams of its own workers, and the
whole test set. Streams have the same keys as in a simulated run, and the methods are the same. So a
synchronous run equals the simulated one up to rounding.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from ngo.common.locks import file_lock
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError, unknown
from ngo.data import loading
from ngo.data.partition import WHOLE, Parts
from ngo.distributed.asynchronous_network import AsynchronousNetwork
from ngo.distributed.joint_evaluations import Evaluations
from ngo.distributed.meeting import open_meeting
from ngo.distributed.participant import Participant
from ngo.distributed.placement import choose_device, shares
from ngo.distributed.process_network import ProcessNetwork
from ngo.distributed.terms import agree, data_terms, run_terms
from ngo.engine.population import Population
from ngo.gossip.method import FAILURES, METHODS
from ngo.gossip.schedule import topologies
from ngo.gossip.topology import TOPOLOGIES
from ngo.native.pool import cores
from ngo.training import earlier
from ngo.training.checkpoint import NAME as CHECKPOINT
from ngo.training.checks import check_filled
from ngo.training.earlier import INSTEAD
from ngo.training.evaluation import Evaluation
from ngo.training.partition_file import draw, parts_by_owner
from ngo.training.problem import make_problem
from ngo.training.record import last_evaluation, make_origin, write_results
from ngo.training.registered_trial import check_problem
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper

log = logging.getLogger("ngo")

# What the remaining processes do after a loss: all stop, or they continue without the lost one.
ON_FAILURE = ("stop", "drop")


def check(spec: RunSpec, out: Path, processes: int, asynchronous: bool, on_failure: str) -> None:
    """Raise a UserError for what a distributed run does not support."""
    if on_failure not in ON_FAILURE:
        raise unknown("on-failure", on_failure, ON_FAILURE)
    if processes > spec.workers:
        raise UserError(
            f"processes: {processes} is more than the {spec.workers} workers; it must be "
            f"{spec.workers} or less."
        )
    able = sorted(name for name, entry in METHODS.items() if entry.asynchronous)
    if asynchronous and spec.method not in able:
        raise UserError(
            f"asynchronous: the workers of method {spec.method!r} have to wait; allowed: "
            f"{', '.join(able)}."
        )
    for name in FAILURES:
        if asynchronous and (rate := getattr(spec, name)):
            raise UserError(
                f"{name}: {rate:g} is drawn for the steps that all workers take together, and the "
                f"workers of an asynchronous run take none; it must be 0."
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
    if spec.liars and asynchronous:
        raise UserError(
            f"attack: {spec.attack!r} needs what all neighbours send in a step, and the workers "
            f"of an asynchronous run take none together; it must be none."
        )
    for name in topologies(spec) if on_failure == "drop" else ():
        topology = TOPOLOGIES[name]
        if topology.directed or topology.weighted:
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
    asynchronous: bool = False,
    overwrite: bool = False,
    report: Callable[[Evaluation], None] = lambda row: None,
) -> Evaluation | None:
    """Take part in training ``spec``, as one process of several.

    The leader writes the files of ``training.run.run`` into ``out``, and returns the last
    evaluation; other processes return None. Earlier results in ``out``, and ``overwrite``, have the
    same effect as there.

    ``run.json`` also has ``distributed``: the mode, the number of processes, the lost ones, and the
    traffic and staleness up to each evaluation. The run's name in the metrics has a suffix if the
    run is asynchronous or has lost a process.
    """
    meeting = open_meeting(timeout)
    store, me, processes = meeting.store, meeting.me, meeting.size
    mode = {"mode": "asynchronous" if asynchronous else "synchronous", "processes": processes}
    finished = None
    with ExitStack() as lock:
        # This may take long, and timeouts apply to members of a group: it comes before the group.
        with meeting.failure_published():
            how = {"mode": mode["mode"], "on_failure": on_failure, "timeout": timeout}
            agree(meeting, "run", run_terms(spec, WORLD_SIZE=processes, **how), timeout)
            check(spec, out, processes, asynchronous, on_failure)
            place, exclusive = choose_device(device, meeting, timeout)
            own = shares(spec.workers, processes)[me]
            data = loading.load(spec.dataset, root, place, spec)
            parts = parts or parts_by_owner(spec, root) or draw(spec, data.labels)
            check_filled(spec, parts)
            problem = make_problem(spec, data, parts)
            check_problem(spec, problem)
            origin = make_origin(spec, problem, place, distributed=mode)
            agree(meeting, "data", data_terms(origin.about))
            if me == 0:
                finished = _lock_folder(out, origin.about, overwrite, lock)
            problem = problem.restricted_to(own)  # frees the samples of other workers
            del data
            threads = threads or max(1, cores() // meeting.place.local)
            stepper = Stepper(spec, problem, threads=threads, workers=own)
            consensus = Population(
                problem.model, 1, spec.seed, task=problem.task, device=place, threads=threads
            )
            ready = meeting.gather("ready", bool(finished))
        nccl = exclusive and on_failure == "stop" and not asynchronous
        communication = "nccl" if nccl else "gloo"
        if ready[0]:
            store.set("written", "")
            meeting.leave()
            return finished
        group = meeting.join_group(backend=communication, timeout=timeout)
        kind = AsynchronousNetwork if asynchronous else ProcessNetwork
        network = kind(group, spec.workers, stepper.population.spread)
        for note in origin.notes if me == 0 else ():
            log.info(note)
        stepper.connect(network)
        evaluations = Evaluations(spec, problem, network, consensus, report)
        participant = Participant(spec, problem, stepper, evaluations, network, on_failure)

        def write() -> None:
            rows, traffic = evaluations.read_rows()
            lost = sum(len(entry["workers"]) for entry in participant.lost)
            name = spec.id + "-asynchronous" * asynchronous + f"-lost{lost}" * bool(lost)
            facts = {
                "snapshots": [],
                "workers_evaluated": len(problem.evaluated),
                "backend": stepper.population.backend,
                "distributed": {
                    **mode,
                    "communication": communication,
                    "on_failure": on_failure,
                    "lost": participant.lost,
                    "evaluations": traffic,
                },
            }
            earlier.clear(out)
            write_results(out, origin, rows, stepper.population.d, facts, name)
            (out / CHECKPOINT).unlink(missing_ok=True)
            store.set("written", "")

        participant.train(write)
        return evaluations.read_rows()[0][-1] if group.me == group.leader else None


def _lock_folder(
    out: Path, about: earlier.About, overwrite: bool, lock: ExitStack
) -> Evaluation | None:
    """Lock the folder ``out`` until ``lock`` is closed.

    Returns the last evaluation of the run described by ``about`` if the folder holds it, finished.
    Raises a UserError if it holds another run, or if one is being trained there.
    """

    def refuse() -> None:
        raise UserError(f"out: another run is at work in {str(out)!r}; wait for it, or stop it.")

    lock.enter_context(file_lock(writable_folder(out) / ".lock", refuse))
    if overwrite:
        return None
    if (out / CHECKPOINT).exists():
        raise UserError(f"out: {str(out)!r} holds the checkpoint of a simulated run; {INSTEAD}")
    if (found := earlier.finished(out, about)) is None:
        return None
    seconds, line = found
    log.info(line)
    return last_evaluation(out, seconds)
