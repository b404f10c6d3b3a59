"""A real Slurm of one node, on this machine's loopback, for as long as a block or a command lasts.

    .venv/bin/python tests/slurm/lab.py COMMAND ...

Two partitions, ``main`` and ``gpu``; the node offers one GPU, which is no card but ``/dev/null``.
There is no accounting: ``squeue`` tells what became of a job. It needs root, and Debian's packages,
which it installs where apt can.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ngo.common.files import try_lock

PACKAGES = ("slurm-wlm", "munge")
DAEMONS = {name: Path("/usr/sbin", name) for name in ("munged", "slurmctld", "slurmd")}
MUNGE_FILES = ("key-file", "pid-file", "seed-file", "socket")
# All of the lab's files, in a place that only root can write to, and that may hold programs.
LAB = Path("/var/lib/ngo-slurm-lab")
# Snakemake takes SLURM_CONF from its jobs, so the configuration has to be where Slurm looks.
PLACE = Path("/etc/slurm")
LINKS = (PLACE / "slurm.conf", PLACE / "gres.conf")
# Two jobs of one core at once, on any machine; memory is counted, not enforced.
CORES, MEMORY_MB = 2, 8000
SECONDS_TO_INSTALL, SECONDS_TO_START, SECONDS_TO_ANSWER, SECONDS_TO_STOP = 300, 60, 60, 10

SLURM_CONF = f"""\
ClusterName=lab
SlurmctldHost={{host}}(127.0.0.1)
SlurmctldPort={{ports[0]}}
SlurmdPort={{ports[1]}}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
AuthInfo=socket={LAB}/munge/socket
StateSaveLocation={LAB}/state
SlurmdSpoolDir={LAB}/spool
SlurmctldPidFile={LAB}/slurmctld.pid
SlurmdPidFile={LAB}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName={{host}} NodeAddr=127.0.0.1 CPUs={CORES} RealMemory={MEMORY_MB} Gres=gpu:1
PartitionName=main Nodes={{host}} Default=YES
PartitionName=gpu Nodes={{host}}
"""
GRES_CONF = "NodeName={host} Name=gpu File=/dev/null\n"


class Unavailable(Exception):
    """Why there can be no Slurm here."""


@contextmanager
def slurm() -> Iterator[None]:
    """A running Slurm, of which nothing is left when the block ends; or ``Unavailable``.

    What a lab that was killed has left behind, the next one takes away.
    """
    if sys.platform != "linux" or os.getuid() != 0:
        raise Unavailable("it takes Linux, and root")
    with ExitStack() as stack:
        PLACE.mkdir(exist_ok=True)
        held = try_lock(PLACE / "ngo-lab.lock")
        if held is None:
            raise Unavailable("another one runs")
        stack.callback(held.release)
        stack.callback(Path(held.lock_file).unlink)
        _check()
        _configure(stack)
        files = [f"--{name}={LAB}/munge/{name}" for name in MUNGE_FILES]
        _start(stack, "munged", "--foreground", *files, user="munge")
        _wait(lambda: (LAB / "munge/socket").exists())
        _start(stack, "slurmctld", "-D")
        _start(stack, "slurmd", "-D")
        _wait(lambda: answer("sinfo", "--noheader", "--format=%T", check=False) == "idle")
        stack.callback(_cancel)
        yield


def answer(*command: str, check: bool = True) -> str:
    """What one of Slurm's commands prints."""
    how = {"capture_output": True, "text": True, "check": check, "timeout": SECONDS_TO_ANSWER}
    return subprocess.run(command, **how).stdout.strip()


def _check() -> None:
    """Install the daemons if they are not there; no Slurm of somebody else's is in the way."""
    for link in LINKS:
        if link.exists() and link.resolve().parent != LAB:
            raise Unavailable(f"this machine has a Slurm of its own, {link}")
    if not Path("/sys/fs/cgroup").is_mount():
        raise Unavailable("slurmd wants /sys/fs/cgroup to be mounted")
    if all(path.exists() for path in DAEMONS.values()):
        return
    if shutil.which("apt-get") is None:
        raise Unavailable(f"{', '.join(DAEMONS)} are not installed, and there is no apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    how = {"env": environment, "capture_output": True, "text": True, "timeout": SECONDS_TO_INSTALL}
    for step in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(["apt-get", *step], **how)
        if done.returncode != 0:
            raise Unavailable(f"apt-get {step[0]}: {done.stderr.strip().splitlines()[-1:]}")


def _configure(stack: ExitStack) -> None:
    """Write the configuration, and link to it from where Slurm looks."""
    shutil.rmtree(LAB, ignore_errors=True)
    stack.callback(shutil.rmtree, LAB, ignore_errors=True)
    for folder in (LAB, LAB / "state", LAB / "spool", LAB / "munge"):
        folder.mkdir(mode=0o755)
    key = LAB / "munge/key-file"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    for path in (LAB / "munge", key):
        shutil.chown(path, "munge", "munge")
    host = socket.gethostname().split(".")[0]
    with socket.create_server(("127.0.0.1", 0)) as a, socket.create_server(("127.0.0.1", 0)) as b:
        ports = [free.getsockname()[1] for free in (a, b)]
    for link, text in zip(LINKS, (SLURM_CONF, GRES_CONF), strict=True):
        (LAB / link.name).write_text(text.format(host=host, ports=ports))
        link.unlink(missing_ok=True)
        link.symlink_to(LAB / link.name)
        stack.callback(link.unlink)


def _start(stack: ExitStack, name: str, *arguments: str, user: str | None = None) -> None:
    """Start a daemon that ends with the stack, or with this process if that is killed."""
    with (LAB / f"{name}.log").open("w") as log:
        daemon = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", DAEMONS[name], *arguments],
            stdout=log,
            stderr=log,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            start_new_session=True,  # Ctrl-C is Snakemake's
        )

    def stop() -> None:
        daemon.terminate()
        try:
            daemon.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    stack.callback(stop)


def _wait(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while not ready():
        if time.monotonic() > end:
            logs = "".join(path.read_text()[-1000:] for path in sorted(LAB.glob("*.log")))
            raise RuntimeError(f"Slurm did not start:\n{logs}")
        time.sleep(0.1)


def _cancel() -> None:
    """End all jobs, and wait until they have."""
    answer("scancel", "--user=root", check=False)
    end = time.monotonic() + SECONDS_TO_STOP
    while answer("squeue", "--noheader", check=False) and time.monotonic() < end:
        time.sleep(0.1)


def _leave(number: int, _: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one does not stop the clearing up
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _leave)
    try:
        with slurm():
            sys.exit(subprocess.run(sys.argv[1:]).returncode)
    except Unavailable as reason:
        sys.exit(f"no Slurm: {reason}")
