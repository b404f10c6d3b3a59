"""``ngo reproduce``: a paper's printed numbers and its runs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ngo.cli.cli import main
from ngo.pipeline.paths import REPOSITORY
from ngo.pipeline.printed_numbers import printed_and_measured
from verdicts import check, read_claims
from verdicts.reproduction import LEVEL, reproduce

CLAIMS = """
claims:
  levels:
    {place: Table 1, says: levels, kind: number, from: runs, quantity: level, every_cell: true,
    unit: points, cells: {"{method}": {for_each: {method: [a, b]}, method: "{method}",
    paper: {file: table.csv, column: value, where: {method: "{method}"}}}}}
  otherwise:
    {place: Table 1, says: by runs that there are not, kind: number, from: absent, quantity: level,
    unit: points, where: {method: c}, paper: {file: table.csv, column: value, where: {method: c}}}
  best:
    {place: Table 1, says: at the best rate, kind: number, from: tuned, quantity: best_contrast,
    with: {terms: [{weight: 1}], choose: [lr]}, unit: points, circular: fitted, where: {method: c},
    paper: {file: table.csv, column: value, where: {method: c}}}
  never:
    {place: Table 1, says: never run, kind: number, from: absent, quantity: level, unit: points,
    paper: {file: table.csv, column: value, where: {method: d}}}
"""
PRINTED = "method,value,sd,seeds,page\na,50.0,1,4,7\nb,60.0,,,7\nc,70,,,7\nd,80,,,7\n"


def tidy(random, method, score, seeds=8, **more):
    given = {"method": method, "diverged": False, "step": 1, **more}
    given |= {"run": [f"{method}{more}{seed}" for seed in range(seeds)], "seed": range(seeds)}
    accuracy = random.normal(score / 100, 0.01, seeds)
    return pd.DataFrame({"consensus_accuracy": accuracy, "holdout_accuracy": accuracy, **given})


@pytest.fixture
def paper(tmp_path):
    """A claims file with its printed numbers, and tables in which lr = 0.2 is the best of c."""
    random = np.random.default_rng(0)
    (tmp_path / "claims.yaml").write_text(CLAIMS)
    (tmp_path / "table.csv").write_text(PRINTED)
    runs = pd.concat([tidy(random, "a", 50), tidy(random, "b", 40)], ignore_index=True)
    tuned = [tidy(random, "c", 60 + 50 * lr, lr=lr) for lr in (0.1, 0.2)]
    tables = {"runs": runs, "tuned": pd.concat(tuned, ignore_index=True)}
    for name, table in tables.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path, read_claims(tmp_path / "claims.yaml"), tables


def test_numbers_have_the_runs_and_the_verdicts_of_the_claims_on_them(paper):
    folder, claims, tables = paper
    printed, measured = printed_and_measured(claims, tables)
    found = reproduce(measured, printed).of(LEVEL).set_index("method")
    judged = {row.cell: row.verdict for row in check(folder / "claims.yaml", folder)}
    assert found["verdict"]["b"] == judged["b"] == "not met"
    assert found["verdict"][["a", "c", "d"]].to_list() == ["consistent", "consistent", "not run"]
    assert found["se"]["a"] == 0.5  # four seeds
    assert found["apart"]["c"] == "fitted"  # as the claim that was run says
    assert "absent" not in found["note"]["c"]
    assert "absent" in found["note"]["d"]
    ours = reproduce(measured, printed).frame.set_index(["method", "setting"])["ours"]
    assert ours["a", ""] == pytest.approx(100 * tables["runs"]["consensus_accuracy"][:8].mean())
    # the values among which a claim chooses are settings
    assert ours["c", ""] == ours["c", "lr=0.2"] > ours["c", "lr=0.1"]


def test_a_shipped_paper_is_compared_number_by_number(tmp_path):
    given = ["reproduce", "clipped_gossip", "--out", f"{tmp_path / 'out'}"]
    assert CliRunner().invoke(main, given).exit_code == 0
    rows = pd.read_csv(tmp_path / "out/reproduction.csv")
    levels = rows[(rows["kind"] == LEVEL) & rows["main"]]
    assert levels["printed"].to_list() == [93.77, 93.65, 86.9]
    assert (levels["seeds"] == 10).all()


def test_init_writes_a_paper_whose_config_has_a_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config").symlink_to(REPOSITORY / "config")
    Path("table.csv").write_text("method,topology,value\ngossip,ring,90.5 ± 0.4\n")
    call = CliRunner().invoke
    assert call(main, ["reproduce", "init", "mine", "--from", "table.csv"]).exit_code == 0
    configs = ["--config", "config/config.yaml", "--config", "papers/mine/config.yaml"]
    told = call(main, ["runs", *configs])
    assert told.exit_code == 0, told.output
    (cell,) = read_claims("papers/mine/reference/claims.yaml").claims["table"].cells.values()
    assert cell.expectation.value == 90.5
    for wrong in (["init"], ["init", "mine", "--from", "table.csv"], ["init", "a-b"], ["nobody"],
                  ["init", "x", "--from", "absent.csv"], ["mine", "--gaps", "x"]):  # fmt: skip
        failed = call(main, ["reproduce", *wrong])
        assert failed.exit_code == 2
        assert len(failed.output.strip().splitlines()) == 1
