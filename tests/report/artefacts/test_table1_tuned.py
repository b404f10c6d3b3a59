"""Table 1 with each method at its own best p and γ."""

from made_up import TABLE1, tuned_runs, tuned_runs_without_a_stable_gamma

from ngo.analysis.tuning import tuned_table, tuning_grid
from ngo.report.artefacts import table1_tuned


def test_the_best_gamma_is_printed_with_its_edge():
    printed = table1_tuned.print_tuned(tuned_table(tuned_runs(), TABLE1)).set_index("Method")
    assert printed["Best γ"].to_dict() == {
        "centralized": "–", "gossip": "0.1 (smallest)", "ngo": "0.3"
    }  # fmt: skip
    assert printed["Best p"].tolist() == ["–", "1", "0.9 (largest)"]


def test_the_grid_has_a_row_for_each_p_and_marks_the_best():
    printed = table1_tuned.print_grid(tuning_grid(tuned_runs())).set_index(["Method", "p"])
    assert list(printed.index) == [("gossip", "1"), ("ngo", "0.9"), ("ngo", "0.7")]
    assert printed.loc[("ngo", "0.9"), "γ = 1"] == "1 of 3 diverged"
    assert printed.loc[("ngo", "0.7"), "γ = 1"] == "–"
    starred = printed.filter(like="γ").map(lambda text: text.endswith(" *"))
    assert starred.to_numpy().sum() == 2
    assert starred.loc[("ngo", "0.9"), "γ = 0.3"]
    assert starred.loc[("gossip", "1"), "γ = 0.1"]


def test_a_method_that_diverges_at_every_gamma_has_a_dash():
    table = tuned_table(tuned_runs_without_a_stable_gamma(), TABLE1)
    assert table1_tuned.print_tuned(table)["Test"].tolist()[-1] == "–"


def test_the_table_and_the_grid_are_saved(tmp_path):
    tuned_runs().to_parquet(tmp_path / "metrics.parquet")
    made = table1_tuned.make(tmp_path / "metrics.parquet", TABLE1, tier="test", out=tmp_path)
    assert made.tables[0]["NGO − gossip"].tolist() == ["–", "–", "+1.00 ± 2.48"]
    assert len(list((tmp_path / "tables").iterdir())) == 8
