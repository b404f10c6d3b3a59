"""A run in several processes, on one machine or on many: their start, and the part of each.

Each process has the rows, the training samples and the random streams of its own workers, and the
whole test set. Streams have the same keys as in a simulated run, and the methods are the same. So a
run equals the simulated one up to rounding.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist

import ngo
from ngo.common.devices import chosen, deterministic, usable
from ngo.common.files import file_lock, writable_folder
from ngo.data.partition import Parts
from ngo.distributed import rendezvous as meeting
from ngo.distributed.process_network import ProcessNetwork, shares
from ngo.distributed.rendezvous import Group, Rendezvous
from ngo.engine.backends import Scores
from ngo.engine.population import Population
from ngo.native.threads import cores, one_intra_op_thread
from ngo.training import run_folder
from ngo.training.evaluation import Evaluation
from ngo.training.learning_problem import load_problem
from ngo.training.results_version import results_version
from ngo.training.run import Training
from ngo.training.run_folder import INSTEAD, Origin, finished, make_origin
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import EQUAL
from verdicts.registry import UserError
from verdicts.registry import check as refuse

# The exit code of a process that ends with a line; and the seconds that the other processes have
# after a failure.
MISTAKE_EXIT_CODE, ENDING_SECONDS = 2, 2.0

# The network interface and the address that no other machine can reach.
LOOPBACK, ADDRESS = "lo0" if sys.platform == "darwin" else "lo", "127.0.0.1"


def launch(work: Callable[[], object], processes: int) -> None:
    """Call ``work``, which is pickled, in new processes on this machine, and wait for them.

    Each has the environment that torchrun would give it, and ends with this process. Unlike with
    torchrun, no process accepts connections from other machines. A UserError is raised if a process
    fails; the others are ended.
    """
    # The server has imported torch, and computes nothing: its forks start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ngo.distributed.process_run"])
    store = _loopback_store()
    common = {"MASTER_ADDR": ADDRESS, "MASTER_PORT": str(store.port)}
    common |= dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(processes))
    common["TORCHELASTIC_USE_AGENT_STORE"] = "True"  # this process holds the store
    started = []
    failed: dict[int, int] = {}  # the exit codes
    with ExitStack() as ending:
        for k in range(processes):
            ranks = {"RANK": str(k), "LOCAL_RANK": str(k)}
            environment = {"GLOO_SOCKET_IFNAME": LOOPBACK, **os.environ, **common, **ranks}
            process = context.Process(target=_child, args=(work, environment))
            process.start()
            started.append(process)
            ending.callback(process.join)
            ending.callback(process.kill)  # which comes first
        running = {process.sentinel for process in started}
        while running and (ready := wait(running, ENDING_SECONDS if failed else None)):
            running.difference_update(ready)
            failed = {k: process.exitcode for k, process in enumerate(started) if process.exitcode}
    for k, code in failed.items():
        if code != MISTAKE_EXIT_CODE:  # the others' failures follow from this one
            killed = code < 0
            how = f"was killed by {signal.Signals(-code).name}" if killed else f"ended with {code}"
            raise UserError(f"distributed: process {k} of {processes} {how}.")
    if failed:
        raise UserError(store.get(meeting.MISTAKE).decode())


def _loopback_store() -> dist.TCPStore:
    """A store on the loopback address; torch's default is all addresses."""
    with socket.create_server((ADDRESS, 0)) as server:
        port = server.getsockname()[1]
        how = {"wait_for_workers": False, "master_listen_fd": server.detach()}
        return dist.TCPStore(ADDRESS, port, is_master=True, **how)


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
        meeting.open_store(meeting.read_place(), 60.0).compare_set(meeting.MISTAKE, "", str(error))
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

numbers = partial(torch.tensor, dtype=torch.float64)

# Rows sent to other processes and their bytes; bytes of all other tensors.
SENT = ("models_sent", "bytes_sent", "other_bytes_sent")


def check(spec: RunSpec, out: Path, processes: int) -> None:
    """Raise a UserError for what a distributed run does not support."""
    most = f"it must be {spec.workers} (workers) or less"
    refuse(processes <= spec.workers, "processes", processes, most)
    real = "the workers of a distributed run have real time: it must be steps"
    refuse(spec.clock == "steps", "clock", spec.clock, real)
    kept = "the processes of a distributed run keep their workers: it must be 0"
    refuse(not spec.participants, "participants", spec.participants, kept)
    equal = f"workers of a distributed run count equally: it must be {EQUAL}"
    refuse(spec.objective == EQUAL, "objective", spec.objective, equal)
    apart = "a simulated run has this name, and other bytes; choose another folder"
    refuse(out.resolve().name != spec.id, "out", str(out), apart)


def run(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    parts: Parts | None = None,
    device: str = "auto",
    threads: int | None = None,
    timeout: float,
    overwrite: bool = False,
    report: Callable[[Evaluation], None] = lambda row: None,
) -> Evaluation | None:
    """Take part in training ``spec``, as one process of several.

    Process 0 writes the files of ``training.run.run`` into ``out``, and returns the last
    evaluation; other processes return None. Earlier results in ``out``, and ``overwrite``, have the
    same effect as there.

    ``run.json`` also has ``distributed``: the number of processes, and the traffic up to each
    evaluation.
    """
    rendezvous = meeting.open_rendezvous(timeout)
    me, processes = rendezvous.me, rendezvous.size
    last = None
    with ExitStack() as lock:
        # This may take long, and timeouts apply to members of a group: it comes before the group.
        with rendezvous.failure_published():
            terms = {"WORLD_SIZE": processes, "timeout": timeout}
            terms |= {"version": ngo.__version__, "torch": str(torch.__version__), **spec.values()}
            rendezvous.agree("run", {**terms, "code": results_version(spec)}, timeout)
            check(spec, out, processes)
            place = _place(device, rendezvous)
            local = shares(spec.workers, processes)[me]
            problem = load_problem(spec, root, place, parts)
            origin = make_origin(spec, problem, place, (), {"processes": processes})
            names = ("train_samples", "test_samples", "data_digest", "parts")
            rendezvous.agree("data", {name: origin.about[name] for name in names})
            if me == 0:
                last = _lock_folder(out, origin, overwrite, lock)
            problem = problem.restricted_to(local)  # frees the samples of other workers
            threads = threads or max(1, cores() // rendezvous.place.local_size)
            training = Participant(spec, problem, threads=threads, workers=local)
            ready = rendezvous.gather("ready", bool(last))
        if ready[0]:
            rendezvous.leave()
            return last
        group = Group(rendezvous, timeout)
        training.join(group)
        with one_intra_op_thread():
            training.proceed(report=report if me == 0 else lambda row: None)
        if me == 0:
            how = {"processes": processes, "evaluations": training.traffic}
            training.write(out, origin, distributed=how)
        group.total(torch.zeros(1))  # no process returns before the results are written
        return training.rows[-1] if me == 0 else None


class Participant(Training):
    """One process's part of a run: its own workers, and the evaluations of all.

    All processes make the same evaluations, from sums over all processes.
    """

    def join(self, group: Group) -> None:
        """Exchange with the other processes of the ``group``."""
        spec, problem, population = self._spec, self._problem, self.population
        self._group, self._network = group, ProcessNetwork(group, spec.workers, population.spread)
        self.stepper.connect(self._network)
        # The mean of all workers is evaluated in it.
        common = {"task": problem.task, "device": problem.device, "threads": population.threads}
        self._consensus = Population(problem.model, 1, spec.seed, **common)
        #: What all processes had sent up to each evaluation.
        self.traffic: list[dict[str, int]] = []

    def _measured(self) -> dict[str, Any]:
        """Evaluate the local workers and, in process 0, the mean of all."""
        network, population, problem = self._network, self.population, self._problem
        group, local, k, honest = self._group, network.local, self.stepper.honest, self._spec.honest
        losses = self.losses.double()
        counts = [float(losses.sum()), len(losses), network.messages, network.bytes_sent]
        counts += [group.sent[name] for name in SENT]
        ours = [i for i in problem.evaluated if i in local]
        test = problem.test_at(self.step)
        scores = population.evaluate(*test, workers=[i - local.start for i in ours])
        by_worker = numbers([[0] * self._spec.workers] * 2)
        by_worker[:, ours] = numbers([scores.worker_losses, scores.worker_accuracies])
        buffers = population.buffers[:k].double().sum(0).cpu()
        sums = group.total(torch.cat([numbers(counts), by_worker.flatten(), buffers]))
        sums, by_worker, buffers = sums.split([len(counts), by_worker.numel(), len(buffers)])
        loss, count, messages, bytes_sent, *sent = sums.tolist()
        worker_losses, accuracies = by_worker.view(2, -1)[:, problem.evaluated].tolist()
        mean, V = network.moments(population.X[:k], honest)
        seen = population.counts[:k].amax(0) if k else torch.zeros_like(population.counts[0])
        seen = group.total(seen, dist.ReduceOp.MAX)
        of_mean = numbers([0] * 4)
        if group.me == 0:
            model = self._consensus
            model.X[0], model.buffers[0], model.counts[0] = mean, buffers / honest, seen
            sets = [test, *filter(None, [problem.holdout])]
            scored = [model.evaluate(*samples, workers=()) for samples in sets]
            pairs = [[scores.consensus_loss, scores.consensus_accuracy] for scores in scored]
            of_mean[: 2 * len(pairs)] = numbers(pairs).flatten()
        mean_loss, mean_accuracy, *held_out = group.total(of_mean).tolist()
        traffic = {name: int(value) for name, value in zip(SENT, sent, strict=True)}
        self.traffic.append({"step": self.step, **traffic})
        return {
            "train_loss": loss / count if count else math.nan,
            "V": float(V),
            "scores": Scores(mean_loss, mean_accuracy, worker_losses, accuracies),
            "holdout": Scores(*held_out, [], []) if problem.holdout else None,
            "messages": int(messages),
            "bytes_sent": int(bytes_sent),
        }


def _place(device: str, rendezvous: Rendezvous) -> str:
    """The device of this process: of its machine's GPUs, the one with its number."""
    if chosen(device) == "cpu" or not usable(device, "cuda"):
        return "cpu"
    gpu = rendezvous.place.local_me % torch.cuda.device_count()
    deterministic()
    torch.cuda.set_device(gpu)
    return f"cuda:{gpu}"


def _lock_folder(out: Path, origin: Origin, overwrite: bool, lock: ExitStack) -> Evaluation | None:
    """Lock the folder ``out`` until ``lock`` is closed.

    Returns the last evaluation of the run if the folder holds it, finished. Raises a UserError if
    it holds another run, or if one is being trained there.
    """

    def refuse() -> None:
        raise UserError(f"out: another run is at work in {str(out)!r}; wait for it, or stop it.")

    lock.enter_context(file_lock(writable_folder(out) / run_folder.LOCK, refuse))
    if overwrite:
        return None
    if (out / run_folder.CHECKPOINT).exists():
        raise UserError(f"out: {str(out)!r} holds the checkpoint of a simulated run; {INSTEAD}")
    return finished(out, origin, log.info)
