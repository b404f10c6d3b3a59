"""Methods of Snakemake that the workflow replaces.

They are private, and another release may change them: each replacement states the hash of the code
that it replaces. ``pyproject.toml`` pins the minor version of Snakemake.
"""

from __future__ import annotations

import _thread
import hashlib
import importlib
import inspect
from collections.abc import Callable

from ngo.common.registry import UserError

Make = Callable[[Callable], Callable]

# The replacements by place, ``module:Class.method``: the method's hash, and what makes the new
# method from the old one.
REPLACEMENTS: dict[str, tuple[str, Make]] = {}


def replace_all() -> None:
    """Replace the methods; a second call has no further effect.

    Raises a UserError if this version of Snakemake has no such method, or another one.
    """
    for place, (code, make) in REPLACEMENTS.items():
        module, _, path = place.partition(":")
        owner, name = path.split(".")
        try:
            importlib.import_module("snakemake.api")  # its modules import each other in this order
            found = getattr(importlib.import_module(module), owner)
            method = inspect.unwrap(getattr(found, name))
        except (ImportError, AttributeError):
            raise _not_fitting(f"has no {place}") from None
        if code_hash(method) != code:
            raise _not_fitting(f"has other code in {place}")
        replaced = make(method)
        replaced.__wrapped__ = method
        setattr(found, name, replaced)


def code_hash(method: Callable) -> str:
    """16 hex digits of the source text of a method."""
    return hashlib.sha256(inspect.getsource(method).encode()).hexdigest()[:16]


def _not_fitting(reason: str) -> UserError:
    import snakemake

    return UserError(
        f"snakemake: version {snakemake.__version__} {reason}, which the workflow replaces; "
        "install the version in requirements.lock (make setup)."
    )


def _replacement(place: str, code: str) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        REPLACEMENTS[place] = code, make
        return make

    return register


@_replacement("snakemake.scheduling.job_scheduler:JobScheduler.exit_gracefully", "71dc8bb2df123d88")
def _in_a_thread(exit_gracefully: Callable) -> Callable:
    """The handler of SIGTERM in a separate thread, so that it cannot deadlock.

    Snakemake 9.27 runs it in the main thread, where it acquires two locks that are not reentrant.
    If the main thread holds one of them, Snakemake deadlocks, and Ctrl-C cannot stop it.
    """

    def in_a_thread(self, *args):
        # Not threading.Thread: starting one acquires a lock that the main thread may hold, too.
        _thread.start_new_thread(exit_gracefully, (self, *args))

    return in_a_thread


_ROUND = "snakemake.scheduling.job_scheduler:JobScheduler._schedule_reevalutation"


@_replacement(_ROUND, "bb09f100ea5766bb")
def _at_the_limit(schedule_round: Callable) -> Callable:
    """The wait for the limit on the rate of jobs, only where the limit holds jobs back.

    Snakemake 9.27 has a limit by default (``--max-jobs-per-timespan 100/1s``). Each round of
    scheduling starts a timer for another round one second later, so that every finished job adds
    one more chain of rounds. After 200 jobs these take a fifth of a core, and they end with the
    workflow only.
    """

    def at_the_limit(self, delay):
        limit = self.job_rate_limiter
        if limit is None or delay != limit.timespan or limit.get_free_jobs() == 0:
            schedule_round(self, delay)

    return at_the_limit


@_replacement("snakemake.io:_IOFile.is_newer", "d2cf8bf8b52faae0")
def _never_newer(_: Callable) -> Callable:
    """No file is newer than another: keys in ``params`` show what is out of date, and dates do not.

    Snakemake 9.27 compares the dates of inputs and outputs whatever ``--rerun-triggers`` says. The
    flag ``ancient`` is no substitute: a job with such inputs is not run again after the jobs that
    make them.
    """

    async def is_newer(self, time: float) -> bool:
        return False

    return is_newer


@_replacement("snakemake.dag:DAG.check_output_mtime", "c04c0ec688adf944")
def _unchecked_dates(_: Callable) -> Callable:
    """No error after a job whose input has a later date than an output.

    An input with a date in the future has one.
    """

    async def check_output_mtime(self, job, expanded_output) -> None:
        pass

    return check_output_mtime
