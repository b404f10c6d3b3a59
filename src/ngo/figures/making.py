"""Making a table or figure from its file: its numbers, its drawing, its captions, its outputs."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from ngo.analysis.published import sole_dataset
from ngo.common.files import removed_if_damaged, write_text
from ngo.common.registry import UserError
from ngo.figures import captions, plots
from ngo.figures.declaration import ANY, Declared, read_declared
from ngo.figures.style import house_style
from ngo.figures.tables import save_table
from ngo.training.evaluation import Evaluation
from ngo.training.tidy import read_tidy

#: One tidy table, or several by the names of outputs.
Tables = pd.DataFrame | dict[str, pd.DataFrame]

PREFIX = "ngo_figure_"  # of the modules' names, so that no library is shadowed

EVALUATED = {each.name for each in fields(Evaluation)}


@dataclass(frozen=True)
class Output:
    """A saved figure, printed tables, or both. In a notebook, it displays all of them."""

    picture: Path | None = None
    """The PNG file of the figure."""
    tables: tuple[pd.DataFrame, ...] = ()

    def _ipython_display_(self) -> None:
        from IPython.display import Image, display

        if self.picture:
            display(Image(self.picture.read_bytes()))
        for table in self.tables:
            display(table)


class Opened:
    """An imported file of a figure or table; a notebook calls ``numbers``, then ``save``."""

    def __init__(self, source: str | Path, experiment: str | None = None) -> None:
        """Import the file ``source``; ``experiment`` is that of a default figure."""
        facts = read_declared(Path(source))
        self.facts: Declared = facts.of(experiment) if experiment else facts
        self.module: ModuleType = _imported(Path(source))
        self._inputs: dict[str, Any] = {}

    def numbers(self, **inputs: Any) -> Tables:
        """The numbers; ``inputs`` are the parameters, with paths of tidy tables as Parquet.

        Raises a UserError if runs lack a column that evaluations have: strangers' may.
        """
        self._inputs = {
            name: _tidy(value) if name in self.facts.reads else value
            for name, value in inputs.items()
        }
        try:
            found: Tables = self.module.numbers(**self._inputs)
        except KeyError as error:
            named = re.findall(r"\w+", str(error))  # pandas words it in several ways
            lost = [name for name in named if name in EVALUATED and self._lacks(name)]
            if not lost:
                raise
            raise UserError(
                f"{self.facts.name}: the runs that it reads have no column {lost[0]!r}."
            ) from error
        return found

    def save(self, numbers: Tables, tier: str, out: str | Path) -> Output:
        """Draw, print and save: ``OUT/figures/NAME.png`` (pdf, csv), ``OUT/tables/NAME.md`` (…).

        ``OUT/captions/NAME.rst`` has the text, for Snakemake's report.
        """
        made_by = self._made_by(tier)
        whole = _by_name(numbers, (*self.facts.figures, *self.facts.tables))
        write_text(f"{out}/captions/{self.facts.name}.rst", f"{self.facts.text}\n\nTier {tier}.\n")
        picture = None
        for name in self.facts.figures:
            with house_style():
                figure = self.module.draw(numbers)
                plots.caption(figure, *self._notes(numbers), made_by)
                shown = whole[name].assign(tier=tier)
                picture = plots.save_figure(figure, f"{out}/figures/{name}", shown)
        printed: dict[str, pd.DataFrame] = {}
        if names := self.facts.tables:
            printed = _by_name(self.module.show(numbers), names)
            texts = _by_name(self.module.caption(numbers, **self._inputs), names)
            for name in names:
                shown, text = whole[name].assign(tier=tier), f"{texts[name]} {made_by}"
                save_table(shown, printed[name], f"{out}/tables/{name}", text)
        return Output(picture, tuple(printed.values()))

    def _lacks(self, column: str) -> bool:
        return any(column not in table for table in self._tables)

    @property
    def _tables(self) -> list[pd.DataFrame]:
        given = [self._inputs[name] for name in self.facts.reads]
        return [
            each for one in given for each in (one.values() if isinstance(one, dict) else [one])
        ]

    @property
    def _runs(self) -> pd.DataFrame | None:
        """The tidy tables of runs as one, or else those about data; None if there is none."""
        about = [each for each in self._tables if {"dataset", "seed"} <= set(each)]
        about = [each for each in about if "run" in each] or about
        return pd.concat(about, ignore_index=True) if about else None

    def _notes(self, numbers: Tables) -> list[str]:
        if hasattr(self.module, "note"):
            told = self.module.note(numbers, **self._inputs)
            return [told] if isinstance(told, str) else list(told)
        runs = self._runs
        return captions.about(runs) if runs is not None and "run" in runs else []

    def _made_by(self, tier: str) -> str:
        if any(ANY in read for read in self.facts.reads.values()):
            return f"Tier {tier}. {captions.mixed_versions(self._tables)}".strip()
        runs = self._runs
        if runs is None:
            return f"Tier {tier}; no data set."
        paper = self.facts.stands_for
        if paper is None and self.facts.reference:
            paper = sole_dataset(self._inputs["reference"])
        return captions.made_by(tier, runs, paper)


def _imported(source: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(PREFIX + source.stem, source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def _tidy(given: Any) -> Any:
    """The tidy table in a file; those in several files, by name."""
    if isinstance(given, list):
        return {Path(each).stem: _tidy(each) for each in given}
    with removed_if_damaged(given):
        return read_tidy(given).to_pandas()


def _by_name(made: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What was made, by name; one thing alone is that of each of ``names``."""
    return dict(made) if isinstance(made, Mapping) else dict.fromkeys(names, made)
