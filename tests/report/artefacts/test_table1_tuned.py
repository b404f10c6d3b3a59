"""Table 1 with each protocol at its own best γ."""

from made_up import TABLE1, tuned_runs, tuned_runs_without_a_stable_gamma

from ngo.analysis.tuning import tuned_table
from ngo.report.artefacts import table1_tuned


def test_the_best_gamma_is_printed_with_its_edge():
    printed = table1_tuned.print_tuned(tuned_table(tuned_runs(), TABLE1)).set_index("Protocol")
    assert printed["Best γ"].to_dict() == {
        "centralized": "–", "gossip": "0.1 (smallest)", "ngo": "0.3"
    }  # fmt: skip
    assert printed.loc["ngo", "γ = 1"] == "1 of 3 diverged"
    assert printed.loc["centralized", "γ = 1"] == "–"


def test_a_protocol_that_diverges_at_every_gamma_has_a_dash():
    table = tuned_table(tuned_runs_without_a_stable_gamma(), TABLE1)
    assert table1_tuned.print_tuned(table)["Test"].tolist()[-1] == "–"


def test_the_table_and_its_claims_are_saved(tmp_path):
    tuned_runs().to_parquet(tmp_path / "metrics.parquet")
    made = table1_tuned.make(tmp_path / "metrics.parquet", TABLE1, tier="test", out=tmp_path)
    assert made.tables[1]["Claim"].tolist() == ["ring ngo > ring gossip"]
    assert len(list((tmp_path / "tables").iterdir())) == 8
