"""SIGTERM never blocks Snakemake."""

import _thread


def defer() -> None:
    """Let Snakemake's handler of SIGTERM wait for locks in a thread of its own.

    The handler, ``JobScheduler.exit_gracefully`` (as of Snakemake 9.27), runs in the main thread
    and takes two plain locks. If the main thread holds one of them already, Snakemake blocks for
    ever, and Ctrl-C does not end it. A Snakemake without such a handler is left as it is.
    """
    try:
        from snakemake.scheduling.job_scheduler import JobScheduler

        exit_gracefully = JobScheduler.exit_gracefully
    except (ImportError, AttributeError):
        return

    def in_a_thread(self, *args):
        # Not threading.Thread: its start takes a lock that the main thread may hold as well.
        _thread.start_new_thread(exit_gracefully, (self, *args))

    JobScheduler.exit_gracefully = in_a_thread
