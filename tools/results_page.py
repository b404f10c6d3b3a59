"""Write docs/results.md from what a tier has made in results/: run by ``make results-page``.

Every number on the page is read from the tables and the runs' own records in results/.
"""

import json
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
TABLES = ("table1", "table1_claims", "tableS1")

PAGE = """\
# Results of the {tier} tier

Made by

    make {tier}

(for the first table alone: `snakemake table1 --cores 2 --configfile config/{tier}.yaml`), and
written here by `make results-page`.

{runs} runs, whose training took {minutes:.0f} minutes one after another; source {sources};
torch {torch}; {devices}.

In the tables, a difference is decided where its 95 % interval over seeds, paired by seed, excludes
0. The seed draws the partition, and that decides most of a non-iid accuracy: few images are used,
and a class may be absent. The columns of means show an order; the verdicts say how much of it these
seeds establish.
"""


def recorded(records: list[dict], *keys: str) -> str:
    """The distinct values at a path of keys in the runs' records."""
    values = set()
    for value in records:
        for key in keys:
            value = value[key]
        values.add(str(value))
    return ", ".join(sorted(values))


def page(tier: str) -> str:
    """The text of docs/results.md."""
    results = REPOSITORY / "results"
    caption = (results / "tables/table1.md").read_text(encoding="utf-8").splitlines()[0]
    if f"Tier {tier};" not in caption:
        sys.exit(f"results/tables/table1.md is not of the {tier} tier: make {tier} first")
    runs = sorted((results / "runs").glob("*/run.json"))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in runs]
    seconds = sum(record["wall_seconds"] for record in records)
    head = PAGE.format(
        tier=tier,
        runs=len(records),
        minutes=seconds / 60,
        sources=recorded(records, "source"),
        torch=recorded(records, "versions", "torch"),
        devices=recorded(records, "device"),
    )
    tables = [(results / f"tables/{name}.md").read_text(encoding="utf-8") for name in TABLES]
    return "\n".join([head, *tables])


if __name__ == "__main__":
    (REPOSITORY / "docs/results.md").write_text(page(sys.argv[1]), encoding="utf-8")
