"""A paper's printed numbers and ours, as its claims on numbers name them, for ``ngo reproduce``.

The claims are those of ``reference/claims.yaml`` in the paper's folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ngo.pipeline import paths
from ngo.pipeline.archives.archive import archived_plan, read_archive
from ngo.pipeline.shipped_board import tables_of
from verdicts import read_claims, seed_numbers
from verdicts.claims import Claim, ClaimsFile
from verdicts.printed_tables import OF_NUMBERS, printed_number
from verdicts.registry import UserError, one_of
from verdicts.reproduction import in_words, keys_of, text_of
from verdicts.table import Selection, Tables, joined, selected


def of_paper(paper: str) -> tuple[Path, ClaimsFile, Path | None]:
    """The folder with a paper, its claims, and its shipped archive, if there is one."""
    one_of("paper", paper, paths.paper_names())
    folder = paths.reference_folder(paper)
    root = Path() if Path(folder).is_dir() else paths.REPOSITORY
    shipped = paths.shipped_metrics(root).get(paths.FIRST if paper == paths.NGO else paper)
    return root, read_claims(root / folder / "claims.yaml"), shipped


def on_numbers(claims: ClaimsFile) -> ClaimsFile:
    """The claims of a file that have a printed number; a UserError if none has one."""
    kept = {place.split(".cells.")[0].removesuffix(".paper") for place in claims.sources}
    named = {name: claim for name, claim in claims.claims.items() if f"claims.{name}" in kept}
    if not named:
        raise UserError("claims: the file has no claim on a printed number (paper: file).")
    return replace(claims, claims=named)


def archived_tables(
    files: Iterable[Path], names: Iterable[str], tell: Any
) -> dict[str, pd.DataFrame]:
    """The tidy tables with these names, each of the first archive that has it."""
    found: dict[str, pd.DataFrame] = {}
    for archive in map(read_archive, files):
        with archived_plan(archive, trusted=False, tell=tell) as planned:
            new = [name for name in names if name in planned.made and name not in found]
            found |= tables_of(planned, archive, new)
    return found


def printed_and_measured(claims: ClaimsFile, tables: Tables) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables that ``verdicts.reproduction`` compares.

    A cell is where a number is printed: ``table`` and the keys of its row. Claims on one number
    differ in their *setting*; so do the values among which a quantity chooses the best. A cell is
    apart if all of its claims that were run are marked, such as circular.
    """
    printed: dict[tuple, dict[str, Any]] = {}
    measured: list[pd.DataFrame] = []
    for group in by_number(claims).values():
        wheres = [{**claim.where, **where} for claim, where, _ in group]
        for (claim, where, source), whole in zip(group, wheres, strict=True):
            differs = {k: v for k, v in whole.items() if any(w.get(k) != v for w in wheres)}
            keys = {"table": claim.place} | {k: text_of(v) for k, v in source["where"].items()}
            row = {**keys, **{name: source["row"].get(name) or "" for name in OF_NUMBERS}}
            row["value"] = text = source["row"][source["column"]]
            row["rounding"] = row["rounding"] or printed_number(text).rounding
            unit = row["unit"] or {"points": "%"}.get(claim.unit, claim.unit)
            row |= {"unit": unit, "apart": (mark := row["apart"] or claim.mark_reason), "run": []}
            row = printed.setdefault(tuple(keys.items()), row)
            try:
                for setting, values in _settings(claim, where, claims, tables):
                    name = in_words({**differs, **setting})
                    ours = values.rename("value").rename_axis("seed").reset_index()
                    measured.append(ours.assign(**keys, setting=name))
                row["run"].append(mark)
            except UserError as error:
                row["note"] = str(error)
    if not measured:
        raise UserError(f"runs: there are none of a printed number: {row['note']}")
    for row in printed.values():
        if marks := row.pop("run"):
            row |= {"note": "", "apart": marks[0] if all(marks) else ""}
    numbers, numeric = pd.DataFrame([*printed.values()]), ["value", "rounding", "sd", "se", "seeds"]
    numbers[numeric] = numbers[numeric].apply(pd.to_numeric)
    return numbers.sort_values(keys_of(numbers), ignore_index=True), pd.concat(measured)


def by_number(claims: ClaimsFile) -> dict[tuple, list[tuple[Claim, Selection, Any]]]:
    """The claims and cells on each printed number, in their order."""
    found: dict[tuple, list] = {}
    for claim in claims.claims.values():
        whole = {f"claims.{claim.id}.paper": {}}
        cells = {f"claims.{claim.id}.cells.{k}.paper": c.where for k, c in claim.cells.items()}
        for place, where in (whole | cells).items():
            if source := claims.sources.get(place):
                number = source["file"], source["column"], tuple(source["where"].items())
                found.setdefault(number, []).append((claim, where, source))
    return found


def _settings(
    claim: Claim, where: Selection, claims: ClaimsFile, tables: Tables
) -> Iterator[tuple[Mapping[str, object], pd.Series]]:
    """Ours of a claim: at its values, then at each of those among which it chooses."""
    yield {}, seed_numbers(claim, where, claims, tables)
    if choose := claim.arguments.get("choose"):
        level = {"value": claim.arguments.get("value", "accuracy")}
        plain = replace(claim, quantity="level", arguments=level)
        rows = selected(joined(tables, claim.tables), {**claim.where, **where})
        for values in rows[[*choose]].drop_duplicates().to_dict("records"):
            yield values, seed_numbers(plain, {**where, **values}, claims, tables)
