"""Where the results of a tier are, from the working directory."""

from pathlib import Path

#: The name of the table of claims.
CLAIMS = "claims"

#: The folder of finished runs, each in one of its own; tiers share them.
RUNS = Path("results/runs")

#: The folder of a tier with the files and tables of jobs.
JOBS = "jobs"

#: The tier that README.md shows.
FIRST = "laptop"

#: The names of pages that are not those of their tier; docs/board.md has all papers.
PAGES = {FIRST: "results", "board": "settings"}


def tier_folder(tier: str) -> str:
    """The folder of a tier's tables and figures; tiers share runs, partitions and data sets."""
    return f"results/{tier}"


def job_table(tier: str, job: str) -> str:
    """The path of the table of a job's runs."""
    return f"{tier_folder(tier)}/{JOBS}/{job}.parquet"


def partition_file(tier: str, setting: str) -> str:
    """The path of the partitions of a setting."""
    return f"{tier_folder(tier)}/partitions/{setting}.parquet"


def tidy_table(tier: str, name: str) -> str:
    """The path of a tidy table."""
    return f"{tier_folder(tier)}/metrics/{name}.parquet"


def shipped_metrics(root: Path) -> dict[str, Path]:
    """The shipped archives of metrics in the repository ``root``, by tier."""
    end = "-metrics.tar"
    found = sorted((root / "results/archive").glob(f"*{end}"))
    return {path.name.removesuffix(end): path for path in found}


def page_of(tier: str) -> str:
    """The name of a tier's page in docs/, and of its folder in docs/images."""
    return PAGES.get(tier, tier)


def pages_of(tier: str) -> list[str]:
    """The paths in docs/ of a tier's pages; the first has the answers."""
    if tier == FIRST:
        return ["results.md", "results/claims.md", "results/figures.md"]
    return [f"papers/{page_of(tier)}.md"]
