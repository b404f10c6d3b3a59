"""The command ``verdicts``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from verdicts.files import write_together
from verdicts.registry import UserError, check, load_plugin, printable

if TYPE_CHECKING:
    from verdicts.row import Row


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    given = parser().parse_args(arguments)
    try:
        for name in getattr(given, "imported", ()):
            load_plugin(name)
        status = given.run(given)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except UserError as error:
        print(f"verdicts: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the output has gone
        _write_no_more()
        return 1
    except OSError as error:  # a full disk, for example
        _write_no_more()
        print(f"verdicts: output: {error.strerror or error}.", file=sys.stderr)
        return 2


def _write_no_more() -> None:
    """Drop what waits to be printed, so that the end of the process does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """The parser of the command's arguments; ``format_help`` of it is the help."""
    return _parsers()[0]


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, such as ``check``, by its name."""
    return _parsers()[1]


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(
        prog="verdicts", description="Judge claims on tables of results."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(run: Callable[[argparse.Namespace], int], brief: str) -> argparse.ArgumentParser:
        """A command with the name and the description of its function."""
        text = " ".join(str(run.__doc__).split())
        command = commands.add_parser(run.__name__.strip("_"), help=brief, description=text)
        command.set_defaults(run=run)
        return command

    judge = add(_check, "judge the claims of a file")
    judge.add_argument("claims", type=Path, help="the claims file (YAML)")
    told = "the folder with the tables that claims name: NAME.parquet or NAME.csv (default: .)"
    judge.add_argument("--tables", type=Path, default=Path(), metavar="DIR", help=told)
    told = "exit with status 1 if a claim fails, and 2 if its table, or a text that it selects, "
    judge.add_argument("--strict", action="store_true", help=f"{told}is not there")
    show = add(_show, "print verdicts that were written before")
    show.add_argument("verdicts", type=Path, help="the table (CSV)")
    for command in (judge, show):
        told = "what is printed (default: text)"
        command.add_argument("--format", choices=list(FILES), default="text", help=told)
        told = "also write the verdicts to this folder, in every format and as a table (CSV)"
        command.add_argument("--out", type=Path, metavar="DIR", help=told)
    logs = add(_import, "make a table of the logs that other tools wrote")
    logs.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="files, or folders")
    told = "wandb, tensorboard, mlflow, lightning, huggingface, or files: one CSV file a run"
    logs.add_argument("--as", dest="format", required=True, metavar="FORMAT", help=told)
    logs.add_argument("--pattern", help="settings in names of runs: {method}/seed{seed}.csv")
    logs.add_argument("--step", metavar="COLUMN", help="the column with steps")
    logs.add_argument("--out", type=Path, metavar="FILE.csv", help="write the table, too")
    ranks = add(_compare, "rank methods by a metric")
    ranks.add_argument("table", type=Path, help="the table (CSV or Parquet)")
    ranks.add_argument("--by", required=True, metavar="COLUMN", help="that of the methods")
    ranks.add_argument("--metric", required=True, metavar="COLUMN", help="at the end of runs")
    told = "tasks, over which values are averaged; may be repeated"
    ranks.add_argument("--over", action="append", default=[], metavar="COLUMN", help=told)
    told = "which end of the metric is best; by default, as its name says"
    ranks.add_argument("--best", choices=("lowest", "highest"), help=told)
    ranks.add_argument("--picture", type=Path, metavar="FILE", help="draw it (PNG, PDF, SVG)")
    register = add(_register, "say when claims were first made, before the runs")
    register.add_argument("claims", type=Path, help="the claims file (YAML)")
    told = "default: NAME.registered.yaml, where NAME.yaml is"
    register.add_argument("--out", type=Path, metavar="FILE", help=told)
    quantities = add(_quantities, "list what claims can be about")
    quantities.add_argument("name", nargs="?", help="show this quantity only, in full")
    schema = add(_schema, "print the JSON Schema of claims files")
    rates = add(_rates, "simulate how often verdicts are false")
    rates.add_argument("--simulations", type=int, default=500, metavar="N")
    which = rates.add_mutually_exclusive_group()
    which.add_argument("--looks", action="store_true", help="of families with a plan of looks")
    which.add_argument("--universes", action="store_true", help="of claims over universes")
    which.add_argument("--tuned", action="store_true", help="of sides at their best values")
    which.add_argument("--unpaired", action="store_true", help="of sides that are not paired")
    told = "a module, or a Python file, that registers quantities; may be repeated"
    for command in (judge, register, quantities, schema):
        command.add_argument(
            "--import", dest="imported", action="append", default=[], metavar="NAME", help=told
        )
    return parser, commands.choices


#: How verdicts are printed, each with the ending of the file that ``--out`` writes.
FILES = {"text": "txt", "markdown": "md", "json": "json", "html": "html"}


def _check(given: argparse.Namespace) -> int:
    """Judge the claims of a file on tidy tables, and print a verdict on each. The exit status is 0
    whatever the verdicts are, 1 with --strict if a claim fails (or is reversed), and 2 for a
    mistake: a column that is not in its table, for example. With --strict, a table that is not
    there is a mistake, too, and so is a text that a claim selects and no row has, but for optional
    claims.
    """
    from verdicts import check, read_claims
    from verdicts.registration import registration_path
    from verdicts.statistics.judgement import FAILS, MOSTLY_REVERSED, NOT_MET, REVERSED

    if given.out is not None and given.out.resolve() == given.tables.resolve():
        raise UserError(f"out: {str(given.out)!r} is the folder of the tables; choose another.")
    rows = check(given.claims, given.tables, strict=given.strict)
    read = [given.claims]
    if given.out is not None:
        printed = read_claims(given.claims).printed
        read += [registration_path(given.claims), *printed, *given.tables.glob("*.csv")]
    _print(rows, given, read)
    bad = (FAILS, REVERSED, NOT_MET, MOSTLY_REVERSED)
    failed = any(row.verdict in bad for row in rows if not row.cell)
    return 1 if given.strict and failed else 0


def _show(given: argparse.Namespace) -> int:
    """Print the verdicts in a CSV file that `verdicts check --out` wrote."""
    from verdicts.row import read_rows

    _print(read_rows(given.verdicts), given, [given.verdicts])
    return 0


def _print(rows: list[Row], given: argparse.Namespace, read: Sequence[Path]) -> None:
    """Print the rows in the format that was asked for, and write all if there is a folder.

    ``read`` are the files that they are from, which are not written over.
    """
    from verdicts import as_table, report

    formats: dict[str, Callable[[list[Row]], str]] = {
        "text": report.as_text,
        "markdown": report.as_markdown,
        "json": report.as_json,
        "html": report.as_page,
    }
    print(printable(formats[given.format](rows), keep="\n"), end="")
    if given.out is None:
        return
    contents = {"csv": as_table(rows).to_csv(index=False, lineterminator="\n")}
    contents |= {ending: formats[name](rows) for name, ending in FILES.items()}
    files = {f"verdicts.{name}": printable(text, keep="\n") for name, text in contents.items()}
    write_together(given.out, files, read)


def _import(given: argparse.Namespace) -> int:
    """Read the logs of runs, tell what was understood, and write them as a table for claims."""
    from verdicts.importers import import_logs

    check(not given.out or given.out.suffix == ".csv", "out", str(given.out), "end it in .csv")
    table, preview = import_logs(given.paths, given.format, given.pattern, given.step)
    print(preview)
    if given.out is not None:
        content = table.to_csv(index=False, lineterminator="\n")
        write_together(given.out.parent, {given.out.name: content}, given.paths)
    return 0


def _compare(given: argparse.Namespace) -> int:
    """Compare all pairs of methods, paired where they share seeds; print means with intervals,
    ranks (Holm's method), and which methods are within the noise of the best.
    """
    from verdicts.comparison import as_text, compare, draw
    from verdicts.rows.tables import read_table

    lowest = None if given.best is None else given.best == "lowest"
    table = compare(read_table(given.table), given.by, given.metric, given.over, lowest)
    print(printable(as_text(table, given.metric), keep="\n"), end="")
    if given.picture is not None:
        draw(table, given.metric, given.picture)
    return 0


def _register(given: argparse.Namespace) -> int:
    """Write the form of each claim (a hash of what decides it), the date and the revision of the
    sources to a file, which you commit before the runs. A second time, claims that are new or
    changed are added; nothing is removed.
    """
    from verdicts.registration import check_claims, register

    check_claims(given.claims)
    out, number, new = register(given.claims, given.out)
    print(f"{number} claim{'' if number == 1 else 's'}; {new} new or changed: {out}")
    return 0


def _quantities(given: argparse.Namespace) -> int:
    """List the quantities."""
    from verdicts.quantity_registry import QUANTITIES

    names = [given.name] if given.name else sorted(QUANTITIES)
    print("\n\n".join(QUANTITIES[name].description for name in names))
    return 0


def _schema(given: argparse.Namespace) -> int:
    """Print the JSON Schema of claims files. Editors complete and check a claims file that names
    it.
    """
    from verdicts.claims.claims_file import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))
    return 0


def _rates(given: argparse.Namespace) -> int:
    """Simulate families of claims whose truth is known; print error rates as CSV."""
    from verdicts.statistics import error_rates as rates

    if given.simulations < 1:
        raise UserError(f"simulations: {given.simulations} is not allowed; at least 1.")
    if given.universes:
        found = rates.multiverse_rates(given.simulations)
    elif given.tuned:
        found = rates.tuned_rates(given.simulations)
    elif given.unpaired:
        found = rates.unpaired_rates(given.simulations)
    else:
        found = (rates.sequential_rates if given.looks else rates.error_rates)(given.simulations)
    print(found.to_csv(index=False), end="")
    return 0
