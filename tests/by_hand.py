"""The processes of a distributed run, started by hand: without torchrun and --processes."""

import os
import socket
import sys

from running import ended, start

from ngo.distributed.process_run import LOOPBACK

RUN = ["--dataset", "least_squares", "--model", "linear", "--task", "regression", "--workers", "3"]
RUN += ["--batch-size", "16", "--lr", "0.1", "--epochs", "0.1", "--device", "cpu"]


def free_port():
    """A port that nothing uses at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def started(folder, rank, size, port, *options):
    """Start one process."""
    place = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    common = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": LOOPBACK}
    environment = {**os.environ, **common, **{k: str(v) for k, v in place.items()}}
    run = [sys.executable, "-m", "ngo", "train", "--distributed", *RUN, *options]
    return start([*run, "--out", folder / str(rank)], env=environment)


def by_hand(folder, options):
    """The exit code of each process, given its ``options``, and the lines of its errors."""
    port, size = free_port(), len(options)
    processes = [started(folder, q, size, port, *each) for q, each in enumerate(options)]
    errors = [ended(process)[1].splitlines() for process in processes]
    return [(process.returncode, lines) for process, lines in zip(processes, errors, strict=True)]
