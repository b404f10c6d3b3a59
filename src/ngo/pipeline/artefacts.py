"""The figures and tables of a config: each is a notebook, and what the workflow must know of it.

The config's section ``figures`` has the facts, by name. The notebook is ``notebooks/NAME.ipynb``,
or that in a paper's own folder; its first cell has the title and the text.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ngo.common.registry import UserError, in_a_line, shown, unknown

ANY = "*"
"""In the place of a table: all that claims are about. In a pattern: ``universes_*``."""

FIGURE = ("png", "pdf", "csv")
TABLE = ("csv", "md", "tex", "html")

OF_CLAIMS = {
    "section": "Claims",
    "reads": ANY,
    "figure": False,
    "tables": ["claims", "claims_cells"],
    "asks": ["network", "claims"],
}
OF_EXPERIMENT = {"section": "Experiments", "of_experiment": True}
"""The facts of the table of claims, and of an experiment that no figure reads."""


@dataclass(frozen=True)
class Artefact:
    """The facts of a figure or table."""

    name: str
    notebook: Path
    section: str
    #: Names of tidy tables, by the parameter of the notebook; one alone is that of ``metrics``. For
    #: a pattern, the parameter is a list of all tables that match.
    reads: Mapping[str, str]
    #: Whether there is a drawing, ``results/TIER/figures/NAME.png``.
    figure: bool = True
    #: The names of files in ``results/TIER/tables``, without suffixes.
    tables: tuple[str, ...] = ()
    #: The CSV file with the paper's numbers, by name.
    reference: str | None = None
    #: The fields that distinguish runs (or partitions) of one seed. None if each run is shown by
    #: itself, or none.
    apart: tuple[str, ...] | None = None
    #: Numbers that the config gives: each parameter with a range, above the first number and at
    #: most the second.
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: Further parameters: ``network``, the config's networks, and ``claims``, the file of claims.
    asks: tuple[str, ...] = ()
    #: Whether its notebook is the one of all experiments that no figure reads.
    of_experiment: bool = False

    @classmethod
    def read(cls, name: str, facts: Mapping, notebook: Path) -> Artefact:
        """From an entry of the config; what it does not state has a default."""
        reads = facts.get("reads", name)
        given = {key: tuple(each) for key, each in facts.items() if isinstance(each, list)}
        named = reads if isinstance(reads, Mapping) else {"metrics": reads}
        return cls(**{**facts, **given, "name": name, "notebook": notebook, "reads": named})

    def outputs(self) -> list[str]:
        """The files, from the folder of a tier; the one to look at first comes first."""
        return [
            *(f"figures/{self.name}.{kind}" for kind in FIGURE if self.figure),
            *(f"tables/{name}.{kind}" for name in self.tables for kind in TABLE),
        ]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of its notebook."""
        reference = ["reference"] if self.reference else []
        own = ["experiment"] if self.of_experiment else []
        return (*self.reads, *reference, *self.asks, *self.values, *own, "tier", "out")

    @property
    def title(self) -> str:
        """The title of the notebook; the name of an experiment."""
        return self.name if self.of_experiment else self._text[0]

    @property
    def text(self) -> str:
        """What it shows, what the paper says, and what to look at."""
        return self._text[1]

    @cached_property
    def _text(self) -> tuple[str, str]:
        try:
            cells = json.loads(self.notebook.read_text(encoding="utf-8"))["cells"]
            first = "".join(cells[0]["source"])
        except FileNotFoundError:
            raise UserError(
                f"figures.{self.name}: there is no {self.notebook}; ngo notebook {self.name} "
                "writes a start."
            ) from None
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise UserError(f"{self.notebook}: no notebook: {in_a_line(error)}") from None
        title, _, text = first.partition("\n")
        return title.lstrip("# ").strip(), text.strip()

    @property
    def place(self) -> tuple[object, ...]:
        """The place in its paper: by section, then by title; numbers count as numbers."""
        words = re.findall(r"\d+|\D+", f"{self.section}\0{self.title}")
        return tuple((not word.isdigit(), int(word) if word.isdigit() else word) for word in words)

    def check_values(self, given: Mapping[str, float], *, asked: bool) -> None:
        """Raise a one-line UserError for the first number that is not among ``values``.

        If the figure is ``asked`` for, none may be missing.
        """
        key = f"artefacts.{self.name}"
        for name, value in given.items():
            if name not in self.values:
                raise unknown(key, name, self.values)
            low, high = self.values[name]
            if not low < value <= high:
                raise UserError(
                    f"{key}.{name}: {shown(value)} is not allowed; it must be a number above "
                    f"{low:g} and at most {high:g}."
                )
        if asked and (missing := [name for name in self.values if name not in given]):
            raise UserError(f"{key}: {missing[0]!r} is missing.")
