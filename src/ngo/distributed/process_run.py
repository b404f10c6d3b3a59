"""A run in several processes, on one machine or on many: their start, and the part of each.

Each process has the rows, the training samples and the random streams of its own workers, and the
whole test set. Streams have the same keys as in a simulated run, and the methods are the same. So a
run equals the simulated one up to rounding.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from multiprocessing.connection import wait
from pathlib import Path
from typing import NoReturn

import torch
import torch.distributed as dist

import ngo
from ngo.common.devices import chosen, deterministic, usable
from ngo.common.files import file_lock, writable_folder
from ngo.common.registry import UserError
from ngo.data.partition import WHOLE, Parts
from ngo.distributed.participant import Participant
from ngo.distributed.process_network import shares
from ngo.distributed.rendezvous import (
    MISTAKE,
    Group,
    Rendezvous,
    open_rendezvous,
    open_store,
    read_place,
)
from ngo.gossip.schedule import topologies
from ngo.gossip.topology import TOPOLOGIES
from ngo.native.threads import cores
from ngo.training import run_folder
from ngo.training.checkpoint import NAME as CHECKPOINT
from ngo.training.evaluation import Evaluation
from ngo.training.problem_checks import load_problem
from ngo.training.record import last_evaluation, make_origin, write_results
from ngo.training.results_version import results_version
from ngo.training.run_folder import INSTEAD
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper

# The exit code of a process that ends with a line.
MISTAKE_EXIT_CODE = 2

# The network interface and the address that no other machine can reach.
LOOPBACK, ADDRESS = "lo0" if sys.platform == "darwin" else "lo", "127.0.0.1"


def launch(work: Callable[[], object], processes: int, *, timeout: float, on_failure: str) -> None:
    """Call ``work``, which is pickled, in new processes on this machine, and wait for them.

    Each has the environment that torchrun would give it, and ends with this process. Unlike with
    torchrun, the failure of one process does not end the others, and no process accepts connections
    from other machines.

    A UserError is raised if a process fails with ``on_failure`` "stop"; the others have ``timeout``
    seconds to stop. With "drop" it is raised if all processes fail, or if none has set the key
    ``written`` of the store.
    """
    # The server has imported torch, and computes nothing: its forks start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ngo.distributed.process_run"])
    store = _loopback_store()
    common = {
        "MASTER_ADDR": ADDRESS,
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # this process holds the store
    }
    started = []
    failed: dict[int, str] = {}
    try:
        for k in range(processes):
            ranks = {"RANK": str(k), "LOCAL_RANK": str(k)}
            environment = {"GLOO_SOCKET_IFNAME": LOOPBACK, **os.environ, **common, **ranks}
            started.append(context.Process(target=_child, args=(work, environment)))
            started[-1].start()
        running = {process.sentinel: k for k, process in enumerate(started)}
        while running:
            ready = wait(running, timeout)
            over = (failed and on_failure == "stop") or store.check(["written"])
            if over and not ready:
                break  # the remaining processes hang
            for sentinel in ready:
                k = running.pop(sentinel)
                started[k].join()
                if code := started[k].exitcode:
                    failed[k] = f"ended with exit code {code}"
                    if code < 0:
                        failed[k] = f"was killed by {signal.Signals(-code).name}"
                    store.set(f"ended/{k}", failed[k])
    finally:
        for process in started:
            if process.pid:
                process.kill()
                process.join()
    if failed and (on_failure == "stop" or len(failed) == processes):
        if store.check([MISTAKE]):
            raise UserError(store.get(MISTAKE).decode())
        k, reason = next(iter(failed.items()))
        raise UserError(f"distributed: process {k} of {processes} {reason}.")
    if not store.check(["written"]):
        raise UserError("distributed: the process that had to write the results was lost.")


def _loopback_store() -> dist.TCPStore:
    """A store on the loopback address; torch's default is all addresses."""
    with socket.create_server((ADDRESS, 0)) as server:
        port = server.getsockname()[1]
        return dist.TCPStore(
            ADDRESS, port, is_master=True, wait_for_workers=False, master_listen_fd=server.detach()
        )


def _child(work: Callable[[], object], environment: Mapping[str, str]) -> NoReturn:
    os.environ.clear()
    os.environ.update(environment)
    parent = multiprocessing.parent_process().sentinel
    threading.Thread(target=lambda: (wait([parent]), os._exit(1)), daemon=True).start()
    code = 1
    try:
        work()
        code = 0
    except UserError as error:
        # The first message is kept: it may be the reason for the others.
        open_store(read_place(), 60.0).compare_set(MISTAKE, "", str(error))
        code = MISTAKE_EXIT_CODE
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads that wait for an answer would never end


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
    rendezvous = open_rendezvous(timeout)
    me, processes = rendezvous.me, rendezvous.size
    finished = None
    with ExitStack() as lock:
        # This may take long, and timeouts apply to members of a group: it comes before the group.
        with rendezvous.failure_published():
            terms = {"WORLD_SIZE": processes, "on_failure": on_failure, "timeout": timeout}
            terms |= {"version": ngo.__version__, "torch": str(torch.__version__), **spec.values()}
            rendezvous.agree("run", {**terms, "code": results_version(spec)}, timeout)
            check(spec, out, processes, on_failure)
            place = _place(device, rendezvous)
            own = shares(spec.workers, processes)[me]
            problem = load_problem(spec, root, place, parts)
            origin = make_origin(spec, problem, place, distributed={"processes": processes})
            names = ("train_samples", "test_samples", "data_digest", "parts")
            rendezvous.agree("data", {name: origin.about[name] for name in names})
            if me == 0:
                finished = _lock_folder(out, origin.about, overwrite, lock)
            problem = problem.restricted_to(own)  # frees the samples of other workers
            threads = threads or max(1, cores() // rendezvous.place.local_size)
            stepper = Stepper(spec, problem, threads=threads, workers=own)
            ready = rendezvous.gather("ready", bool(finished))
        if ready[0]:
            rendezvous.ask("set", "written", "")
            rendezvous.leave()
            return finished
        group = Group(rendezvous, timeout)
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
            run_folder.clear(out)
            write_results(out, origin, participant.rows, stepper.population.d, facts, name)
            (out / CHECKPOINT).unlink(missing_ok=True)
            rendezvous.ask("set", "written", "")

        participant.train(write)
        return participant.rows[-1] if me == group.leader else None


def _place(device: str, rendezvous: Rendezvous) -> str:
    """The device of this process: of its machine's GPUs, the one with its number."""
    if chosen(device) == "cpu" or not usable(device, "cuda"):
        return "cpu"
    gpu = rendezvous.place.local_me % torch.cuda.device_count()
    deterministic()
    torch.cuda.set_device(gpu)
    return f"cuda:{gpu}"


def _lock_folder(
    out: Path, about: run_folder.About, overwrite: bool, lock: ExitStack
) -> Evaluation | None:
    """Lock the folder ``out`` until ``lock`` is closed.

    Returns the last evaluation of the run described by ``about`` if the folder holds it, finished.
    Raises a UserError if it holds another run, or if one is being trained there.
    """

    def refuse() -> None:
        raise UserError(f"out: another run is at work in {str(out)!r}; wait for it, or stop it.")

    lock.enter_context(file_lock(writable_folder(out) / run_folder.LOCK, refuse))
    if overwrite:
        return None
    if (out / CHECKPOINT).exists():
        raise UserError(f"out: {str(out)!r} holds the checkpoint of a simulated run; {INSTEAD}")
    if (found := run_folder.finished(out, about)) is None:
        return None
    seconds, line = found
    log.info(line)
    return last_evaluation(out, seconds)
