"""The tables and figures, their inputs and their outputs.

The notebook ``notebooks/NAME.ipynb`` makes an artefact from tidy metrics and the paper's numbers.
To add one, write an entry in a module of ``artefacts_of``, a notebook, and an experiment in the
config.

Light: the workflow imports this module at every start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ngo.common.registry import Registry

FIGURE = ("png", "pdf", "csv")
TABLE = ("csv", "md", "tex", "html")

BEYOND = "What the paper leaves open"


def tier_folder(tier: str) -> str:
    """The folder of a tier's artefacts; tiers share runs, partitions and data sets."""
    return f"results/{tier}"


def tidy_table(tier: str, name: str) -> str:
    """The path of a tidy table."""
    return f"{tier_folder(tier)}/metrics/{name}.parquet"


@dataclass(frozen=True)
class Artefact:
    """A table or figure, or several from one notebook."""

    title: str
    #: The paper's section.
    section: str
    #: Names of tidy tables in ``results/TIER/metrics``, by the notebook's parameters.
    metrics: Mapping[str, str]
    #: The files in ``results/TIER/figures`` and ``results/TIER/tables``, without suffixes.
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    #: The file in ``config/reference`` with the paper's numbers, without its suffix.
    reference: str | None = None
    #: The fields that distinguish runs (or partitions) of one seed. None if the artefact shows each
    #: run by itself, or no runs.
    apart: tuple[str, ...] | None = None
    #: Whether its notebook has the parameter ``network``, the config's networks.
    priced: bool = False

    def inputs(self, tier: str) -> dict[str, str]:
        """The input files, by the notebook's parameters."""
        files = {name: tidy_table(tier, table) for name, table in self.metrics.items()}
        return {**files, **({"reference": self.published} if self.reference else {})}

    @property
    def published(self) -> str:
        """The file with the paper's numbers."""
        return f"config/reference/{self.reference}.csv"

    def outputs(self, tier: str) -> list[str]:
        """The output files, the one to look at first."""
        files = [f"figures/{name}.{kind}" for name in self.figures for kind in FIGURE]
        files += [f"tables/{name}.{kind}" for name in self.tables for kind in TABLE]
        return [f"{tier_folder(tier)}/{file}" for file in files]


ARTEFACTS: Registry[Artefact] = Registry("artefact")
CLAIMS = "claims"  # the table of claims: it reads the tidy tables that the file of claims names


def published() -> list[str]:
    """The files with the paper's numbers; claims may compare with any of them."""
    return sorted({entry.published for entry in ARTEFACTS.values() if entry.reference})
