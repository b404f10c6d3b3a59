"""The table of claims."""

import pandas as pd
import pytest
import yaml
from figure_files import made
from made_up import cell

from verdicts.quantities import QUANTITIES, Quantity

CLAIM = {"place": "Table 1", "says": "NGO learns", "kind": "order", "quantity": "accuracy_at_end"}


@pytest.fixture
def reference(tmp_path, monkeypatch):
    def at_end(rows):
        return rows[rows["step"] == 9].groupby("seed")["consensus_accuracy"].mean()

    name = CLAIM["quantity"]
    monkeypatch.setitem(QUANTITIES, name, Quantity(name, at_end, cases=False))
    entries = {
        "learns": {**CLAIM, "from": "own", "above": 0.1, "cells": {"ngo": {"method": "ngo"}}},
        "elsewhere": {**CLAIM, "from": "none", "above": 0.1},
    }
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({"claims": entries}, sort_keys=False))
    return path


def test_claims_and_their_cells_are_saved(tmp_path, reference):
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.71])
    pd.DataFrame(rows).to_parquet(tmp_path / "own.parquet")
    tables = [str(tmp_path / "own.parquet")]
    whole, cells = made("claims", tmp_path, metrics=tables, claims=reference).tables
    assert whole["Verdict"].tolist() == ["holds", "not run"]
    assert cells["Cell"].tolist() == ["ngo"]
    kinds = ("csv", "md", "tex", "html")
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    assert files == {f"claims{part}.{kind}" for part in ("", "_cells") for kind in kinds}
    text = (tmp_path / "tables/claims.md").read_text()
    assert text.startswith("Claims and their verdicts. Of 2 claims, 1 holds")
    table = pd.read_csv(tmp_path / "tables/claims.csv")
    assert table["claim"].tolist() == ["learns", "elsewhere"]
    assert set(table["tier"]) == {tmp_path.name}
    assert table["cell"].isna().all()


def test_a_file_without_claims_makes_empty_tables(tmp_path):
    (tmp_path / "claims.yaml").write_text("claims: {}\n")
    actual = made("claims", tmp_path, metrics=[], claims=tmp_path / "claims.yaml")
    assert [len(table) for table in actual.tables] == [0, 0]
    assert "Of 0 claims," in (tmp_path / "tables/claims.md").read_text()
