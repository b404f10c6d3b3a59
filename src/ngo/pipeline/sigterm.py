"""SIGTERM handling that cannot deadlock Snakemake."""

import _thread


def defer() -> None:
    """Run Snakemake's handler of SIGTERM in a separate thread.

    The handler of Snakemake 9.27, ``JobScheduler.exit_gracefully``, runs in the main thread and
    acquires two locks that are not reentrant. If the main thread holds one of them, Snakemake
    deadlocks, and Ctrl-C cannot stop it. Other versions without this handler are not changed.
    """
    try:
        from snakemake.scheduling.job_scheduler import JobScheduler

        exit_gracefully = JobScheduler.exit_gracefully
    except (ImportError, AttributeError):
        return

    def in_a_thread(self, *args):
        # Not threading.Thread: starting one acquires a lock that the main thread may hold, too.
        _thread.start_new_thread(exit_gracefully, (self, *args))

    JobScheduler.exit_gracefully = in_a_thread
