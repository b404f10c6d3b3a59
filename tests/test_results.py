import math

import numpy as np
import pandas as pd
import pytest

from ngo import columns, results
from ngo.registry import UserError
from ngo.statistics import estimate

REFERENCE = "config/reference"


def cell(topology, protocol, accuracies, *, partition="iid", dataset="mnist", diverged=()):
    """Final evaluations of a cell of Table 1, one for each seed, after an initial one at chance."""
    rows = []
    for seed, accuracy in enumerate(accuracies):
        name = f"{dataset}-{partition}-{topology}-{protocol}-{seed}"
        common = {
            "run": name, "dataset": dataset, "partition": partition, "topology": topology,
            "protocol": protocol, "seed": seed, "classes_covered": 10 - seed,
        }  # fmt: skip
        for step, value in ((0, 0.1), (9, accuracy)):
            rows.append(
                {
                    **common,
                    "step": step,
                    "consensus_accuracy": value,
                    "workers_accuracy_mean": value - 0.05,
                    "diverged": step == 9 and seed in diverged,
                }
            )
    return rows


def test_estimate_against_a_t_table():
    found = estimate(np.array([1.0, 2.0, 3.0]))
    assert (found.mean, found.std, found.count) == (2, 1, 3)
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)  # t(0.975, 2)
    assert not found.excludes_zero
    assert estimate(np.array([10.0, 11.0, 12.0])).excludes_zero


def test_estimate_of_one_seed_has_no_interval():
    found = estimate(np.array([4.0]))
    assert found.mean == 4
    assert math.isnan(found.half_width)
    assert not found.excludes_zero


def test_a_diverged_seed_is_not_left_out_of_the_mean():
    assert math.isnan(estimate(np.array([1.0, math.nan, 3.0])).mean)


def test_aggregate_joins_runs_and_their_facts(tmp_path):
    for run, seed in (("b", 1), ("a", 0)):
        facts = {"run": run, "seed": seed, "topology": "ring", "u": None}
        columns.write(
            tmp_path / run,
            {"step": [0, 5], "V": [0.0, 1.5], "diverged": [False, run == "b"]},
            facts,
        )
    table = results.aggregate([tmp_path / "b", tmp_path / "a"])
    assert table["run"].tolist() == ["a", "a", "b", "b"]
    assert table["step"].tolist() == [0, 5, 0, 5]
    assert table["diverged"].tolist() == [False, False, False, True]
    assert table["u"].isna().all()
    (tmp_path / "c").write_text("no parquet")
    with pytest.raises(UserError, match="metrics: .*c' is not such a file"):
        results.aggregate([tmp_path / "c"])


def test_columns_survive_as_they_are(tmp_path):
    table = {
        "i": np.arange(-5, 5),
        "f": np.array([0.1, np.nan, np.inf]),
        "b": np.array([True] * 3 + [False] * 8),
        "none": np.array([], dtype=float),
    }
    for name, values in table.items():
        columns.write(tmp_path / name, {name: values}, {"x": [1, "é"]})
        back, facts = columns.read(tmp_path / name, "test")
        assert facts == {"x": [1, "é"]}
        assert back[name].dtype.kind == values.dtype.kind
        np.testing.assert_array_equal(back[name], values)
        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / name), pd.DataFrame({name: values})
        )


def test_table1_sets_ours_beside_the_papers():
    runs = pd.DataFrame(
        cell(None, "centralized", [0.97, 0.98, 0.99])
        + cell("ring", "gossip", [0.90, 0.92, 0.94])
        + cell("ring", "ngo", [0.91, 0.94, 0.97])
    )
    table = results.classification_table(runs, f"{REFERENCE}/table1_classification.csv")
    assert table["protocol"].tolist() == ["centralized", "gossip", "ngo"]
    assert table["paper"].tolist() == [97.47, 96.47, 96.52]
    assert table["consensus"].tolist() == pytest.approx([98, 92, 94])
    assert table["workers"].tolist() == pytest.approx([93, 87, 89])
    assert table["consensus_minus_paper"].tolist() == pytest.approx([0.53, -4.47, -2.52])
    assert table["seeds"].tolist() == [3, 3, 3]
    assert (table["classes_min"].iloc[0], table["classes_max"].iloc[0]) == (8, 10)
    # Differences 1, 2, 3: mean 2, standard deviation 1; only NGO's row has them.
    assert table["ngo_minus_gossip"].tolist()[:2] == pytest.approx([math.nan] * 2, nan_ok=True)
    assert table["ngo_minus_gossip"].iloc[2] == pytest.approx(2)
    assert table["ngo_minus_gossip_ci95"].iloc[2] == pytest.approx(
        4.302653 / math.sqrt(3), rel=1e-6
    )


def test_pairing_is_by_seed():
    """The seeds differ by 20 points, the protocols by exactly 1: the paired interval is empty."""
    runs = pd.DataFrame(
        cell("ring", "gossip", [0.5, 0.7, 0.9]) + cell("ring", "ngo", [0.51, 0.71, 0.91])
    )
    paired = results.paired(results.final(runs), "consensus_accuracy", "ngo", "gossip")
    assert paired["mean"].tolist() == pytest.approx([0.01])
    assert paired["half_width"].tolist() == pytest.approx([0], abs=1e-12)


def test_claims_follow_the_papers_numbers_and_the_measured_intervals():
    runs = pd.DataFrame(
        cell("ring", "gossip", [0.62, 0.61, 0.63], partition="shards")
        + cell("ring", "ngo", [0.65, 0.64, 0.66], partition="shards")
        + cell("random", "gossip", [0.60, 0.70, 0.62], partition="shards")
        + cell("random", "ngo", [0.55, 0.54, 0.56], partition="shards")
    )
    claims = results.classification_claims(runs, f"{REFERENCE}/table1_classification.csv")
    claims = claims.set_index("claim")
    assert claims.loc["ring ngo > ring gossip", "verdict"] == "holds"
    assert claims.loc["ring ngo > ring gossip", "paper"] == pytest.approx(64.84 - 62.30)
    assert claims.loc["ring ngo > ring gossip", "measured"] == pytest.approx(3)
    assert claims.loc["random ngo > ring ngo", "verdict"] == "fails"
    assert claims.loc["random gossip > ring gossip", "verdict"] == "undecided"


def test_a_claim_goes_the_way_of_the_papers_numbers():
    """iid: the paper's complete gossip (96.35) is below its random gossip (96.48)."""
    runs = pd.DataFrame(
        cell("random", "gossip", [0.96, 0.95, 0.97])
        + cell("complete", "gossip", [0.95, 0.94, 0.96])
    )
    claims = results.classification_claims(runs, f"{REFERENCE}/table1_classification.csv")
    assert claims["claim"].tolist() == ["random gossip > complete gossip"]
    assert claims["paper"].tolist() == pytest.approx([0.13])
    assert claims["verdict"].tolist() == ["holds"]


@pytest.mark.parametrize(("seeds", "verdict"), [(2, "too few seeds"), (3, "holds")])
def test_a_verdict_needs_three_seeds(seeds, verdict):
    runs = pd.DataFrame(cell("ring", "gossip", [0.5] * seeds) + cell("ring", "ngo", [0.6] * seeds))
    claims = results.classification_claims(runs, f"{REFERENCE}/table1_classification.csv")
    assert claims["verdict"].tolist() == [verdict]


def test_a_diverged_run_shows():
    runs = pd.DataFrame(
        cell("ring", "gossip", [0.9, 0.9, 0.9]) + cell("ring", "ngo", [0.9, 0.1, 0.9], diverged=[1])
    )
    table = results.classification_table(runs, f"{REFERENCE}/table1_classification.csv")
    assert table["diverged"].tolist() == [0, 1]
    assert math.isnan(table["consensus"].iloc[1])
    claims = results.classification_claims(runs, f"{REFERENCE}/table1_classification.csv")
    assert claims["verdict"].tolist() == ["undecided"]


def test_runs_that_the_table_cannot_tell_apart_are_refused():
    twice = cell("ring", "ngo", [0.9]) + [
        {**row, "run": "other"} for row in cell("ring", "ngo", [0.8])
    ]
    with pytest.raises(ValueError, match="there are mnist-iid-ring-ngo-0, other"):
        results.classification_table(pd.DataFrame(twice), f"{REFERENCE}/table1_classification.csv")


def test_a_table_without_gossip_has_no_difference():
    runs = pd.DataFrame(cell("ring", "ngo", [0.9, 0.8]))
    table = results.classification_table(runs, f"{REFERENCE}/table1_classification.csv")
    assert table["ngo_minus_gossip"].isna().all()
    assert table["consensus"].tolist() == pytest.approx([85])


def test_digits_are_set_beside_the_papers_mnist():
    rows = pd.DataFrame(
        [{"dataset": "digits", "partition": "shards", "topology": "ring", "protocol": "ngo"}]
    )
    found = results.beside_published(
        rows, f"{REFERENCE}/table1_classification.csv", "test_accuracy_percent"
    )
    assert found.tolist() == [64.84]


def test_table_s1_agrees_with_the_papers_digits():
    spectra = results.spectral_table(["ring", "random", "complete"], [4, 16, 36, 64], 0.4, 3, 0)
    table = results.spectral_comparison(spectra, f"{REFERENCE}/tableS1_spectral_gap.csv")
    agrees = {name: set(part["agrees"].dropna()) for name, part in table.groupby("topology")}
    assert agrees == {"ring": {"yes"}, "complete": {"yes"}, "random": set()}
    assert table["paper"].notna().sum() == 8
    assert table.loc[table["topology"] == "complete", "degree"].tolist() == [3, 15, 35, 63]
    wrong = results.spectral_comparison(
        spectra.assign(spectral_gap=0.5), f"{REFERENCE}/tableS1_spectral_gap.csv"
    )
    assert set(wrong["agrees"].dropna()) == {"no"}


def test_consensus_rounds_finds_the_first():
    frame = pd.DataFrame(
        {"p": [1.0] * 4 + [2.0] * 2, "round": [0, 1, 2, 3, 0, 1], "worker": 0, "x": 0.0,
         "V": [8.0, 4.0, 0.08, 0.01, 8.0, 7.0]}
    )  # fmt: skip
    found = results.consensus_rounds(frame, share=0.01)
    assert found["first_round"].tolist() == pytest.approx([2, math.nan], nan_ok=True)
    assert found["V_final"].tolist() == [0.01, 7]
