"""``ngo bench``: measure costs against the project's targets."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from ngo.cli.group import Commands
from ngo.cli.log import LOG
from ngo.common.devices import DEVICES, chosen
from ngo.models.model import MODELS

if TYPE_CHECKING:
    from ngo.bench.costs import Bench

MANY = click.IntRange(1, 10_000)


@click.group(cls=Commands)
def bench() -> None:
    """Measure costs, and compare them with the project's targets.

    Costs are ratios within one run. Ratios vary less between machines than times do.

    Measure the step of each method on this machine, some minutes:
      ngo bench methods
    """


def bench_command(measure: Callable[..., Iterator[Bench]]) -> Callable:
    """A command of ``ngo bench`` that prints each table when ``measure(**options)`` yields it.

    JSON is printed at the end, after SIGTERM and Ctrl-C too: then it has the finished tables.
    """

    @click.option("--json", "as_json", is_flag=True, help="Print JSON, at the end.")
    def command(as_json: bool, **options: object) -> None:
        from ngo.bench.costs import Bench

        rows, targets = [], []
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for part in measure(**options):
                rows += part.rows
                targets += part.targets
                if not as_json:
                    click.echo(f"{part.as_text()}\n")
        except KeyboardInterrupt:
            LOG.error("ngo: interrupted before the last measurement")
            sys.exit(130)
        finally:
            if as_json and rows:
                click.echo(Bench(rows, targets).as_json())

    command.__doc__ = measure.__doc__
    command.__click_params__ += getattr(measure, "__click_params__", [])
    return bench.command(measure.__name__)(command)


model_option = click.option("--model", help="Measure only this model.")
repeats_option = click.option(
    "--repeats", type=MANY, default=5, show_default=True, help="Repetitions of each case."
)
device_option = click.option(
    "--device", default="cpu", show_default=True, help=f"One of {', '.join(DEVICES)}."
)


@bench_command
@model_option
@click.option("--workers", type=MANY, help="Measure only this number of workers.")
@click.option("--batch-size", type=MANY, help="Measure only this batch size.")
@click.option("--all", "all_cases", is_flag=True, help="Include ResNet-18: about 15 minutes.")
@device_option
@repeats_option
def engine(
    model: str | None,
    workers: int | None,
    batch_size: int | None,
    all_cases: bool,
    device: str,
    repeats: int,
) -> Iterator[Bench]:
    """Training steps of n workers, against plain PyTorch on the same samples."""
    MODELS[model or "mnist_cnn"]

    from ngo.bench import engine as bench
    from ngo.bench.overheads import run_overhead

    wanted = (model, workers, batch_size)
    cases = [
        case
        for case in (bench.CASES if all_cases or any(wanted) else bench.LIMITS)
        if all(w in (None, value) for w, value in zip(wanted, case, strict=True))
    ]
    if not cases:
        cases = [(model or "mnist_cnn", workers or 10, batch_size or 32)]
    yield from bench.engine(cases, chosen(device), repeats)
    if not any(wanted) and chosen(device) == "cpu":
        yield bench.worker_steps(repeats)
        yield bench.growth(repeats)
        yield run_overhead(repeats)


@bench_command
@model_option
@device_option
@repeats_option
def methods(model: str | None, device: str, repeats: int) -> Iterator[Bench]:
    """Training steps with each method and local rule, against those of NGO with SGD."""
    MODELS[model or "mnist_cnn"]

    from ngo.bench.method_steps import method_steps as bench

    for each in [model] if model else ["mnist_cnn", "mnist_fc"]:
        yield bench(each, device=chosen(device), repeats=repeats)


@bench_command
@click.option(
    "--processes", type=click.IntRange(2, 64), default=4, show_default=True, help="One per worker."
)
def traffic(processes: int) -> Iterator[Bench]:
    """Bytes that each method sends in real processes, against those of a simulation."""
    from ngo.bench import network_traffic as bench

    yield bench.traffic(processes)


@bench_command
@device_option
@repeats_option
def gossip(device: str, repeats: int) -> Iterator[Bench]:
    """Gossip steps, against a copy of the state, a matrix product and the naive form."""
    from ngo.bench import consensus_step as bench

    yield from bench.gossip(device=chosen(device), repeats=repeats)


@bench_command
@repeats_option
def scale(repeats: int) -> Iterator[Bench]:
    """Steps, graphs and set-up of up to 10,000 workers."""
    from ngo.bench import scale as bench

    yield from bench.scale(repeats)
    yield bench.convolutions(repeats)
    yield bench.couplings(repeats)
    yield bench.set_up(repeats)
    yield bench.graphs()


@bench_command
@repeats_option
def startup(repeats: int) -> Iterator[Bench]:
    """Start-up of `ngo train`, against `import torch`."""
    from ngo.bench import commands as bench

    yield bench.startup(repeats)


@bench_command
@click.option("--jobs", type=MANY, default=10, show_default=True, help="Number of training jobs.")
def workflow(jobs: int) -> Iterator[Bench]:
    """Snakemake's overhead per training job; run it in the project's folder."""
    from ngo.bench import commands as bench

    yield bench.workflow(jobs)


@bench_command
@repeats_option
def virtual(repeats: int) -> Iterator[Bench]:
    """Steps in virtual time, against steps without a clock."""
    from ngo.bench import virtual_time as bench

    yield from bench.virtual(repeats)
