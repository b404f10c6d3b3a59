"""Archives of a table, its claims and what made them: packed, judged again, and made again.

What lies in ``results`` was made: tables, and the files of runs from which the Snakefile makes
them. All else in an archive are sources. An archive may be a stranger's: to make runs again, its
sources must be those of the checkout, byte for byte, and the checkout's Snakefile makes them.

``ngo verify`` draws, compares and reports by the same functions.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil, comb
from pathlib import Path
from typing import Any

import numpy as np

from verdicts import judging, members, registration, report, verdict_rows
from verdicts.claims.claims_file import read_claims
from verdicts.files import content_of
from verdicts.lazy import pd
from verdicts.members import ABOUT, Members, inside, refusing
from verdicts.registry import UserError, strange
from verdicts.table import KINDS, read_table

#: The member with the verdicts, as one line; and the folder of all that was made.
VERDICTS, RESULTS = "verdicts.json", "results"

#: What was checked, how, and what differs, if anything does.
Check = tuple[str, str, str | None]

#: The shares of forged runs for which the probability of missing all is printed.
SHARES = (0.01, 0.05, 0.1, 0.5, 1)


def pack(claims: Path, tables: Path, files: Iterable[Path]) -> Members:
    """The members of an archive: claims, the tables that they read, further files, the verdicts.

    ``files`` are runs and sources. All are in the working directory. Raises a UserError for another
    file, for one that no archive has, and like ``judging.check``.
    """
    text, read_from = report.as_line(judging.check(claims, tables)), read_claims(claims)
    places = [tables / f"{name}{kind}" for name in read_from.tables for kind in KINDS]
    places += [registration.registration_path(claims), *read_from.printed]
    named = [claims, *files, *(place for place in places if place.exists())]
    paths = {inside("archive", str(path)): path for path in named}
    most = {name: members.kind_of(name).bound for name in paths}
    packed = {name: content_of(path, "archive", most[name]) for name, path in paths.items()}
    about = {"claims": inside("claims", str(claims)), "tables": inside("tables", str(tables))}
    described = (json.dumps(about, indent=2) + "\n").encode()
    return {**packed, VERDICTS: text.encode(), ABOUT: described}


def verify(archive: Path, sample: int, seed: int | None, tolerance: float) -> Iterator[Check]:
    """The checks of an archive: it is intact, its verdicts follow, and so do runs and tables.

    ``sample`` of its runs, drawn by ``seed``, and its tables are made again by the Snakefile of the
    working directory, in another folder; numbers may differ by the ``tolerance``. Raises a
    UserError for an archive that is refused, and if the Snakefile fails.
    """
    files = members.read(archive)
    yield "sums", f"{len(files)} files are intact", None
    with refusing(archive), strange(f"{ABOUT} or {VERDICTS} can't be read"):
        about, theirs = json.loads(files[ABOUT]), json.loads(files[VERDICTS])["verdicts"]
        claims, tables = (inside(ABOUT, about[key]) for key in ("claims", "tables"))
    made = [n for n in files if n.startswith(f"{RESULTS}/") and Path(n).suffix in KINDS]
    with tempfile.TemporaryDirectory(prefix="verdicts-") as place:
        folder = Path(place)
        members.write_members(folder, files)
        with refusing(archive):
            rows = judging.check(folder / claims, folder / tables)
        other = theirs != json.loads(report.as_line(rows))["verdicts"]
        told = f"{verdict_rows.counted(verdict_rows.counts(rows))} They follow from the tables"
        yield "verdicts", told, f"{VERDICTS} has others than follow from tables" if other else None
        if not sample:
            return
        sources = sorted(files.keys() - {*made, ABOUT, VERDICTS})
        alien = [n for n in sources if not Path(n).is_file() or Path(n).read_bytes() != files[n]]
        fault = f"{alien[0]!r} is not that of this folder: nothing was run" if alien else None
        yield "sources", "they are those of this folder", fault
        if alien:
            return
        names = {f"{tables}/{name}{kind}" for name in read_claims(claims).tables for kind in KINDS}
        runs = [name for name in made if name not in names]
        again = [*drawn(runs, sample, seed), *(name for name in made if name in names)]
        before = {name: _numbers_of(folder / name) for name in again}
        for name in again:
            (folder / name).unlink()
        _make(again, folder)
        for name, table in before.items():
            new = _numbers_of(folder / name)
            allowed = dict.fromkeys(map(str, new.select_dtypes("number")), tolerance)
            yield name, "made again, the same", difference(table, new, allowed=allowed)
        yield "runs", missing(len(runs), min(sample, len(runs))), None


def _numbers_of(path: Path) -> pd.DataFrame:
    """The table in a file, without the dates at which runs were started."""
    return read_table(path).drop(columns="started", errors="ignore")


def _make(targets: Sequence[str], folder: Path) -> None:
    """Make the targets, which are not in the folder, by the Snakefile of the working directory."""
    command = [sys.executable, "-m", "snakemake", *targets, "--directory", str(folder)]
    command += ["--cores", "all", "--rerun-triggers", "mtime"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    how: Any = {"env": os.environ | {"PATH": path}, "capture_output": True, "text": True}
    answer = subprocess.run(command, **how)
    if answer.returncode or not all((folder / name).is_file() for name in targets):
        why = next((line for line in answer.stderr.splitlines() if "rror" in line), "no message")
        raise UserError(f"verify: the Snakefile can't make the drawn runs: {why}")


def reported(checks: Iterable[Check], tell: Callable[[str], object]) -> list[str]:
    """Print the outcome of each check. Returns the failures."""
    failed = []
    for what, how, fault in checks:
        tell(f"{'FAIL' if fault else 'pass'}  {what}: {fault or how}")
        failed += [f"{what}: {fault}"] if fault else []
    return failed


def drawn(names: Iterable[Any], sample: int, seed: int | None) -> list[Any]:
    """``sample`` of the ``names``, or all, uniformly by ``seed``; sorted."""
    known = sorted(names)
    return sorted(random.Random(seed).sample(known, min(sample, len(known))))


def missed(drawable: int, sample: int, share: float) -> float:
    """The probability of no forged one among ``sample`` of ``drawable``, without replacement.

    This ``share`` of them is forged, at least one.
    """
    forged = max(1, ceil(share * drawable))
    return comb(drawable - forged, sample) / comb(drawable, sample) if drawable else 1.0


def missing(drawable: int, sample: int, what: str = "runs made again") -> str:
    """A line on what was made again, with the probability of missing a forgery."""
    lost = (f"{100 * f:g} %: {100 * missed(drawable, sample, f):.1f} %" for f in SHARES)
    odds = "the probability of missing a forgery, by the share of them that is forged"
    return f"{sample} of {drawable} {what}; {odds}: {', '.join(lost)}"


def difference(
    theirs: pd.DataFrame, *ours: pd.DataFrame, allowed: Mapping[str, Any] | None = None
) -> str | None:
    """The first value of an archived table that differs from ``ours``, made here once, or twice.

    Those made twice, with two roundings, have the same columns and rows. ``allowed`` has a distance
    from the nearer one by column, as a number or by row; without, values must be equal.
    """
    one = ours[0]
    if other := other_shape(theirs, one):
        return other
    for name in one:
        x, least = theirs[name], (allowed or {}).get(str(name))
        near = pd.Series(False, index=x.index)
        for b in (again[name] for again in ours):
            near |= (x == b) | (x.isna() & b.isna())
            if least is not None and x.dtype.kind in "iuf":
                near |= (x - b).abs() <= least
        if not near.all():
            row = int(np.argmin(near))
            place = f"step {theirs['step'][row]}" if "step" in one else f"row {row}"
            here = " and ".join(str(again[name][row]) for again in ours)
            here += " with two roundings" * (len(ours) > 1)
            return f"{name} at {place}: {x[row]} in the archive, {here} here"
    return None


def other_shape(theirs: pd.DataFrame, ours: pd.DataFrame) -> str | None:
    """The first difference in columns, but for empty ones of theirs, and numbers of rows."""
    more = [name for name in theirs if name not in ours and theirs[name].notna().any()]
    for name in (*more, *(column for column in ours if column not in theirs)):
        return f"only one of the two has the column {name}"
    if len(theirs) != len(ours):
        return f"{len(theirs)} rows in the archive, {len(ours)} here"
    return None
