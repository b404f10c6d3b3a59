"""Train a run in several processes, started here or by torchrun."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ngo.cli import log, process
from ngo.cli.local_run import print_outcome
from ngo.cli.log import LOG
from ngo.common import plugins
from ngo.distributed.process_run import check, run
from ngo.distributed.processes import launch
from ngo.training.spec import RunSpec


def train_distributed(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    processes: int | None,
    timeout: float,
    on_failure: str,
    asynchronous: bool,
    **how: object,
) -> None:
    """Train ``spec`` in new ``processes``, or take part as one of those that torchrun started."""
    policy = {"timeout": timeout, "on_failure": on_failure}
    how |= {**policy, "asynchronous": asynchronous}
    if processes is None:
        _take_part(spec, out, root, how)
        return
    check(spec, out, processes, asynchronous, on_failure)
    LOG.info(spec.id)
    files = [each.path for each in plugins.loaded() if each.module.startswith(plugins.PREFIX)]
    launch(partial(_child, files, spec, out, root, how), processes, **policy)


def _child(
    files: Sequence[Path], spec: RunSpec, out: Path, root: Path, how: dict[str, object]
) -> None:
    """Take part, after setting up this new process like its parent."""
    log.configure()
    process.prepare()
    plugins.load_installed()
    plugins.load(files, key="plugin")
    _take_part(spec, out, root, how)


def _take_part(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    last = run(spec, out, root, report=LOG.info, **how)
    if last is not None:
        print_outcome(spec, last, out)
