"""The command ``verdicts``."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, NoReturn, TextIO

from verdicts.files import write_together
from verdicts.registry import UserError, check, load_plugin, printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    with lenient_streams("verdicts"):
        try:
            given = parsers()["verdicts"].parse_args(arguments)
            for name in getattr(given, "imported", ()):
                load_plugin(name)
            return given.run(given) or 0
        except (UserError, OSError) as error:
            print(f"verdicts: {error}", file=sys.stderr)
            return 2


class OneLine(argparse.ArgumentParser):
    """A parser that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """End with the status 2."""
        self.exit(2, f"verdicts: {message}; {self.prog} --help lists what is allowed.\n")


def parsers() -> dict[str, OneLine]:
    """The parser of ``verdicts``, and those of its commands, by name; they print their help."""
    parser = OneLine(prog="verdicts", description="Judge claims on tables of results.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(run: Callable[[argparse.Namespace], int | None], brief: str) -> argparse.ArgumentParser:
        """A command with the name and the description of its function."""
        whole = " ".join(str(run.__doc__).split())
        command = commands.add_parser(run.__name__.strip("_"), help=brief, description=whole)
        command.set_defaults(run=run)
        return command

    judge = add(_check, "judge the claims of a file").add_argument
    register = add(_register, "say when claims were first made, before the runs").add_argument
    pack = add(_archive, "pack tables, their claims and what made them").add_argument
    for option in (judge, register, pack):
        option("claims", type=Path, help="the claims file (YAML)")
    text = "the folder with the tables that claims name: NAME.parquet or NAME.csv (default: .)"
    for option in (judge, pack):
        option("--tables", type=Path, default=Path(), metavar="DIR", help=text)
    judge("--strict", action="store_true", help="exit with status 1 if one fails or is not run")
    judge("--format", choices=list(FILES), default="text", help=PRINTED)
    judge("--out", type=Path, metavar="DIR", help="write the verdicts in every format, too")
    text = "pictures (PNG) and tables (CSV) for the page"
    judge("--show", type=Path, nargs="+", default=[], metavar="FILE", help=text)
    register("--out", type=Path, metavar="FILE", help="default: NAME.registered.yaml, beside it")
    text = "runs, in results/, and sources: configs, scripts, the Snakefile"
    pack("files", type=Path, nargs="*", metavar="FILE", help=text)
    pack("--out", type=Path, required=True, metavar="FILE.tar", help="the archive")
    again = add(_verify, "check an archive: judge again, make runs again").add_argument
    again("archive", type=Path, help="the archive (tar)")
    again("--sample", type=int, default=3, metavar="K", help="runs to make again (default: 3)")
    again("--seed", type=int, help="of the draw; choose it after you have the archive")
    again("--tolerance", type=float, default=0.0, metavar="X", help="of numbers (default: 0)")
    paper = add(_new, "start a paper: runs, figure, claims, page and archive").add_argument
    paper("folder", type=Path, help="a new folder")
    paper("--judge", metavar="ADDRESS", help="of the judge (default: where this one is from)")
    start = add(_init, "write a first claims file for a table").add_argument
    start("table", type=Path, help="your results (CSV or Parquet): a row for each run")
    start("--out", type=Path, metavar="FILE", help="default: claims.yaml, where the table is")
    needed = add(_plan, "say how many seeds decide a claim").add_argument
    needed("table", type=Path, nargs="?", help="results of a few seeds; or give --sd")
    needed("--sd", type=float, metavar="S", help="the spread of differences between seeds")
    needed("--margin", type=float, metavar="M", help="the largest difference that does not matter")
    needed("--family", type=int, default=1, metavar="N", help="so many claims (default: 1)")
    logs = add(_import, "make a table of the logs that other tools wrote").add_argument
    logs("paths", type=Path, nargs="+", metavar="PATH", help="files, or folders")
    text = "wandb, tensorboard, mlflow, lightning, huggingface, or files: one CSV file a run"
    logs("--as", dest="format", required=True, metavar="FORMAT", help=text)
    logs("--pattern", help="settings in names of runs: {method}/seed{seed}.csv")
    logs("--step", metavar="COLUMN", help="the column with steps")
    logs("--out", type=Path, metavar="FILE.csv", help="write the table, too")
    ranks = add(_compare, "rank methods by a metric").add_argument
    ranks("table", type=Path, help="the table (CSV or Parquet)")
    ranks("--by", required=True, metavar="COLUMN", help="that of the methods")
    ranks("--metric", required=True, metavar="COLUMN", help="at the end of runs")
    several: dict[str, Any] = {"type": names, "default": [], "metavar": "COLUMN,COLUMN"}
    ranks("--over", action="extend", help="tasks, to average over", **several)
    ranks("--best", choices=("lowest", "highest"), help="the best end, if its name does not say it")
    ranks("--format", choices=("text", "markdown", "latex"), default="text", help=PRINTED)
    ranks("--picture", type=Path, metavar="FILE", help="draw it (PNG, PDF, SVG)")
    reproduce = add(_reproduce, "ask whether runs reproduce a paper's printed numbers").add_argument
    file: dict[str, Any] = {"type": Path, "required": True, "metavar": "FILE"}
    reproduce("--printed", help="the paper's numbers: CSV, a table in Markdown or in LaTeX", **file)
    reproduce("--measured", help="your runs (CSV, Parquet): seeds, and the same columns", **file)
    reproduce("--value", default="value", metavar="COLUMN", help="your numbers (default: value)")
    text = "compare gaps, too: those of all values of a column from this one"
    reproduce("--gaps", type=pair, metavar="COLUMN=VALUE", help=text)
    reproduce("--margin", type=float, help="the largest difference that does not matter")
    text = "the widest interval that tells something (default: a fifth of the scale, if known)"
    reproduce("--width", type=float, help=text)
    reproduce("--unit", default="", help="of printed numbers without one: %%, share, or another")
    reproduce("--by", help="an answer for each value of these columns", **several)
    reproduce("--settings", help="columns of your runs that the paper leaves open", **several)
    text = "write the page, its picture and all rows to this folder; without, print the page"
    reproduce("--out", type=Path, metavar="DIR", help=text)
    quantities = add(_quantities, "list what claims can be about").add_argument
    quantities("name", nargs="?", help="show this quantity only, in full")
    rates = add(_rates, "simulate how often answers are false").add_argument
    text = "for each form of results (default: 1000; 100 take a minute; a slow form takes fewer)"
    rates("--simulations", type=int, default=1000, metavar="N", help=text)
    rates("--format", choices=("csv", "markdown"), default="csv", help=PRINTED)
    text = "a module, or a Python file, that registers quantities; may be repeated"
    for option in (judge, register, quantities, pack, again):
        option("--import", dest="imported", action="append", default=[], metavar="NAME", help=text)
    return {"verdicts": parser, **commands.choices}


#: How verdicts are printed, each with the ending of the file that ``--out`` writes.
FILES = {"text": "txt", "markdown": "md", "json": "json", "html": "html", "latex": "tex"}
FILES |= {"line": "jsonl", "badge": "svg"}
PRINTED = "what is printed (default: %(default)s)"


def _check(given: argparse.Namespace) -> int:
    """Judge the claims of a file on tidy tables, and print a verdict on each. The exit status is 0
    whatever the verdicts are, and 2 for a mistake: a column that is not in its table, for example.
    With --strict, it is 1 if a claim fails, is reversed or not met, or is not run.
    """
    from verdicts import report
    from verdicts.judging import check
    from verdicts.statistics import judgement
    from verdicts.verdict_rows import as_table

    if given.out is not None and given.out.resolve() == given.tables.resolve():
        raise UserError(f"out: {str(given.out)!r} is the folder of the tables; choose another.")
    rows = check(given.claims, given.tables)
    texts = {name: getattr(report, f"as_{name}")(rows) for name in FILES if name != "html"}
    texts["html"] = report.as_page(rows, shown=given.show)
    if given.out is not None:
        contents = {"csv": as_table(rows).to_csv(index=False, lineterminator="\n")}
        contents |= {ending: texts[name] for name, ending in FILES.items()}
        files = {f"verdicts.{name}": printable(text, keep="\n") for name, text in contents.items()}
        write_together(given.out, files, [given.claims, *given.show])
    print(printable(texts[given.format], keep="\n"), end="")
    failed = any(row.verdict in judgement.STRICT for row in rows if not row.cell)
    return 1 if given.strict and failed else 0


def _init(given: argparse.Namespace) -> None:
    """Write a claims file with comments from the columns of a table: one claim, on its two best
    methods, that is judged as it stands. Nothing is overwritten.
    """
    from verdicts.claims.draft import draft

    out = given.out or given.table.with_name("claims.yaml")
    if out.exists():
        raise UserError(f"out: {str(out)!r} is there; name another file with --out.")
    content, unknown = draft(given.table, out)
    write_together(out.parent, {out.name: printable(content, keep="\n")}, [given.table])
    print(f"{out}: change it, then: verdicts check {out} --tables {given.table.parent}")
    print(end=printable(unknown, keep="\n"))


def _import(given: argparse.Namespace) -> None:
    """Read the logs of runs, report what was understood, and write them as a table for claims."""
    from verdicts.importers import import_logs

    check(not given.out or given.out.suffix == ".csv", "out", str(given.out), "end it in .csv")
    table, preview = import_logs(given.paths, given.format, given.pattern, given.step)
    if given.out is not None:
        content = table.to_csv(index=False, lineterminator="\n")
        write_together(given.out.parent, {given.out.name: content}, given.paths)
    print(preview)


def _compare(given: argparse.Namespace) -> None:
    """Compare all pairs of methods, paired where they share seeds; print means with intervals,
    ranks (Holm's method), and which methods are within the noise of the best.
    """
    from verdicts.comparison import compare
    from verdicts.table import read_table

    endings = (".png", ".pdf", ".svg")
    fits = given.picture is None or given.picture.suffix in endings
    check(fits, "picture", str(given.picture), f"end it in one of {', '.join(endings)}")
    found = compare(read_table(given.table), given.by, given.metric, given.over, given.best)
    if given.picture is not None:
        found.plot(given.picture)
    texts = {"text": str(found), "markdown": found.to_markdown(), "latex": found.to_latex()}
    print(printable(texts[given.format], keep="\n"))


def _register(given: argparse.Namespace) -> None:
    """Write the form of each claim (a hash of what decides it), the date and the revision of the
    sources to a file, which you commit before the runs. A second time, claims that are new or
    changed are added; nothing is removed.
    """
    from verdicts.registration import register

    out, number, new = register(given.claims, given.out)
    print(f"{number} claim{'' if number == 1 else 's'}; {new} new or changed: {out}")


def pair(text: str) -> tuple[str, str]:
    """The column and the value in ``method=gossip``; a UserError for another text."""
    name, equal, value = text.partition("=")
    check(name and equal, "gaps", text, "write COLUMN=VALUE, such as method=baseline")
    return name, value


def names(text: str) -> list[str]:
    """The names in a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _reproduce(given: argparse.Namespace) -> None:
    """Compare a paper's printed numbers with yours, number by number and gap by gap, and answer by
    a stated rule: reproduced (or in part), in gaps but not in levels, not reproduced, or cannot be
    told with what is printed. All columns of the printed numbers but value, rounding, sd, se,
    seeds (how many runs a spread is of), unit, page, note and apart are keys, which your runs have,
    too. The first setting of a cell is the one that counts.
    """
    from verdicts import reproduction

    names = ("value", "gaps", "margin", "width", "unit", "settings", "by")
    options = {name: getattr(given, name) for name in names}
    files = given.measured, given.printed
    found = reproduction.reproduce(*files, **options)
    if given.out is None:
        print(printable(reproduction.as_markdown(found), keep="\n"), end="")
        return
    reproduction.write(given.out, found, inputs=files)
    print(printable(f"{found} {given.out / 'reproduction.html'}"))


def _plan(given: argparse.Namespace) -> None:
    """Say how many seeds decide a claim that one method is better than another, with a power of
    80 %, by the test that will decide: if the difference is the margin, and if there is none. Seeds
    are taken for independent, and their noise for normal.
    """
    from verdicts.judging import pilot
    from verdicts.statistics.planning import seeds_that_decide

    sd, margin, table = given.sd, given.margin, given.table
    check((table is None) != (sd is None), "plan", sd, "name a table, or give --sd")
    if table is not None:
        claim, sd, usual = pilot(table)
        margin = usual if margin is None else margin
        print(printable(f"{claim} ({table}):"))
    for name, value in {"sd": sd, "margin": margin, "family": given.family}.items():
        check(value is not None and 0 < value < inf, name, value, "give a number above 0")
    found = [seeds_that_decide(sd, effect, margin, given.family) for effect in (margin, 0)]
    holds, none = (f"{n:.0f}" if n < inf else "over 10,000" for n in found)
    print(f"sd {sd:.4g}, margin {margin:.4g}: {holds} seeds show a difference of the margin,")
    print(f"and {none} that there is none (power 80 %).")


def _new(given: argparse.Namespace) -> None:
    """Write a small paper to a new folder: an experiment, its runs by Snakemake, a figure, claims,
    one page, and an archive that others verify. Its README says how it becomes yours.
    """
    from verdicts.template_files import new

    new(given.folder, given.judge)
    print(f"{given.folder}: `make` there installs, trains, draws, judges and packs.")


def _archive(given: argparse.Namespace) -> None:
    """Pack claims, the tables that they read, further files and the verdicts as one tar file. The
    same files give the same bytes.
    """
    from verdicts.archive import pack
    from verdicts.members import write_archive

    files = pack(given.claims, given.tables, given.files)
    print(f"{len(files)} files → {given.out}, sha256 {write_archive(given.out, files)}")


def _verify(given: argparse.Namespace) -> int:
    """Check an archive: its sums, that its verdicts follow from its tables, and that some runs,
    which the seed draws, and the tables come out the same if the Snakefile of this folder makes
    them again. Nothing in the archive is run. The exit status is 1 if a check fails.
    """
    from verdicts.archive import reported, verify

    check(given.sample >= 0, "sample", given.sample, "at least 0")
    check(not given.sample or given.seed is not None, "seed", None, "name one, or --sample 0")
    checks = verify(given.archive, given.sample, given.seed, given.tolerance)
    return 1 if reported(checks, print) else 0


def _quantities(given: argparse.Namespace) -> None:
    """List the quantities."""
    from verdicts.quantities import QUANTITIES

    names = [given.name] if given.name else sorted(QUANTITIES)
    print("\n\n".join(QUANTITIES[name].description for name in names))


def _rates(given: argparse.Namespace) -> None:
    """Simulate results whose truth is known, in the forms in which they come; print how often the
    answers of the judge are false, and those of simpler rules: a row for each form and rule.
    """
    from verdicts.error_rates import as_markdown, rates

    check(given.simulations >= 1, "simulations", given.simulations, "at least 1")
    table = rates(given.simulations)
    text = as_markdown(table) if given.format == "markdown" else table.to_csv(index=False)
    print(text.rstrip("\n"))


# The standard streams of a command: work goes on where nobody reads what it prints.


class Lenient(io.FileIO):
    """A stream that drops what it can't write. A reader that has gone, as ``head`` has, is no
    error; another one is kept.
    """

    error: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write bytes, or drop them; returns their number."""
        try:
            return super().write(data)
        except OSError as error:  # a full disk, for example
            self.error = None if isinstance(error, BrokenPipeError) else error
        return len(data)


@contextmanager
def lenient_streams(program: str) -> Iterator[None]:
    """Standard output and standard error are lenient, or dropped if they are closed.

    If something could not be written, the process ends with a line and the exit code 2.
    """
    if sys.stdout is sys.__stdout__:  # and not that of a test
        sys.stdout, sys.stderr = _lenient(sys.stdout), _lenient(sys.stderr)
    try:
        yield
    finally:
        sys.stdout.flush()
        raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
        if isinstance(raw, Lenient) and raw.error:
            print(f"{program}: output: {raw.error.strerror}.", file=sys.stderr)
            raise SystemExit(2)


def _lenient(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w")
    buffer = io.BufferedWriter(Lenient(stream.fileno(), "w", closefd=False))
    by_line = bool(stream.line_buffering)
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=by_line)
