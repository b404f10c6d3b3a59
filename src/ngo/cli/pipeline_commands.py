"""``ngo runs``, and the commands that the workflow calls: tables, notebooks, assumptions and the
page of results.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from ngo.analysis import table_files
from ngo.analysis.universes import in_universes
from ngo.cli import LOG
from ngo.cli.options import INPUT, RESULT, configs_option, ending, table_option
from ngo.common.files import write_text
from ngo.data import download
from ngo.pipeline import assumptions as assumed_values
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import Plan, plan
from ngo.training import tidy
from verdicts.registry import one_of


def summary(plan: Plan) -> str:
    """One line about how much a plan trains."""
    runs = plan.runs.values()
    samples = sum(spec.samples for spec in runs)
    experiments, sampled = len(plan.training) - len(plan.universes), len(plan.universes)
    of = f"{experiments} experiment{'s' * (experiments != 1)}"
    of += f" and {sampled} sample{'s' * (sampled != 1)} of universes" if sampled else ""
    partitions = len({name for specs in plan.drawn.values() for name in specs})
    return f"{len(runs)} runs of {of} on {partitions} partitions train {samples:,} samples"


@click.command()
@configs_option()
@click.option("--json", "as_json", is_flag=True, help="Print all fields of all runs as JSON.")
@click.option("--try", "tries", is_flag=True, help="Take the first steps of plugins' entries.")
def runs(configs: tuple[Path, ...], as_json: bool, tries: bool) -> None:
    """List the runs of a config, and count their samples.

    Mistakes in the config and in its claims are told. With --try, each combination that uses an
    entry of a plugin takes its first steps, on a few workers, so that mistakes in their code are
    told too.

    List the runs of the demo, in the repository's folder:
      ngo runs --config config/config.yaml --config config/demo.yaml
    """
    table = plan(read_config(configs))
    if Path(table.claims).exists():
        _ = table.ledger  # it is checked
    else:
        LOG.warning("note: claims: %r is not there yet", table.claims)
    if tries:
        from ngo.pipeline.job_training import try_combinations

        root = download.data_root(config=table.config["data"]["root"])
        try_combinations(own := table.own_combinations, root)
        click.echo(f"{len(own)} combinations with entries of plugins take their first steps")
        return
    if as_json:
        listed = [(name, spec) for name, specs in table.training.items() for spec in specs]
        rows = [{"experiment": name, "id": spec.id, **spec.values()} for name, spec in listed]
        click.echo(json.dumps(rows, indent=2))
        return
    for name, specs in table.training.items():
        click.echo("\n  ".join([f"{name}: {len(specs)} runs", *(spec.id for spec in specs)]))
    click.echo(f"{table.tier}: {summary(table)}")


@click.command()
@click.argument("source", type=INPUT)
@click.option(
    "--param", "-p", multiple=True, metavar="NAME=VALUE", help="Set a parameter; VALUE is YAML."
)
@click.option("--out", type=RESULT, required=True, help="Executed notebook to write.")
def notebook(source: Path, param: tuple[str, ...], out: Path) -> None:
    """Execute the notebook SOURCE with parameters.

    An unknown parameter is an error. The executed notebook is written to --out, even if a cell
    raises an exception.
    """
    from ngo.pipeline.notebooks import execute

    execute(source, out, param)


@click.command()
@click.argument("metrics", nargs=-1, required=True, type=INPUT)
@click.option("--universes", help="A table of universes of the configs: adds their columns.")
@configs_option("none: without --universes")
@table_option
def aggregate(
    metrics: tuple[Path, ...], universes: str | None, configs: tuple[Path, ...], out: Path
) -> None:
    """Join tables of jobs, and metrics files of runs, into one tidy table.

    A column tells which versions of the libraries made the runs, if they differ.
    """
    table = tidy.aggregate(metrics)
    if universes is None and out.suffix == ".parquet":
        tidy.write_tidy(table, out)
    else:
        shown = table.to_pandas(use_threads=False)
        if universes is not None:
            known = plan(read_config(configs)).universes if configs else {}
            shown = in_universes(shown, known[one_of("universes", universes, known)])
        table_files.write(shown, out)
    diverged = len(table.filter(table["diverged"])["run"].unique())
    counts = f"{len(table['run'].unique())} runs, {len(table)} evaluations, {diverged} diverged"
    click.echo(f"{counts} → {out}")


@click.command()
@click.argument("partitions", nargs=-1, required=True, type=INPUT)
@click.option("--partition", "ids", multiple=True, help="Only partitions with this id.")
@table_option
def classes(partitions: tuple[Path, ...], ids: tuple[str, ...], out: Path) -> None:
    """Count the samples per class and worker of partition files."""
    table_files.write(table_files.class_counts(partitions, ids or None), out)
    click.echo(f"{len(partitions)} files of partitions → {out}")


@click.command()
@configs_option()
@click.option(
    "--out",
    "outs",
    multiple=True,
    type=ending(".md", ".html"),
    help="Write to this .md or .html file  [default: standard output]",
)
def assumptions(configs: tuple[Path, ...], outs: tuple[Path, ...]) -> None:
    """List the values that the paper does not state, with reasons."""
    values = assumed_values.of_paper(configs)
    tier = read_config(configs)["tier"]
    forms = {".md": assumed_values.as_markdown, ".html": assumed_values.as_html}
    for out in outs:
        write_text(out, forms[out.resolve().suffix](values, tier))
    line = f"{len(values)} value{'s' * (len(values) != 1)} → {', '.join(map(str, outs))}"
    click.echo(line if outs else forms[".md"](values, tier))


@click.command()
@configs_option()
@click.option("--out", type=ending(".html"), required=True, help="Page to write (HTML).")
def report(configs: tuple[Path, ...], out: Path) -> None:
    """Write the results of a tier as one HTML file.

    The file needs no other file and no network. It has the verdict on each claim, the findings,
    all tables and figures, the assumptions and the provenance of the runs. The results are read
    from results/.
    """
    from ngo.pipeline.report_contents import report_contents
    from ngo.report.pages import html_page

    contents = report_contents(configs)
    write_text(out, html_page(contents))
    click.echo(f"{len(contents.rows)} claims, {len(contents.shown)} tables and figures → {out}")
