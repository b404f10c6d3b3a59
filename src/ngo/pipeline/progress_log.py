"""Lines in Snakemake's log about the training that is left."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ngo.pipeline.progress import Progress


class ProgressLog(logging.Handler):
    """Follows Snakemake's log, and adds a line to it now and then.

    Snakemake logs the start and the end of each job, with the job's number, and then the number of
    finished steps. The line comes after that number, and is left out where that number is
    (``--quiet``).
    """

    def __init__(self, progress: Progress, runs: Mapping[int, str], log: logging.Logger) -> None:
        """``runs`` has the run of each training job, by the job's number."""
        super().__init__()
        self._progress = progress
        self._runs = runs
        self._log = log
        self._line: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a job's start or end. No error reaches Snakemake."""
        try:
            self._follow(record)
        except Exception:
            self.handleError(record)

    def _follow(self, record: logging.LogRecord) -> None:
        event = getattr(getattr(record, "event", None), "value", None)
        if event == "job_started":
            for job in record.jobs:
                if job in self._runs:
                    self._progress.start(self._runs[job])
        elif event == "job_finished" and record.job_id in self._runs:
            self._line = self._progress.finish(self._runs[record.job_id]) or self._line
        elif event == "progress" and self._line is not None:
            from snakemake.settings.enums import Quietness

            line, self._line = self._line, None
            self._log.info(line, extra={"quietness": Quietness.PROGRESS})


def follow(progress: Progress, runs: Mapping[int, str]) -> None:
    """Add lines about ``progress`` to Snakemake's log; ``runs`` as for ProgressLog."""
    from snakemake.logging import logger

    logger.addHandler(ProgressLog(progress, runs, logger))
