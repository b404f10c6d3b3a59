"""Where files are: results of a tier, from the working directory, and the files of a paper.

A paper is a folder, ``papers/NAME``, with its config, claims, published numbers and notebooks: in
the working directory, or else in the repository. The NGO paper has them at the top.
"""

from __future__ import annotations

import os
from pathlib import Path

import ngo

PACKAGE = Path(ngo.__file__).parent
REPOSITORY = PACKAGE.parents[1]

CONFIG = Path("config/config.yaml")
#: The folders of papers other than that of ``CONFIG``, each with a ``config.yaml``.
PAPERS = Path("papers")

#: The paper whose config is the base of all configs.
NGO = "ngo"

#: A file of claims that has none.
NO_CLAIMS = "config/reference/no_claims.yaml"

#: The name of the table of claims.
CLAIMS = "claims"

#: The folder of finished runs, each in one of its own; tiers share them.
RUNS = Path("results/runs")

#: Folders of results/ that all tiers share or once shared: no tier may have these names.
SHARED = ("runs", "partitions", "data", "metrics", "archive", "shipped", "carry", "reproduction")
SHARED += ("candidates",)

#: Where Snakemake, or ``ngo restore``, works alone in a folder.
LOCK = ".snakemake/ngo.lock"

#: The tier that README.md shows.
FIRST = "laptop"

#: The names of pages that are not those of their tier; docs/board.md has all papers.
PAGES = {FIRST: "results", "board": "settings"}


def tier_folder(tier: str) -> str:
    """The folder of a tier's tables and figures; tiers share runs, partitions and data sets."""
    return f"results/{tier}"


def job_table(tier: str, job: str) -> str:
    """The path of the table of a job's runs."""
    return f"{tier_folder(tier)}/jobs/{job}.parquet"


def partition_file(tier: str, setting: str) -> str:
    """The path of the partitions of a setting."""
    return f"{tier_folder(tier)}/partitions/{setting}.parquet"


def tidy_table(tier: str, name: str) -> str:
    """The path of a tidy table."""
    return f"{tier_folder(tier)}/metrics/{name}.parquet"


def data_manifest(dataset: str) -> str:
    """The path of a data set's sums of files."""
    return f"results/data/{dataset}.json"


def shipped_metrics(root: Path) -> dict[str, Path]:
    """The shipped archives of metrics in the repository ``root``, by tier."""
    end = "-metrics.tar"
    archives = sorted((root / "results/archive").glob(f"*{end}"))
    return {path.name.removesuffix(end): path for path in archives}


def page_of(tier: str) -> str:
    """The name of a tier's page in docs/, and of its folder in docs/images."""
    return PAGES.get(tier, tier)


def pages_of(tier: str) -> list[str]:
    """The paths in docs/ of a tier's pages; the first has the answers."""
    if tier == FIRST:
        return ["results.md", "results/claims.md", "results/figures.md"]
    return [f"papers/{page_of(tier)}.md"]


def paper_names() -> list[str]:
    """The names of the papers that are here."""
    folders = [path for root in (Path(), REPOSITORY) for path in (root / PAPERS).glob("*/")]
    return sorted({NGO, *(folder.name for folder in folders)})


def config_of(paper: str) -> Path:
    """The config of a paper, from the repository."""
    return CONFIG if paper == NGO else PAPERS / paper / CONFIG.name


def notebook_of(paper: str, name: str) -> Path:
    """The notebook of a figure: the paper's own or a shared one, here or in the repository."""
    folders = (PAPERS / paper / "notebooks", Path("notebooks"))
    paths = [root / folder / f"{name}.ipynb" for root in (Path(), REPOSITORY) for folder in folders]
    return Path(os.path.relpath(next((path for path in paths if path.exists()), paths[1])))


def reference_folder(paper: str) -> str:
    """The folder with a paper's published numbers and claims, from the repository."""
    return "config/reference" if paper == NGO else f"{PAPERS}/{paper}/reference"


def published_numbers(paper: str, name: str) -> str:
    """A CSV file with published numbers of a paper: here, or in the repository."""
    folder = reference_folder(paper)
    folder = folder if Path(folder).is_dir() else os.path.relpath(REPOSITORY / folder)
    return f"{folder}/{name}.csv"


def archived_name(config: Path) -> str:
    """The name of a config file in archives and on pages, wherever it is here.

    ``papers/NAME/FILE`` for a file in the folder of a paper, and ``config/FILE`` for all others,
    also in a clone whose folder is named papers.
    """
    folder = config.absolute().parent
    if folder.parent.name == PAPERS.name and folder.name != CONFIG.parent.name:
        return f"{PAPERS}/{folder.name}/{config.name}"
    return f"{CONFIG.parent}/{config.name}"
