import io
import logging

import pytest
from snakemake.logging import DefaultFilter
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from ngo.pipeline.progress_log import ProgressLog


class Told:
    """A progress that has a line for each run."""

    def __init__(self):
        self.started = []

    def start(self, run):
        self.started.append(run)

    def finish(self, run):
        return f"{run} finished"


@pytest.fixture
def log():
    logger = logging.Logger("as Snakemake's")
    logger.text = io.StringIO()
    logger.addHandler(logging.StreamHandler(logger.text))
    return logger


def jobs(log, started=(1, 2), finished=2):
    log.info("start", extra={"event": LogEvent.JOB_STARTED, "jobs": list(started)})
    log.info("end", extra={"event": LogEvent.JOB_FINISHED, "job_id": finished})
    log.info("steps", extra={"event": LogEvent.PROGRESS, "done": 1, "total": 9})


def test_the_line_follows_the_number_of_steps(log):
    told = Told()
    log.addHandler(ProgressLog(told, {2: "run"}, log))
    jobs(log)
    assert told.started == ["run"]
    assert log.text.getvalue().splitlines() == ["start", "end", "steps", "run finished"]
    jobs(log, finished=1)  # no run: no line
    assert log.text.getvalue().splitlines()[4:] == ["start", "end", "steps"]


@pytest.mark.parametrize("quiet", [Quietness.PROGRESS, Quietness.ALL])
def test_a_quiet_snakemake_prints_no_line(log, quiet):
    log.handlers[0].addFilter(DefaultFilter({quiet}, False, False, False, False))
    log.addHandler(ProgressLog(Told(), {2: "run"}, log))
    jobs(log)
    assert "run finished" not in log.text.getvalue()


def test_an_error_does_not_reach_snakemake(log, monkeypatch, capsys):
    class Broken(Told):
        def finish(self, run):
            raise OSError("no disk")

    log.addHandler(ProgressLog(Broken(), {2: "run"}, log))
    jobs(log)
    assert log.text.getvalue().splitlines() == ["start", "end", "steps"]
    assert "no disk" in capsys.readouterr().err
