"""Snakemake's limit on the rate of jobs, without its cost where it is not reached."""

from collections.abc import Callable

from ngo.pipeline import snakemake_methods


def relieve() -> None:
    """Let Snakemake wait for its limit on the rate of jobs only where the limit holds jobs back.

    Snakemake 9.27 has a limit by default (``--max-jobs-per-timespan 100/1s``). Each round of
    scheduling starts a timer for another round one second later, so that every finished job adds
    one more chain of rounds. After 200 jobs these take a fifth of a core, and they end with the
    workflow only.
    """
    place = "snakemake.scheduling.job_scheduler:JobScheduler._schedule_reevalutation"
    snakemake_methods.replace(place, "bb09f100ea5766bb", _at_the_limit)


def _at_the_limit(schedule_round: Callable) -> Callable:
    def at_the_limit(self, delay):
        limit = self.job_rate_limiter
        if limit is None or delay != limit.timespan or limit.get_free_jobs() == 0:
            schedule_round(self, delay)

    return at_the_limit
