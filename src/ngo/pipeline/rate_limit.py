"""Snakemake's limit on the rate of jobs, without its cost where it is not reached."""


def relieve() -> None:
    """Let Snakemake wait for its limit on the rate of jobs only where the limit holds jobs back.

    Snakemake 9.27 has a limit by default (``--max-jobs-per-timespan 100/1s``). Each round of
    scheduling starts a timer for another round one second later, so that every finished job adds
    one more chain of rounds. After 200 jobs these take a fifth of a core, and they end with the
    workflow only. Other versions without this method are not changed.
    """
    try:
        from snakemake.scheduling.job_scheduler import JobScheduler

        schedule_round = JobScheduler._schedule_reevalutation
    except (ImportError, AttributeError):
        return

    def at_the_limit(self, delay):
        limit = self.job_rate_limiter
        if limit is None or delay != limit.timespan or limit.get_free_jobs() == 0:
            schedule_round(self, delay)

    JobScheduler._schedule_reevalutation = at_the_limit
