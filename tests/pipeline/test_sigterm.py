import sys

from running import finished, start

TOLD_TO_END = """
import os, signal, threading
from snakemake.scheduling.job_scheduler import JobScheduler
from ngo.pipeline import sigterm

sigterm.defer()
scheduler = JobScheduler.__new__(JobScheduler)
scheduler._lock, scheduler._open_jobs = threading.Lock(), threading.Semaphore(0)
signal.signal(signal.SIGTERM, scheduler.exit_gracefully)
for held in (scheduler._lock, scheduler._open_jobs._cond, threading._active_limbo_lock):
    scheduler._user_kill = None
    with held:
        os.kill(os.getpid(), signal.SIGTERM)
        print("the handler has returned", flush=True)
    scheduler._open_jobs.acquire(timeout=20)  # what the scheduler does between jobs
    print(scheduler._user_kill, flush=True)
"""


def test_snakemake_is_told_to_end_though_its_main_thread_holds_a_lock():
    """The scheduler's two, and one that starting a thread takes."""
    out = finished(start([sys.executable, "-c", TOLD_TO_END]), within=60)
    assert out.splitlines() == 3 * ["the handler has returned", "graceful"]
