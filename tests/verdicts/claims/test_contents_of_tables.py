"""The rows that claims read: what is refused, with its row, and what is judged all the same."""

import pandas as pd
import pytest
import yaml

import verdicts
from verdicts.registry import UserError

SIDES = {"of": {"method": "B"}, "minus": {"method": "A"}, "value": "score"}
CLAIM = {
    "place": "here", "says": "B beats A", "kind": "order", "from": "t", "above": 0,
    "quantity": "difference", "with": SIDES,
}  # fmt: skip


def runs(**changes):
    """Three evaluations of each of eight runs; row 3 is the last of A's first."""
    rows = pd.DataFrame(
        {"method": method, "seed": seed, "run": f"{method}{seed}", "step": step,
         "score": mean + each + step / 100, "diverged": False}
        for method, mean in (("A", 70), ("B", 73))
        for seed, each in enumerate([0.3, -0.2, 0.1, -0.4])
        for step in (9, 10, 100)
    ).astype(object)  # fmt: skip
    for name, value in changes.items():
        rows.loc[2, name] = value
    return rows


def check(folder, *tables, top=None, kind="csv", **changes):
    for name, rows in zip("tuv", tables, strict=False):
        if kind == "csv":
            rows.to_csv(folder / f"{name}.csv", index=False)
        else:
            rows.infer_objects().to_parquet(folder / f"{name}.parquet")
    claims = {"c": {**CLAIM, "from": list("tuv")[: len(tables)], **changes}}
    (folder / "claims.yaml").write_text(yaml.safe_dump({"claims": claims, **(top or {})}))
    (row,) = verdicts.check(folder / "claims.yaml", folder)
    return row


def refused(folder, *tables, **changes):
    with pytest.raises(UserError) as caught:
        check(folder, *tables, **changes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step": "s9"}, "t.csv: step: 's9' in row 3 is not a whole number."),
        ({"step": "inf"}, "t.csv: step: inf in row 3 is not a whole number."),
        ({"seed": None}, "t.csv: row 3 has no seed."),
        ({"seed": 7}, "t.csv: run 'A0' has the seeds 0 and 7; give each run its own name."),
        ({"score": "bad"}, "t.csv: score: 'bad' in row 3 is not a number."),
        ({"step": 10}, "t.csv: rows 2 and 3 are both of run 'A0' at step 10 and differ in score;"),
    ],
)
def test_a_row_that_is_not_what_it_is_read_as_is_named(tmp_path, changes, said):
    assert refused(tmp_path, runs(**changes)).startswith(said)


def test_two_rows_that_are_the_same_are_named_with_their_table(tmp_path):
    rows = runs()[lambda t: t["step"] == 100].drop(columns=["run", "step"]).reset_index(drop=True)
    same = pd.concat([rows, rows[5:6]], ignore_index=True)
    assert refused(tmp_path, same) == "t.csv: rows 6 and 9 are the same; remove one."


def test_rows_that_no_claim_reads_may_be_anything(tmp_path):
    other = {"method": "C", "seed": "x", "run": None, "step": "last", "score": "bad"}
    rows = pd.concat([runs(), pd.DataFrame([{**other, "diverged": False}])])
    assert check(tmp_path, rows).estimate == pytest.approx(3)
    mean = check(tmp_path, rows, **{"with": {**SIDES, "value": {"mean": "score"}}})
    assert mean.estimate == pytest.approx(3)


def test_seeds_and_steps_may_be_floats_and_texts_that_are_whole(tmp_path):
    rows = pd.concat([runs(), pd.DataFrame([{"method": "C", "score": 1, "diverged": False}])])
    assert check(tmp_path, rows).pairs == 4
    (tmp_path / "t.csv").unlink()
    texts = runs().astype({"seed": str, "step": str})
    assert check(tmp_path, texts, kind="parquet").estimate == pytest.approx(3)


def test_the_last_step_is_the_largest_number_not_the_last_text(tmp_path):
    """As text, "9" is after "100"."""
    rows = runs().astype({"step": str})
    rows["score"] = [100 if step == "9" and method == "A" else 1 + (method == "B") for step, method
                     in zip(rows["step"], rows["method"], strict=True)]  # fmt: skip
    assert check(tmp_path, rows, kind="parquet").estimate == pytest.approx(1)


def test_runs_of_two_sides_or_universes_may_have_one_name(tmp_path):
    assert check(tmp_path, runs().assign(run=runs()["seed"])).estimate == pytest.approx(3)
    both = pd.concat([runs().assign(universe=k) for k in (0, 1)])
    one = {"where": {"universe": 0}}
    assert check(tmp_path, both, **one).estimate == pytest.approx(3)
    said = refused(tmp_path, both.rename(columns={"universe": "data"}))
    assert said.startswith("t.csv: rows 1 and 25 are both of run 'A0' at step 9 and differ in data")


def test_tables_that_have_the_same_run_must_agree(tmp_path):
    assert check(tmp_path, runs(), runs()).estimate == pytest.approx(3)
    said = "t.csv and u.csv: run 'A0' at step 100 differs in score; keep one of them."
    assert refused(tmp_path, runs(), runs(score=0)) == said
    assert check(tmp_path, runs(), runs(score=0, method="C")).estimate == pytest.approx(3)


def test_a_table_without_steps_beside_one_with_them_does_not_vanish(tmp_path):
    a, b = (runs()[runs()["method"] == method] for method in "AB")
    assert refused(tmp_path, a, b.drop(columns="step")) == "u.csv: row 1 has no step."


def test_a_column_of_times_is_no_number(tmp_path):
    rows = runs().assign(score=pd.Timestamp("2026-01-31"))
    said = refused(tmp_path, rows, kind="parquet")
    assert said.startswith("t.parquet: score: it has datetime64[")
    rows = runs().assign(score=pd.Timedelta(1))
    assert "it has timedelta64[" in refused(tmp_path, rows, kind="parquet")
