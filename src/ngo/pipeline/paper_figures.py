"""A paper in a config: who claims what, and its figures and tables.

Each figure or table is a notebook, and what the workflow must know of it: the config's section
``figures`` has these facts, by name. The first cell of the notebook has the title and the text. A
config may be a stranger's: its paper's name only selects a folder that is here already.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ngo.common.files import reading
from ngo.pipeline import paths
from ngo.pipeline.config import read_config
from verdicts.registry import UserError, check, one_of


@cache
def figures_of(name: str) -> Mapping[str, Mapping]:
    """The section ``figures`` of a paper's config in the repository; empty if it has none.

    Configs from before there was one have these figures.
    """
    path = paths.REPOSITORY / paths.config_of(name)
    return read_config([path]).get("figures", {}) if path.exists() else {}


def own_study(config: Mapping) -> dict[str, str]:
    """The paper of a user's study: what its config replaces in the NGO paper's section, else empty.

    The default title is the name of the tier.
    """
    ngo = read_config([paths.REPOSITORY / paths.CONFIG])["paper"]
    stated = {key: value for key, value in config["paper"].items() if value != ngo[key]}
    return {**dict.fromkeys(ngo, ""), "title": config["tier"], **stated}


def stated_files(config: Mapping, paper: str) -> dict[str, Any]:
    """The files ``claims`` and ``findings`` of a plan about a ``paper``.

    A user's study without a file has no claims, and a user's claims have no questions: those of the
    NGO paper are for its tables.
    """
    claims, findings = config["claims"], config.get("findings")
    folder = paths.reference_folder(paths.NGO)
    if not paper and claims == f"{folder}/claims.yaml" and Path(paths.NO_CLAIMS).exists():
        claims = paths.NO_CLAIMS
    if findings == f"{folder}/findings.yaml" and claims != f"{folder}/claims.yaml":
        findings = None
    return {"claims": claims, "findings": findings}


#: In the place of a table: all that claims are about. In a pattern: ``universes_*``.
ANY = "*"

FIGURE = ("png", "pdf", "csv")
TABLE = ("csv", "md", "tex", "html")

OF_CLAIMS = {
    **{"section": "Claims", "reads": ANY, "figure": False},
    **{"tables": ["claims", "claims_cells"], "asks": ["network", "claims"]},
}
#: The facts of the table of claims, and of an experiment that no figure reads.
OF_EXPERIMENT = {"section": "Experiments", "of_experiment": True}


def figures(config: Mapping, paper: str) -> dict[str, Artefact]:
    """The figures and tables of a config by name; without the section, those of its paper."""
    return {
        name: Artefact.read(name, entry, paths.notebook_of(paper, name))
        for name, entry in (config.get("figures") or figures_of(paper)).items()
        if entry is not None
    }


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
    tables: Sequence[str] = ()
    #: The CSV file with the paper's numbers, by name.
    reference: str | None = None
    #: The fields that distinguish runs (or partitions) of one seed. None if each run is shown by
    #: itself, or none.
    apart: Sequence[str] | None = None
    #: Numbers that the config gives: each parameter with a range, above the first number and at
    #: most the second.
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    #: Further parameters: ``network``, the config's networks, and ``claims``, the file of claims.
    asks: Sequence[str] = ()
    #: Whether its notebook is the one of all experiments that no figure reads.
    of_experiment: bool = False

    @classmethod
    def read(cls, name: str, facts: Mapping, notebook: Path) -> Artefact:
        """From an entry of the config; what it does not state has a default."""
        reads = facts.get("reads", name)
        named = reads if isinstance(reads, Mapping) else {"metrics": reads}
        return cls(**{**facts, "name": name, "notebook": notebook, "reads": named})

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
        experiment = ["experiment"] if self.of_experiment else []
        return (*self.reads, *reference, *self.asks, *self.values, *experiment, "out")

    @property
    def title(self) -> str:
        """The title of the notebook; the name of an experiment."""
        return self.name if self.of_experiment else self._text[0]

    @property
    def text(self) -> str:
        """The text of the notebook: what it shows, what the paper says, what to look at."""
        return self._text[1]

    @cached_property
    def _text(self) -> tuple[str, str]:
        if not self.notebook.exists():
            fault = f"there is no {self.notebook}; examples/figure.ipynb is a start"
            raise UserError(f"figures.{self.name}: {fault}.")
        with reading(f"{self.notebook}: no notebook"):
            cells = json.loads(self.notebook.read_text(encoding="utf-8"))["cells"]
            first = "".join(cells[0]["source"])
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
            one_of(key, name, self.values)
            low, high = self.values[name]
            wanted = f"it must be a number above {low:g} and at most {high:g}"
            check(low < value <= high, f"{key}.{name}", value, wanted)
        if asked and (missing := [name for name in self.values if name not in given]):
            raise UserError(f"{key}: {missing[0]!r} is missing.")
