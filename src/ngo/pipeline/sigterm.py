"""SIGTERM handling that cannot deadlock Snakemake."""

import _thread
from collections.abc import Callable

from ngo.pipeline import snakemake_methods


def defer() -> None:
    """Run Snakemake's handler of SIGTERM in a separate thread.

    The handler of Snakemake 9.27, ``JobScheduler.exit_gracefully``, runs in the main thread and
    acquires two locks that are not reentrant. If the main thread holds one of them, Snakemake
    deadlocks, and Ctrl-C cannot stop it.
    """
    place = "snakemake.scheduling.job_scheduler:JobScheduler.exit_gracefully"
    snakemake_methods.replace(place, "71dc8bb2df123d88", _in_a_thread)


def _in_a_thread(exit_gracefully: Callable) -> Callable:
    def in_a_thread(self, *args):
        # Not threading.Thread: starting one acquires a lock that the main thread may hold, too.
        _thread.start_new_thread(exit_gracefully, (self, *args))

    return in_a_thread
