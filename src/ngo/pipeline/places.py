"""Where the results of a tier are, from the working directory."""

CLAIMS = "claims"
"""The name of the table of claims."""


def tier_folder(tier: str) -> str:
    """The folder of a tier's tables and figures; tiers share runs, partitions and data sets."""
    return f"results/{tier}"


def tidy_table(tier: str, name: str) -> str:
    """The path of a tidy table."""
    return f"{tier_folder(tier)}/metrics/{name}.parquet"
