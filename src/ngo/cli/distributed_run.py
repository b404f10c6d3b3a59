"""Train a run in several processes, started here or by torchrun."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ngo.cli import log
from ngo.cli.local_run import print_outcome
from ngo.cli.log import LOG
from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.distributed.process_run import MISTAKE_EXIT_CODE, check, launch, run
from ngo.training.plugin_errors import named_in_errors
from ngo.training.spec import RunSpec


def train_distributed(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    processes: int | None,
    timeout: float,
    on_failure: str,
    **how: object,
) -> None:
    """Train ``spec`` in new ``processes``, or take part as a process that torchrun started."""
    policy = {"timeout": timeout, "on_failure": on_failure}
    how |= policy
    if processes is None:
        _join(spec, out, root, how)
        return
    check(spec, out, processes, on_failure)
    LOG.info(spec.id)
    files = [each.path for each in plugins.loaded() if each.module.startswith(plugins.PREFIX)]
    launch(partial(_child, files, spec, out, root, how), processes, **policy)


def _join(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    """Take part as a process that torchrun or the user has started."""
    code = 0
    try:
        _take_part(spec, out, root, how)
    except UserError as error:
        LOG.error("ngo: %s", error)
        code = MISTAKE_EXIT_CODE
    sys.stdout.flush()
    os._exit(code)  # a thread that waits for the store could abort a normal exit


def _child(
    files: Sequence[Path], spec: RunSpec, out: Path, root: Path, how: dict[str, object]
) -> None:
    """Take part, after setting up this new process like its parent."""
    log.configure()
    log.prepare()
    plugins.load_installed()
    plugins.load(files, key="plugin")
    _take_part(spec, out, root, how)


def _take_part(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    with named_in_errors(spec):
        last = run(spec, out, root, report=LOG.info, **how)
    if last is not None:
        print_outcome(spec, last, out)
