"""The command line. Each command checks its input before it imports anything heavy."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

import ngo
from ngo import datasets
from ngo.devices import DEVICES, chosen, claimed
from ngo.files import writable_folder, write_text
from ngo.registry import UserError, unknown
from ngo.spec import DEFAULTS, FIELDS, RunSpec, flag, resolve

RESULT = click.Path(path_type=Path)
INPUT = click.Path(path_type=Path, exists=True, dir_okay=False)


class Commands(click.Group):
    """Commands in the order of the pipeline; a UserError is a line and exit code 2."""

    def list_commands(self, context: click.Context) -> list[str]:
        """In the order of definition."""
        return list(self.commands)

    def invoke(self, context: click.Context) -> object:
        """Tell a user's mistake without a traceback."""
        try:
            return super().invoke(context)
        except UserError as error:
            click.echo(f"ngo: {error}", err=True)
            sys.exit(2)
        except KeyboardInterrupt:
            click.echo("ngo: interrupted", err=True)
            sys.exit(130)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ngo.__version__)
def main() -> None:
    r"""Nonlinear gossiping for decentralized optimization.

    n workers each take an SGD step on their own data, then pull towards their neighbours:
    x_i += γ Σ_j W_ij φ_p(x_j − x_i), φ_p(z) = sign(z)|z|^(2p−1).

    \b
    Train one run, with no data to download:
      ngo train --dataset digits --protocol ngo --p 0.9 --batch-size 16 --epochs 20 --out out/
    Compare with linear gossip, on the same partition, batches and initial parameters:
      ngo train --dataset digits --protocol gossip --batch-size 16 --epochs 20 --out out2/
    See what a config would train:
      ngo runs --config config/config.yaml --config config/laptop.yaml
    Make a table or figure of the paper:
      snakemake --cores all table1

    COMMAND --help explains each.
    """


def run_fields(*names: str) -> Callable:
    """Options for fields of a run; the command gets those that were given as ``given``."""

    def decorate(command: Callable) -> Callable:
        for name in reversed(names):
            field = FIELDS[name]
            allowed = ", ".join(sorted(field.names)) if field.names is not None else field.range
            command = click.option(
                flag(name),
                name,
                type=field.kind if field.names is None else str,
                metavar=field.kind.__name__.upper(),
                help=f"{field.help}: {allowed}  [default: {DEFAULTS[name]}]",
            )(command)
        return command

    return decorate


def data_root_option(command: Callable) -> Callable:
    """The --data-root option, which goes before NGO_DATA."""
    return click.option(
        "--data-root",
        type=click.Path(path_type=Path),
        help=f"Folder of the data sets  [default: ${datasets.ROOT_VARIABLE}, "
        f"else {datasets.DEFAULT_ROOT}/]",
    )(command)


@main.command()
@click.argument("name")
@data_root_option
@click.option("--out", type=RESULT, help="Write the files' checksums here, as JSON.")
def data(name: str, data_root: Path | None, out: Path | None) -> None:
    """Verify a data set's files, downloading those that are absent."""
    source = datasets.DATASETS[name]
    root = datasets.prepare(name, datasets.data_root(data_root))
    if out is not None:
        facts = {"dataset": name, "train_samples": source.train_samples, "files": source.files}
        write_text(out, json.dumps(facts, indent=2) + "\n")
    found = (
        f"{len(source.files)} files verified in {root}" if source.files else "no files of its own"
    )
    click.echo(f"{name}: {found}")


@main.command()
@run_fields("dataset", "partition", "shards", "shards_per_worker", "beta", "workers", "seed")
@data_root_option
@click.option("--out", type=RESULT, required=True, help="The partition file (parquet).")
def partition(data_root: Path | None, out: Path, **given: object) -> None:
    """Decide who owns which sample: a parquet file of (worker, sample, label)."""
    from ngo.partition import summary
    from ngo.partition_file import draw, write

    # A partition belongs to any run that has it; centralized asks nothing of the other fields.
    spec = _spec(given, protocol="centralized", batch_size=1)
    labels = datasets.train_labels(spec.dataset, datasets.data_root(data_root))
    parts = draw(spec, labels)
    write(out, spec, labels, parts)
    sizes = [len(part) for part in parts]
    covered = summary(labels, parts, datasets.DATASETS[spec.dataset].classes).classes_covered
    click.echo(
        f"{spec.partition_id}: {sum(sizes)} samples, {min(sizes)} to {max(sizes)} for each of "
        f"{spec.workers} workers, {covered} classes covered"
    )


@main.command()
@run_fields(*FIELDS)
@click.option("--spec", "spec_file", type=INPUT, help="A run as JSON, instead of flags.")
@click.option("--partition-file", type=INPUT, help="From `ngo partition`; drawn anew without it.")
@data_root_option
@click.option("--device", default="auto", show_default=True, help=f"One of {', '.join(DEVICES)}.")
@click.option("--backend", default="auto", show_default=True, help="auto, loop or threads.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads  [default: all cores]")
@click.option("--out", type=RESULT, required=True, help="Folder of metrics.parquet and run.json.")
def train(
    spec_file: Path | None,
    partition_file: Path | None,
    data_root: Path | None,
    device: str,
    backend: str,
    threads: int | None,
    out: Path,
    **given: object,
) -> None:
    """Train one run.

    Writes metrics.parquet, a row for each evaluation, and run.json: the run's specification,
    versions, device, source revision, final numbers and wall time. The same run gives the same
    metrics, byte for byte, with any number of threads.
    """
    if spec_file is not None:
        given = {**_read_spec(spec_file), **{k: v for k, v in given.items() if v is not None}}
    spec = _spec(given)
    chosen(device)
    root = datasets.data_root(data_root)
    datasets.check(spec.dataset, root)
    writable_folder(out)
    parts = None
    if partition_file is not None:
        from ngo.partition_file import read

        parts = read(partition_file, spec)
    with claimed(device) as place, _progress(spec) as (report, progress):
        from ngo.training import run

        last = run(
            spec,
            out,
            root,
            parts=parts,
            device=place,
            backend=backend,
            threads=threads,
            report=report,
            progress=progress,
        )
    outcome = "diverged" if last.diverged else f"consensus model {last.consensus_accuracy:.2%}"
    click.echo(f"{spec.id}: {outcome} after {last.epoch:g} epochs, {last.seconds:.1f} s → {out}")


@main.command()
@click.option(
    "--config", "configs", multiple=True, required=True, type=INPUT, help="Overlays last."
)
@click.option("--schema", type=INPUT, help="The config's schema  [default: the workflow's]")
@click.option("--json", "as_json", is_flag=True, help="The whole table, for machines.")
def runs(configs: tuple[Path, ...], schema: Path | None, as_json: bool) -> None:
    """List the runs that a config would train, with their ids, and how much that is."""
    from ngo.experiments import SCHEMA, plan, read_config, summary

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
@click.option("--topology", default="ring", show_default=True)
@click.option("--workers", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--u", type=float, default=0.4, show_default=True, help="Of a random graph.")
@click.option("--p", "exponents", type=click.FloatRange(min=0.5), multiple=True, default=[0.9])
@click.option("--gamma", type=float, default=0.1, show_default=True, help="Length of a step.")
@click.option("--rounds", type=click.IntRange(min=1), default=500, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def consensus(
    topology: str,
    workers: int,
    u: float,
    exponents: tuple[float, ...],
    gamma: float,
    rounds: int,
    seed: int,
    out: Path,
) -> None:
    """Simulate consensus with no learning, from one Gaussian state, for each --p given."""
    from ngo.graphs import TOPOLOGIES
    from ngo.spec import check

    random = TOPOLOGIES[topology].random
    gamma, u = check("gamma", gamma), check("u", u) if random else None

    import pandas as pd
    import torch

    from ngo import results
    from ngo.consensus import simulate
    from ngo.graphs import mixing_stream
    from ngo.seeding import torch_stream

    X0 = torch.randn(workers, 1, generator=torch_stream(seed, "states"), dtype=torch.float64)
    tables = []
    for p in exponents:
        W = mixing_stream(topology, workers, u, torch_stream(seed, "graphs"))
        trajectory = simulate(X0, W, p, gamma, rounds)
        tables.append(results.trajectory_table(p, trajectory.states, trajectory.V))
        V = trajectory.V
        click.echo(f"p {p:g}: V {V[0]:.3g} → {V[-1]:.3g} in {rounds} rounds")
    results.write(pd.concat(tables, ignore_index=True), out)


@main.command()
@click.option("--topology", "topologies", multiple=True, default=["ring", "complete"])
@click.option("--workers", type=click.IntRange(min=2), multiple=True, default=[4, 16, 36, 64])
@click.option("--u", type=float, default=0.4, show_default=True, help="Of random graphs.")
@click.option("--draws", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=RESULT, required=True, help="The tidy table (parquet).")
def spectra(
    topologies: tuple[str, ...],
    workers: tuple[int, ...],
    u: float,
    draws: int,
    seed: int,
    out: Path,
) -> None:
    """Degrees and spectral gaps of topologies; means over --draws for random ones."""
    from ngo.graphs import TOPOLOGIES
    from ngo.spec import check

    for name in topologies:
        TOPOLOGIES[name]
    check("u", u)
    from ngo import results

    table = results.spectral_table(topologies, workers, u, draws, seed)
    results.write(table, out)
    click.echo(f"{len(table)} spectra → {out}")


@main.command()
@click.argument("notebook", type=INPUT)
@click.option("--param", "-p", multiple=True, metavar="NAME=VALUE", help="VALUE is read as YAML.")
@click.option("--out", type=RESULT, required=True, help="The executed notebook.")
def notebook(notebook: Path, param: tuple[str, ...], out: Path) -> None:
    """Execute a notebook with parameters; one that it does not have is an error.

    The executed notebook stays where --out says, also when a cell raises.
    """
    from ngo.notebooks import execute

    execute(notebook, out, param)


def _spec(given: dict[str, object], **needed: object) -> RunSpec:
    """The run of the given flags; those that mean nothing for it are named and left out."""
    values = {name: value for name, value in given.items() if value is not None}
    spec = resolve({}, {**DEFAULTS, **needed, **values})
    for name, value in values.items():
        used = getattr(spec, name)
        if used != value:
            instead = "it is not used" if used is None else f"it is {used:g}"
            click.echo(f"note: {name} {value} has no effect here: {instead}", err=True)
    return spec


def _read_spec(path: Path) -> dict[str, object]:
    """A run from JSON: a bare specification, or a run.json that holds one."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        values = values.get("spec", values)
    except (AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"spec: {str(path)!r} is no JSON object: {error}") from None
    for name in values:
        if name not in FIELDS:
            raise unknown("spec", name, FIELDS)
    return {name: value for name, value in values.items() if value is not None}


@contextmanager
def _progress(spec: RunSpec):
    """(report, progress) for a run: a bar on a terminal, a plain line per evaluation in a log."""
    click.echo(spec.id, err=True)
    if not sys.stderr.isatty():
        yield (lambda row: click.echo(str(row), err=True)), (lambda step: None)
        return
    from tqdm import tqdm

    per_step = spec.workers * spec.batch_size
    with tqdm(total=spec.samples, unit=" samples", unit_scale=True, leave=False) as bar:
        yield (
            (lambda row: bar.write(str(row), file=sys.stderr)),
            (lambda step: bar.update(per_step)),
        )
