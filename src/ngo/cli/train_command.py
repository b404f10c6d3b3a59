"""``ngo train``: train one run, in this process or in several, or the runs of a job."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ngo.cli import LOG, options
from ngo.cli.options import INPUT, FieldType
from ngo.common.devices import chosen, claimed
from ngo.common.fields import Field, within
from ngo.data import download
from ngo.training.spec import CHECKPOINT_SECONDS, FINAL
from verdicts.registry import UserError


@click.command(cls=options.RunCommand)
@click.option(
    "--partition-file", type=INPUT, help="Output of `ngo partition`  [default: draw it here]"
)
@options.data_root_option
@options.device_option
@options.threads_option
@click.option(
    "--snapshot",
    "snapshots",
    multiple=True,
    metavar="STEP",
    help=f"Keep the workers' models after this step ('{FINAL}': the last) in models.pt  "
    "[may be repeated]",
)
@options.shown(
    "--checkpoint-seconds",
    type=options.SECONDS,
    default=CHECKPOINT_SECONDS,
    help="Longest time between checkpoints; 0: only at evaluations.",
)
@click.option("--distributed", is_flag=True, help="Train in several processes.")
@click.option(
    "--processes",
    type=FieldType(Field(int, "processes", within(1, 1024))),
    metavar="N",
    help="Start N processes here, 1 to 1024  [default: join those of torchrun]",
)
@options.shown(
    "--timeout",
    type=FieldType(Field(float, "seconds", within(1, 1_000_000))),
    default=120.0,
    metavar="SECONDS",
    help="A process that is silent for longer is lost, and the run stops.",
)
@click.option("--overwrite", is_flag=True, help="Train even if --out holds another run.")
@click.option("--job", type=INPUT, help="Train the runs in this file of the workflow instead.")
@click.option("--key", help="The hash of the file --job.", default="")
@click.option("--out", type=options.FOLDER, help="Folder for metrics.parquet and run.json.")
def train(
    partition_file: Path | None,
    data_root: Path,
    device: str,
    job: Path | None,
    key: str,
    threads: int | None,
    snapshots: tuple[str, ...],
    checkpoint_seconds: float,
    distributed: bool,
    processes: int | None,
    timeout: float,
    overwrite: bool,
    out: Path | None,
    **given: object,
) -> None:
    r"""Train one run.

    Writes metrics.parquet, with one row per evaluation, and run.json: the run's specification,
    versions, device, source revision, final metrics and wall time. The metrics of a run are
    reproducible to the byte, with any number of threads.

    During training the folder also holds a checkpoint, which evaluations renew. After an
    interruption the same command resumes from it, with the same metrics. SIGTERM and Ctrl-C stop
    the run after the current step and write a checkpoint; of a job, no other run begins. For a
    finished run the same command is a no-op. A folder with another run is refused, unless
    --overwrite is given.

    With --distributed the workers are spread over several processes that communicate over a
    network: N on this machine with --processes N, or the processes of torchrun:
    torchrun --nproc-per-node 4 -m -- ngo train --distributed ...  See docs/distributed.md.

    With --job FILE --key KEY, all runs in a file of the workflow are trained in results/runs, but
    for those that are there; the table of all is written next to FILE.

    Train 10 workers on a ring on scikit-learn's digits, with nothing to download:
      ngo train --dataset digits --method ngo --p 0.9 --gamma 0.3 \
        --batch-size 16 --epochs 2 --out out/
    """
    how = {"threads": threads, "checkpoint_seconds": checkpoint_seconds}
    if job is not None:
        if partition_file is None:
            raise UserError("partition_file: a job needs the partitions of its setting.")
        from ngo.cli.run_training import train_in_job

        with claimed(device) as place:
            click.echo(f"→ {train_in_job(job, key, partition_file, data_root, place, **how)}")
        return
    if out is None:
        raise UserError("out: the option --out is missing; name a folder for the run.")
    spec = options.spec_of_options(given)
    steps = [_snapshot(step) for step in snapshots]
    chosen(device)
    download.check(spec.dataset, data_root)
    if distributed:
        if snapshots:
            fault = "a distributed run keeps no models; leave out --snapshot or --distributed"
            raise UserError(f"snapshot: {fault}.")
        # torch's communication logs pages about a failure of which ngo prints one line. torch reads
        # this variable when it is imported; the processes that start here inherit it.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    elif processes:
        raise UserError("processes: this option needs --distributed.")
    from ngo.cli.run_training import train_distributed, train_here
    from ngo.training.partition_file import read

    common = {"parts": partition_file and read(partition_file, spec), "overwrite": overwrite}
    if distributed:
        common |= {"device": device, "timeout": timeout, "threads": threads}
        train_distributed(spec, out, data_root, processes=processes, **common)
        return
    LOG.info(spec.id)
    with claimed(device) as place:
        train_here(spec, out, data_root, device=place, snapshots=steps, **how, **common)


def _snapshot(step: str) -> int | str:
    if step == FINAL or step.isdecimal():
        return step if step == FINAL else int(step)
    raise UserError(f"snapshot: {step!r} is not a step; it must be a whole number or {FINAL!r}.")
