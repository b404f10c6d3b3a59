"""The command line. Each command checks its input before it imports anything heavy."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

import ngo
from ngo import datasets
from ngo.devices import DEVICES, chosen, claimed
from ngo.fields import Field, within
from ngo.files import write_text
from ngo.measurements import check_size
from ngo.models import MODELS
from ngo.options import FOLDER, INPUT, RESULT, ROOT, Commands, FieldType, measurement, run_fields
from ngo.registry import UserError, unknown
from ngo.spec import CHECKPOINT_SECONDS, DEFAULTS, FIELDS, FINAL, RunSpec, resolve
from ngo.tasks import TASKS

if TYPE_CHECKING:
    from ngo.training import Evaluation

THREADS = FieldType(Field(int, "threads", **within(1, 1024)))
PROCESSES = FieldType(Field(int, "processes", **within(1, 1024)))
RUNS_PER_GPU = FieldType(Field(int, "runs", **within(1, 1024)))
MANY = click.IntRange(1, 10_000)
SECONDS = FieldType(Field(float, "seconds", **within(0, 1_000_000)))
TIMEOUT = FieldType(Field(float, "seconds", **within(1, 1_000_000)))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ngo.__version__)
def main() -> None:
    """Nonlinear gossiping for decentralized optimization.

    n workers each take an SGD step on their own data, then pull towards their neighbours:
    x_i += γ Σ_j W_ij φ_p(x_j − x_i), φ_p(z) = sign(z)|z|^(2p−1).

    \b
    Train one run, with no data to download:
      ngo train --dataset digits --protocol ngo --p 0.9 --batch-size 16 \\
        --epochs 20 --out out/
    Compare with linear gossip, on the same partition, batches and initial
    parameters:
      ngo train --dataset digits --protocol gossip --batch-size 16 \\
        --epochs 20 --out out2/
    See what a config would train:
      ngo runs --config config/config.yaml --config config/demo.yaml
    Make a table of the paper on bundled data, in the repository's folder:
      snakemake table1 --cores all --configfile config/demo.yaml

    COMMAND --help explains each.
    """  # noqa: D301 (click looks for the character that \b stands for)


def data_root_option(command: Callable) -> Callable:
    """The --data-root option, which goes before NGO_DATA."""
    return click.option(
        "--data-root",
        type=ROOT,
        help=f"Folder of the data sets  [default: ${datasets.ROOT_VARIABLE}, "
        f"else {datasets.DEFAULT_ROOT}/]",
    )(command)


def distributed_options(command: Callable) -> Callable:
    """How a run on several processes is started, and what it does when it loses one."""
    options = (
        click.option("--distributed", is_flag=True, help="In several processes, over a network."),
        click.option(
            "--processes",
            type=PROCESSES,
            metavar="N",
            help="Start N processes here, 1 to 1024  [default: be one of torchrun's]",
        ),
        click.option(
            "--timeout",
            type=TIMEOUT,
            default=120.0,
            show_default=True,
            metavar="SECONDS",
            help="A process silent for longer is lost.",
        ),
        click.option(
            "--on-failure",
            default="stop",
            show_default=True,
            help="When a process is lost, the others stop; or they drop it and go on (drop).",
        ),
        click.option(
            "--asynchronous", is_flag=True, help="Workers mix the newest models they have."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@click.argument("name")
@data_root_option
@click.option("--out", type=RESULT, help="Write the files' checksums here, as JSON.")
def data(name: str, data_root: Path | None, out: Path | None) -> None:
    """Verify a data set's files, downloading those that are absent."""
    source = datasets.DATASETS[name]
    root = datasets.prepare(name, datasets.data_root(data_root))
    samples = len(source.read_labels(root))
    if source.folder is not None:
        source.read(root)  # its images are decoded once, here
    if out is not None:
        facts = {"dataset": name, "train_samples": samples, "files": source.files}
        write_text(out, json.dumps(facts, indent=2) + "\n")
    places = {
        bool(source.files): f"{len(source.files)} files verified in {root}",
        source.folder is not None: f"{source.folder} in {root}",
    }
    click.echo(f"{name}: {samples:,} training samples, {places.get(True, 'no files of its own')}")


@main.command()
@run_fields(
    "dataset",
    "holdout",
    "partition",
    "shards",
    "shards_per_worker",
    "samples_per_worker",
    "beta",
    "workers",
    "seed",
)
@data_root_option
@click.option("--out", type=RESULT, required=True, help="The partition file (parquet).")
def partition(data_root: Path | None, out: Path, **given: object) -> None:
    """Decide who owns which sample.

    Writes a parquet file of (worker, sample, label).
    """
    from ngo.partition import summary
    from ngo.partition_file import draw, write

    # A partition belongs to any run that has it; centralized asks nothing of the other fields.
    spec = _spec(given, protocol="centralized", batch_size=1)
    labels = datasets.train_labels(spec.dataset, datasets.data_root(data_root))
    parts = draw(spec, labels)
    write(out, spec, labels, parts)
    sizes = [len(part) for part in parts]
    classes = datasets.DATASETS[spec.dataset].classes
    covered = ""
    if classes is not None:
        covered = f", {summary(labels, parts, classes).classes_covered} classes covered"
    click.echo(
        f"{spec.partition_id}: {sum(sizes)} samples, {min(sizes)} to {max(sizes)} for each of "
        f"{spec.workers} workers{covered}"
    )


@main.command()
@run_fields(*FIELDS)
@click.option("--spec", "spec_file", type=INPUT, help="A run as JSON, instead of flags.")
@click.option("--partition-file", type=INPUT, help="From `ngo partition`; drawn anew without it.")
@data_root_option
@click.option("--device", default="auto", show_default=True, help=f"One of {', '.join(DEVICES)}.")
@click.option(
    "--runs-per-gpu",
    type=RUNS_PER_GPU,
    default=1,
    show_default=True,
    help="Runs that share a GPU, 1 to 1024; with as many on each, a run waits.",
)
@click.option("--threads", type=THREADS, help="Threads: 1 to 1024  [default: all cores]")
@click.option(
    "--snapshot",
    "snapshots",
    multiple=True,
    metavar="STEP",
    help=f"Keep the workers' models after this step ('{FINAL}': the last) in models.pt.",
)
@click.option(
    "--checkpoint-seconds",
    type=SECONDS,
    default=CHECKPOINT_SECONDS,
    show_default=True,
    help="Longest time between checkpoints; 0: none between evaluations.",
)
@distributed_options
@click.option("--overwrite", is_flag=True, help="Train, whatever run --out holds.")
@click.option("--out", type=FOLDER, required=True, help="Folder of metrics.parquet and run.json.")
def train(
    spec_file: Path | None,
    partition_file: Path | None,
    data_root: Path | None,
    device: str,
    runs_per_gpu: int,
    threads: int | None,
    snapshots: tuple[str, ...],
    checkpoint_seconds: float,
    distributed: bool,
    processes: int | None,
    timeout: float,
    on_failure: str,
    asynchronous: bool,
    overwrite: bool,
    out: Path,
    **given: object,
) -> None:
    """Train one run.

    Writes metrics.parquet, a row for each evaluation, and run.json: the run's specification,
    versions, device, source revision, final numbers and wall time. The same run gives the same
    metrics, byte for byte, with any number of threads.

    Until it is done, there is a checkpoint in the folder too, renewed after evaluations. However
    the run ends, the same command goes on from it, to the same metrics. SIGTERM and Ctrl-C end the
    run after its current step, with a checkpoint. Once it is done, the same command says so; a
    folder that holds another run is refused. --overwrite trains in both.

    With --distributed the workers live in several processes that talk over a network: N on this
    machine with --processes N, or those that torchrun started:
    torchrun --nproc-per-node 4 -m -- ngo train --distributed ...  See docs/distributed.md.
    """
    if spec_file is not None:
        given = {**_read_spec(spec_file), **{k: v for k, v in given.items() if v is not None}}
    spec = _spec(given)
    steps = [_snapshot(step) for step in snapshots]
    chosen(device)
    root = datasets.data_root(data_root)
    datasets.check(spec.dataset, root)
    parts = None
    if partition_file is not None:
        from ngo.partition_file import read

        parts = read(partition_file, spec)
    how = {"parts": parts, "device": device, "threads": threads, "overwrite": overwrite}
    if distributed:
        how |= {"timeout": timeout, "on_failure": on_failure, "asynchronous": asynchronous}
        _train_distributed(spec, out, root, processes, snapshots, how)
        return
    for name, value in (("processes", processes), ("asynchronous", asynchronous)):
        if value:
            raise UserError(f"{name}: it goes with --distributed only.")
    claim = claimed(device, runs_per_gpu)
    with claim as place, _stops(), _progress(spec) as (report, progress, tell):
        from ngo.training import run

        last = run(
            spec,
            out,
            root,
            parts=parts,
            device=place,
            snapshots=steps,
            threads=threads,
            checkpoint_seconds=checkpoint_seconds,
            overwrite=overwrite,
            report=report,
            progress=progress,
            tell=tell,
        )
    _tell(spec, last, out)


@main.command()
@click.option(
    "--config",
    "configs",
    multiple=True,
    type=INPUT,
    help="Overlays last  [default: a line for each tier in config/]",
)
@click.option("--schema", type=INPUT, help="The config's schema  [default: the workflow's]")
@click.option("--json", "as_json", is_flag=True, help="The whole table, for machines.")
def runs(configs: tuple[Path, ...], schema: Path | None, as_json: bool) -> None:
    """List the runs that a config would train, and how much that is."""
    from ngo.experiments import SCHEMA, overview, plan, read_config, summary

    if not configs:
        for line in overview(schema=schema or SCHEMA):
            click.echo(line)
        return
    table = plan(read_config(configs), schema or SCHEMA)
    if as_json:
        rows = [
            {"experiment": name, "id": spec.id, **asdict(spec)}
            for name, specs in table.training.items()
            for spec in specs
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for name, specs in table.training.items():
        click.echo(f"{name}: {len(specs)} runs")
        for spec in specs:
            click.echo(f"  {spec.id}")
    click.echo(f"{table.tier}: {summary(table)}")


@main.command()
@click.argument("metrics", nargs=-1, required=True, type=INPUT)
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def aggregate(metrics: tuple[Path, ...], out: Path) -> None:
    """Join the metrics files of runs into one tidy table."""
    from ngo import results

    table = results.aggregate(metrics)
    results.write(table, out)
    diverged = table.loc[table["diverged"], "run"].nunique()
    click.echo(
        f"{table['run'].nunique()} runs, {len(table)} evaluations, {diverged} diverged → {out}"
    )


@main.command()
@click.argument("partitions", nargs=-1, required=True, type=INPUT)
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def classes(partitions: tuple[Path, ...], out: Path) -> None:
    """Count the samples per class and worker of partition files."""
    from ngo import results

    results.write(results.class_counts(partitions), out)
    click.echo(f"{len(partitions)} partitions → {out}")


@main.command()
@measurement("consensus")
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def consensus(out: Path, **values: object) -> None:
    """Simulate consensus with no learning.

    From one Gaussian state, for each --p and --delay: x and V of every round.
    """
    check_size("consensus", values)
    import pandas as pd
    import torch

    from ngo.consensus import simulate
    from ngo.dynamics import trajectory_table
    from ngo.graphs import mixing_stream
    from ngo.results import write
    from ngo.seeding import torch_stream

    topology, workers, gamma, rounds, seed = (
        values[name] for name in ("topology", "workers", "gamma", "rounds", "seed")
    )
    X0 = torch.randn(workers, 1, generator=torch_stream(seed, "states"), dtype=torch.float64)
    tables = []
    for p in values["p"]:
        for delay in values["delay"]:
            W = mixing_stream(topology, workers, values["u"], torch_stream(seed, "graphs"))
            found = simulate(X0, W, p, gamma, rounds, delay=delay)
            tables.append(
                trajectory_table(
                    p, found.states, found.V, delay=delay, topology=topology, gamma=gamma
                )
            )
            end = f"{found.V[-1]:.3g}" if found.V[-1].isfinite() else "diverged"
            click.echo(f"p {p:g}, delay {delay}: V {found.V[0]:.3g} → {end} in {rounds} rounds")
    write(pd.concat(tables, ignore_index=True), out)


@main.command()
@measurement("spectra")
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def spectra(out: Path, **values: object) -> None:
    """Measure degrees and spectral gaps of topologies.

    For each --topology and --workers; a random graph's are means over --draws.
    """
    from ngo.results import write
    from ngo.spectra import spectral_table

    names = ("topology", "workers", "u", "draws", "seed")
    table = spectral_table(*(values[name] for name in names))
    write(table, out)
    click.echo(f"{len(table)} spectra → {out}")


@main.command()
@click.argument("models", nargs=-1, required=True, type=INPUT)
@measurement("alignment")
@data_root_option
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def alignment(
    models: tuple[Path, ...],
    scale: tuple[float, ...],
    samples: int,
    seed: int,
    data_root: Path | None,
    out: Path,
) -> None:
    """Compare workers' gradients with the gradient at their mean.

    MODELS are the models.pt of runs that kept them (ngo train --snapshot). For each --scale the
    workers' distances to their mean are multiplied by it; all gradients are taken on the same
    --samples of the training set.
    """
    import pandas as pd

    from ngo.alignment import alignment_table
    from ngo.results import write

    root = datasets.data_root(data_root)
    tables = [alignment_table(path, scale, samples, seed, root) for path in models]
    write(pd.concat(tables, ignore_index=True), out)
    click.echo(f"{len(models)} runs at {len(scale)} scales → {out}")


@main.command()
@click.argument("models", nargs=-1, required=True, type=INPUT)
@measurement("samples")
@data_root_option
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def samples(
    models: tuple[Path, ...], images: int, seed: int, data_root: Path | None, out: Path
) -> None:
    """Show what MODELS that training kept put out.

    MODELS are the models.pt of runs that kept them (ngo train --snapshot). Reconstructions and
    generations of variational autoencoders, predictions of regressions.
    """
    import pandas as pd

    from ngo.results import write
    from ngo.samples import samples_table

    root = datasets.data_root(data_root)
    tables = [samples_table(path, images, seed, root) for path in models]
    write(pd.concat(tables, ignore_index=True), out)
    click.echo(f"{len(models)} runs → {out}")


@main.command()
@run_fields("dataset", "model", "task", "topology", "gamma", "p", "lr", "batch_size")
@measurement("throughput")
@click.option("--device", default="auto", show_default=True, help=f"One of {', '.join(DEVICES)}.")
@data_root_option
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def throughput(
    protocol: tuple[str, ...],
    workers: tuple[int, ...],
    steps: int,
    repeats: int,
    device: str,
    data_root: Path | None,
    out: Path,
    **given: object,
) -> None:
    """Measure how many samples per second n workers train on.

    On this machine, for each --protocol and --workers.
    """
    specs = [_spec({**given, "protocol": name}, workers=max(2, *workers)) for name in protocol]
    chosen(device)
    from ngo.results import write
    from ngo.throughput import throughput_table

    root = datasets.data_root(data_root)
    with claimed(device) as place:
        write(throughput_table(specs, workers, steps, repeats, root, place), out)
    click.echo(f"{len(specs) * len(workers)} throughputs → {out}")


@main.command()
@click.argument("notebook", type=INPUT)
@click.option("--param", "-p", multiple=True, metavar="NAME=VALUE", help="VALUE is read as YAML.")
@click.option("--out", type=RESULT, required=True, help="The executed notebook.")
def notebook(notebook: Path, param: tuple[str, ...], out: Path) -> None:
    """Execute a notebook with parameters.

    A parameter that it does not have is an error. The executed notebook stays where --out says,
    also when a cell raises.
    """
    from ngo.notebooks import execute

    execute(notebook, out, param)


@main.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kernel(arguments: tuple[str, ...]) -> None:
    """The Python of a notebook, as Jupyter starts it."""
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(list(arguments))


@main.command()
@measurement("theory")
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def theory(out: Path, **values: object) -> None:
    """Measure what the theorems bound.

    Consensus times, delays, chatter and convergence, for each --topologies, --workers and --p: all
    on least squares and Gaussian states, where every constant of the theorems can be computed.
    """
    check_size("theory", values)
    from ngo.results import write
    from ngo.theory_tables import measure

    table = measure(**values)
    write(table, out)
    click.echo(f"{len(table)} measurements → {out}")


@main.group()
def bench() -> None:
    """Measure what things cost, against the project's targets.

    As ratios within one run, which differ less from machine to machine than times do.
    """


def bench_command(measure: Callable) -> Callable:
    """A command of ``ngo bench``: prints the tables that ``measure(**options)`` yields, as they
    come; as JSON, all at the end. Ctrl-C and SIGTERM end it with those that are there.
    """

    @click.option("--json", "as_json", is_flag=True, help="For machines, at the end.")
    def command(as_json: bool, **options: object) -> None:
        import signal

        from ngo.bench import Bench

        rows, targets = [], []
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for part in measure(**options):
                rows += part.rows
                targets += part.targets
                if not as_json:
                    click.echo(f"{part.as_text()}\n")
        except KeyboardInterrupt:
            click.echo("ngo: interrupted before all was measured", err=True)
            sys.exit(130)
        finally:
            if as_json and rows:
                click.echo(Bench(rows, targets).as_json())

    command.__doc__ = measure.__doc__
    command.__click_params__ += getattr(measure, "__click_params__", [])
    return bench.command(measure.__name__)(command)


def bench_options(*names: str) -> Callable:
    """Options of benches: which cases, how often, and where."""
    known = {
        "model": click.option("--model", help="This model alone."),
        "workers": click.option("--workers", type=MANY, help="So many alone."),
        "batch_size": click.option("--batch-size", type=MANY, help="These alone."),
        "all_cases": click.option(
            "--all", "all_cases", is_flag=True, help="ResNet-18 too: a quarter of an hour."
        ),
        "repeats": click.option(
            "--repeats", type=MANY, default=5, show_default=True, help="Turns of each."
        ),
        "device": click.option(
            "--device", default="cpu", show_default=True, help=f"One of {', '.join(DEVICES)}."
        ),
    }

    def decorate(command: Callable) -> Callable:
        for name in reversed(names):
            command = known[name](command)
        return command

    return decorate


@bench_command
@bench_options("model", "workers", "batch_size", "all_cases", "device", "repeats")
def engine(
    model: str | None,
    workers: int | None,
    batch_size: int | None,
    all_cases: bool,
    device: str,
    repeats: int,
):
    """Training steps of n workers against plain PyTorch on the same samples."""
    from ngo import bench

    MODELS[model or "mnist_cnn"]
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
        yield bench.growth(repeats)
        yield bench.run_overhead(repeats)


@bench_command
@bench_options("device", "repeats")
def gossip(device: str, repeats: int):
    """Consensus steps against a copy of the state, a matrix product and the naive form."""
    from ngo import bench

    yield from bench.gossip(device=chosen(device), repeats=repeats)


@bench_command
@bench_options("repeats")
def startup(repeats: int):
    """The start of `ngo train` against `import torch`."""
    from ngo import bench

    yield bench.startup(repeats)


@bench_command
@click.option("--jobs", type=MANY, default=10, show_default=True, help="So many.")
def workflow(jobs: int):
    """What Snakemake adds to a training job; in the project's folder."""
    from ngo import bench

    yield bench.workflow(jobs)


@main.command()
@click.option(
    "--config", "configs", multiple=True, required=True, type=INPUT, help="Overlays last."
)
@click.option(
    "--out", "outs", multiple=True, type=RESULT, help="A .md or .html file  [default: the screen]"
)
def assumptions(configs: tuple[Path, ...], outs: tuple[Path, ...]) -> None:
    """List the values that the paper does not state, and why."""
    from ngo import assumptions
    from ngo.experiments import read_config

    found = assumptions.assumptions(configs)
    tier = read_config(configs)["tier"]
    forms = {".md": assumptions.as_markdown, ".html": assumptions.as_html}
    for out in outs:
        if out.suffix not in forms:
            raise UserError(f"out: {str(out)!r} must end in {' or '.join(forms)}")
        write_text(out, forms[out.suffix](found, tier))
    where = ", ".join(map(str, outs))
    click.echo(f"{len(found)} values → {where}" if outs else assumptions.as_markdown(found, tier))


@main.command()
@click.argument("artefacts", nargs=-1)
@click.option(
    "--config", "configs", multiple=True, required=True, type=INPUT, help="Overlays last."
)
@click.option("--schema", type=INPUT, help="The config's schema  [default: the workflow's]")
@click.option("--out", type=RESULT, required=True, help="The archive (tar).")
def archive(
    artefacts: tuple[str, ...], configs: tuple[Path, ...], schema: Path | None, out: Path
) -> None:
    """Pack what ARTEFACTS are made from as one checked archive.

    From results/: tidy metrics, configs, the paper's numbers and the runs' records; no weights. All
    tables and figures by default. The same content gives the same bytes; `ngo rebuild` makes them
    again.
    """
    from ngo import archive
    from ngo.experiments import SCHEMA

    members = archive.collect(configs, artefacts, schema or SCHEMA)
    digest = archive.write(out, members)
    click.echo(f"{len(members)} files → {out}, sha256 {digest}")


@main.command()
@click.argument("archive", type=INPUT)
@click.option(
    "--out",
    type=FOLDER,
    default="results/shipped",
    show_default=True,
    help="The archive gets a folder of its own in this one.",
)
def rebuild(archive: Path, out: Path) -> None:
    """Make every table and figure of a metrics ARCHIVE.

    With no training and no GPU. Runs Snakemake's part for tables and figures, in the folder of the
    repository. An archive with any change in it is refused.
    """
    import os

    from ngo.archive import remaking, unpack

    profile = Path("workflow/profiles/local")
    if not (Path("Snakefile").exists() and profile.exists()):
        raise UserError("rebuild: there is no Snakefile here; run it in the repository's folder.")
    folder = unpack(archive, out)
    click.echo(f"tables and figures of {archive} → {folder / 'results'}")
    flags = ["--workflow-profile", str(profile)]
    command = [sys.executable, "-m", "snakemake", *remaking(folder), *flags]
    os.execv(sys.executable, command)


def _spec(given: dict[str, object], **needed: object) -> RunSpec:
    """The run of the given flags; those that mean nothing for it are named and left out.

    Where they are not given, the model is one that fits the data set, and the task the model's.
    """
    values = {name: value for name, value in given.items() if value is not None}
    shape = datasets.DATASETS[values.get("dataset", DEFAULTS["dataset"])].input_shape
    tasks = [values["task"]] if "task" in values else TASKS
    fitting = [n for n, m in MODELS.items() if m.input_shape == shape and m.task in tasks]
    model = values.get("model", next(iter(fitting), DEFAULTS["model"]))
    implied = {"model": model, "task": MODELS[model].task}
    spec = resolve({}, {**DEFAULTS, **implied, **needed, **values})
    for name, value in values.items():
        used = getattr(spec, name)
        if used != value:
            instead = "it is not used" if used is None else f"it is {used:g}"
            click.echo(f"note: {name} {value} has no effect here: {instead}", err=True)
    return spec


def _tell(spec: RunSpec, last: Evaluation, out: Path) -> None:
    accurate = last.consensus_accuracy == last.consensus_accuracy
    score = f"{last.consensus_accuracy:.2%}" if accurate else f"loss {last.consensus_loss:.4g}"
    outcome = "diverged" if last.diverged else f"consensus model {score}"
    click.echo(f"{spec.id}: {outcome} after {last.epoch:g} epochs, {last.seconds:.1f} s → {out}")


def _train_distributed(
    spec: RunSpec,
    out: Path,
    root: Path,
    processes: int | None,
    snapshots: tuple[str, ...],
    how: dict[str, object],
) -> None:
    """In processes started here, or as the one of several that the environment says this is."""
    if snapshots:
        raise UserError("snapshot: a distributed run keeps no models; leave --distributed out.")
    from ngo.distributed import check
    from ngo.processes import launch

    if processes is None:
        _take_part(spec, out, root, how)
        return
    check(spec, out, processes, how["asynchronous"], how["on_failure"])
    click.echo(spec.id, err=True)
    policy = {name: how[name] for name in ("timeout", "on_failure")}
    launch(partial(_take_part, spec, out, root, how), processes, **policy)


def _take_part(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    from ngo.distributed import run

    last = run(spec, out, root, **how, report=lambda row: click.echo(str(row), err=True))
    if last is not None:
        _tell(spec, last, out)


def _snapshot(step: str) -> int | str:
    if step == FINAL or step.isdecimal():
        return step if step == FINAL else int(step)
    raise UserError(f"snapshot: {step!r} is no step; it must be a whole number, or {FINAL!r}.")


def _read_spec(path: Path) -> dict[str, object]:
    """A run from JSON: a bare specification, or a run.json that holds one."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"spec: {str(path)!r} is no JSON object: {error}") from None
    values = values.get("spec", values) if isinstance(values, dict) else values
    if not isinstance(values, dict):
        raise UserError(f"spec: {str(path)!r} is no JSON object.")
    for name in values:
        if name not in FIELDS:
            raise unknown("spec", name, FIELDS)
    return {name: value for name, value in values.items() if value is not None}


@contextmanager
def _stops():
    """Tell that a signal stopped the run, and end as programs do that one ends."""
    from ngo.checkpoint import Stopped

    try:
        yield
    except Stopped as stopped:
        click.echo(f"ngo: {stopped}", err=True)
        sys.exit(128 + stopped.number)


@contextmanager
def _progress(spec: RunSpec):
    """(report, progress, tell) for a run: a bar on a terminal, plain lines in a log."""
    click.echo(spec.id, err=True)
    if not sys.stderr.isatty():

        def tell(line: object) -> None:
            click.echo(str(line), err=True)

        yield tell, (lambda step: None), tell
        return
    from tqdm import tqdm

    per_step = spec.workers * spec.batch_size
    with tqdm(total=spec.samples, unit=" samples", unit_scale=True, leave=False) as bar:

        def tell(line: object) -> None:
            bar.write(str(line), file=sys.stderr)

        yield tell, (lambda step: bar.update(step * per_step - bar.n)), tell
