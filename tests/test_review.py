"""docs/review.md says of each claim that fails what it contradicts."""

import csv
import re

from conftest import REPOSITORY

from verdicts.claims.claim import MARKS

HEADING = "## What the fails contradict"


def test_every_claim_that_fails_is_named_and_no_other():
    page = (REPOSITORY / "docs/review.md").read_text(encoding="utf-8")
    section = page.split(HEADING)[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)[1:]
    named = [claim for cell in cells for claim in cell.split(", ")]
    path = REPOSITORY / "docs/board/claims.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["tier"] == "laptop"]
    failed = [
        row["claim"]
        for row in rows
        if row["verdict"] in ("fails", "reversed") and not {*row["remark"].split("; ")} & {*MARKS}
    ]
    assert sorted(named) == sorted(failed)
