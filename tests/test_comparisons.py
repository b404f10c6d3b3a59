"""Protocols beside each other and beside the paper's numbers."""

import math

import pandas as pd
import pytest

from ngo import comparisons, results
from ngo.comparisons import ACCURACY, HITTING_TIME, NEGATIVE_ELBO, TEST_LOSS, TRAIN_LOSS
from ngo.registry import UserError

TABLE1 = "config/reference/table1_classification.csv"
TABLE_S2 = "config/reference/tableS2_vae_elbo.csv"
TABLE_A1 = "config/reference/tableA1_mnist_hitting_time.csv"
TABLE_A2 = "config/reference/tableA2_cifar10_loss.csv"

T_3 = 4.302653 / math.sqrt(3)  # half-width of three values with standard deviation 1


def cell(topology, protocol, scores, *, partition="iid", dataset="mnist", diverged=(), **fields):
    """Two evaluations of the runs of a cell, one run for each seed: the first at chance.

    ``scores`` are final accuracies; losses are 1 − accuracy.
    """
    rows = []
    for seed, score in enumerate(scores):
        for step, accuracy in ((0, 0.1), (9, score)):
            rows.append(
                {
                    "run": f"{dataset}-{partition}-{topology}-{protocol}-{seed}-{fields}",
                    "dataset": dataset,
                    "partition": partition,
                    "topology": topology,
                    "protocol": protocol,
                    "seed": seed,
                    "classes_covered": 10 - seed,
                    "step": step,
                    "epoch": step / 3,
                    "consensus_accuracy": accuracy,
                    "workers_accuracy_mean": accuracy - 0.05,
                    "consensus_loss": 1 - accuracy,
                    "workers_loss_mean": 1.5 - accuracy,
                    "train_loss": 0.5 - accuracy,
                    "diverged": step == 9 and seed in diverged,
                    **fields,
                }
            )
    return rows


def claims(rows, reference, measure):
    return comparisons.claims_table(pd.DataFrame(rows), reference, [measure])


def test_table1_sets_ours_beside_the_papers():
    runs = pd.DataFrame(
        cell("ring", "ngo", [0.91, 0.94, 0.97])
        + cell("ring", "gossip", [0.90, 0.92, 0.94])
        + cell(None, "centralized", [0.97, 0.98, 0.99])
    )
    table = comparisons.protocol_table(runs, TABLE1, [ACCURACY])
    assert table["protocol"].tolist() == ["centralized", "gossip", "ngo"]
    assert table["paper"].tolist() == [97.47, 96.47, 96.52]
    assert table["consensus"].tolist() == pytest.approx([98, 92, 94])
    assert table["workers"].tolist() == pytest.approx([93, 87, 89])
    assert table["consensus_minus_paper"].tolist() == pytest.approx([0.53, -4.47, -2.52])
    assert table["seeds"].tolist() == [3, 3, 3]
    assert (table["classes_min"].iloc[0], table["classes_max"].iloc[0]) == (8, 10)
    # Differences 1, 2, 3: mean 2, standard deviation 1; only NGO's row has them.
    assert table["ngo_minus_gossip"].isna().tolist() == [True, True, False]
    assert table["ngo_minus_gossip"].iloc[2] == pytest.approx(2)
    assert table["ngo_minus_gossip_ci95"].iloc[2] == pytest.approx(T_3, rel=1e-6)


def test_pairing_is_by_seed():
    """The seeds differ by 20 points, the protocols by exactly 1: the paired interval is empty."""
    runs = pd.DataFrame(
        cell("ring", "gossip", [0.5, 0.7, 0.9]) + cell("ring", "ngo", [0.51, 0.71, 0.91])
    )
    paired = comparisons.paired(results.final(runs), "consensus_accuracy", "ngo", "gossip")
    assert paired["mean"].tolist() == pytest.approx([0.01])
    assert paired["half_width"].tolist() == pytest.approx([0], abs=1e-12)


def test_claims_follow_the_papers_numbers_and_the_measured_intervals():
    rows = (
        cell("ring", "gossip", [0.62, 0.61, 0.63], partition="shards")
        + cell("ring", "ngo", [0.65, 0.64, 0.661], partition="shards")
        + cell("random", "gossip", [0.60, 0.70, 0.62], partition="shards")
        + cell("random", "ngo", [0.55, 0.54, 0.56], partition="shards")
    )
    found = claims(rows, TABLE1, ACCURACY).set_index("claim")
    assert found.loc["ring ngo > ring gossip", "verdict"] == "holds"
    assert found.loc["ring ngo > ring gossip", "paper"] == pytest.approx(64.84 - 62.30)
    assert found.loc["ring ngo > ring gossip", "measured"] == pytest.approx(3.1 / 3 + 2)
    assert found.loc["random ngo > ring ngo", "verdict"] == "fails"
    assert found.loc["random gossip > ring gossip", "verdict"] == "undecided"


def test_a_claim_goes_the_way_of_the_papers_numbers():
    """iid: the paper's complete gossip (96.35) is below its random gossip (96.48)."""
    rows = cell("random", "gossip", [0.96, 0.95, 0.97])
    rows += cell("complete", "gossip", [0.95, 0.94, 0.961])
    found = claims(rows, TABLE1, ACCURACY)
    assert found["claim"].tolist() == ["random gossip > complete gossip"]
    assert found["paper"].tolist() == pytest.approx([0.13])
    assert found["verdict"].tolist() == ["holds"]


def test_a_lower_elbo_is_better():
    """On iid data and a ring the paper has NGO 113.27, gossip 124.35, centralized 113.73."""
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.49, 0.6, 0.71])
    found = claims(rows, TABLE_S2, NEGATIVE_ELBO)
    assert found["claim"].tolist() == ["ring ngo < ring gossip"]
    assert found["paper"].tolist() == pytest.approx([113.27 - 124.35])
    assert found["measured"].tolist() == pytest.approx([-0.2])
    assert found["verdict"].tolist() == ["holds"]
    worse = cell("ring", "gossip", [0.49, 0.6, 0.71]) + cell("ring", "ngo", [0.3, 0.4, 0.5])
    assert claims(worse, TABLE_S2, NEGATIVE_ELBO)["verdict"].tolist() == ["fails"]
    table = comparisons.protocol_table(pd.DataFrame(rows), TABLE_S2, [NEGATIVE_ELBO])
    assert table["ngo_minus_gossip"].tolist()[1] == pytest.approx(-0.2)


def test_equal_numbers_claim_nothing():
    """On iid data and a ring the paper prints a loss of 0.25 for both."""
    rows = cell("ring", "gossip", [0.5, 0.5, 0.5]) + cell("ring", "ngo", [0.6, 0.6, 0.6])
    found = claims(rows, TABLE_A1, TEST_LOSS)
    assert found["claim"].tolist() == ["ring ngo = ring gossip"]
    assert found["paper"].tolist() == [0]
    assert found["measured"].tolist() == pytest.approx([-0.1])
    assert found["verdict"].tolist() == ["no difference printed"]


@pytest.mark.parametrize(("seeds", "verdict"), [(2, "too few seeds"), (3, "holds")])
def test_a_verdict_needs_three_seeds(seeds, verdict):
    scores = [0.6, 0.61, 0.62][:seeds]
    rows = cell("ring", "gossip", [0.5] * seeds) + cell("ring", "ngo", scores)
    assert claims(rows, TABLE1, ACCURACY)["verdict"].tolist() == [verdict]


def test_equal_differences_give_no_verdict():
    rows = cell("ring", "gossip", [0.5, 0.7, 0.9]) + cell("ring", "ngo", [0.51, 0.71, 0.91])
    assert claims(rows, TABLE1, ACCURACY)["verdict"].tolist() == ["undecided"]


def test_a_diverged_run_shows():
    rows = cell("ring", "gossip", [0.9] * 3) + cell("ring", "ngo", [0.9, 0.1, 0.9], diverged=[1])
    table = comparisons.protocol_table(pd.DataFrame(rows), TABLE1, [ACCURACY])
    assert table["diverged"].tolist() == [0, 1]
    assert math.isnan(table["consensus"].iloc[1])
    assert claims(rows, TABLE1, ACCURACY)["verdict"].tolist() == ["undecided"]


def test_runs_that_the_table_cannot_tell_apart_are_refused():
    runs = pd.DataFrame(cell("ring", "ngo", [0.9], gamma=0.1) + cell("ring", "ngo", [0.8], gamma=1))
    with pytest.raises(UserError, match="there are mnist-iid-ring-ngo-0-.*0.1.*, mnist-iid.* 1"):
        comparisons.protocol_table(runs, TABLE1, [ACCURACY])
    with pytest.raises(UserError, match="told apart"):
        comparisons.claims_table(runs, TABLE1, [ACCURACY])


def test_a_table_without_gossip_has_no_difference():
    runs = pd.DataFrame(cell("ring", "ngo", [0.9, 0.8]))
    table = comparisons.protocol_table(runs, TABLE1, [ACCURACY])
    assert table["ngo_minus_gossip"].isna().all()
    assert table["consensus"].tolist() == pytest.approx([85])


@pytest.mark.parametrize(
    ("dataset", "reference", "column", "number"),
    [
        ("mnist", TABLE1, "test_accuracy_percent", 64.84),
        ("digits", TABLE1, "test_accuracy_percent", 64.84),  # stands in for MNIST
        ("cifar10", TABLE1, "test_accuracy_percent", 34.14),
        ("sine", TABLE1, "test_accuracy_percent", math.nan),
        ("mnist", TABLE_A2, "value", 0.50),  # there are numbers of CIFAR-10 alone
        ("digits", TABLE_A2, "value", 0.50),
    ],
)
def test_the_papers_number_beside_ours(dataset, reference, column, number):
    rows = pd.DataFrame(cell("ring", "ngo", [0.5], partition="shards", dataset=dataset)[-1:])
    found = comparisons.beside_published(rows, reference, column)
    assert found.tolist() == pytest.approx([number], nan_ok=True)


def test_the_data_set_of_the_papers_numbers():
    assert comparisons.sole_dataset(TABLE_A2) == "cifar10"
    assert comparisons.sole_dataset(TABLE1) is None


def run(name, protocol, accuracies, *, seed=0, epochs=(0, 1, 2, 3)):
    frame = pd.DataFrame({"epoch": epochs, "consensus_accuracy": accuracies})
    facts = {"dataset": "mnist", "partition": "iid", "topology": "ring", "classes_covered": 10}
    frame = frame.assign(run=name, protocol=protocol, seed=seed, **facts)
    return frame.assign(step=range(len(frame)), diverged=False, consensus_loss=1.0)


def test_first_hitting_is_the_first_evaluation_there():
    metrics = pd.concat(
        [
            run("a", "ngo", [0.1, 0.7, 0.6, 0.8]),
            run("b", "ngo", [0.1, 0.69, 0.7, 0.8], epochs=(0, 0.5, 1.5, 2)),
            run("c", "ngo", [0.1, 0.2, 0.3, 0.69]),
        ]
    )
    found = comparisons.first_hitting(metrics, pd.Series(0.7, index=["a", "b", "c"]))
    assert found[["a", "b"]].tolist() == [1, 1.5]
    assert math.isnan(found["c"])


def test_the_target_is_the_lowest_final_accuracy_of_the_same_seed():
    metrics = pd.concat(
        [
            run("a", "gossip", [0.1, 0.4, 0.5, 0.6]),
            run("b", "ngo", [0.1, 0.6, 0.9, 0.9]),
            run("c", "gossip", [0.1, 0.4, 0.9, 0.8], seed=1),
            run("d", "ngo", [0.1, 0.7, 0.7, 0.9], seed=1),
        ],
        ignore_index=True,
    )
    hit = comparisons.with_first_hitting(metrics)
    assert hit.groupby("run")["first_hitting"].first().tolist() == [3, 1, 2, 3]
    table = comparisons.protocol_table(hit, TABLE_A1, [HITTING_TIME])
    assert table["consensus"].tolist() == [2.5, 2]
    assert table["paper"].tolist() == [50, 48]
    assert table["consensus_minus_paper"].isna().all()  # its unit is not stated
    assert table["ngo_minus_gossip"].iloc[1] == -0.5


def test_a_diverged_run_hits_nothing_and_sets_no_target():
    metrics = pd.concat(
        [run("a", "gossip", [0.1, 0.6, 0.6, 0.6]), run("b", "ngo", [0.1, 0.7, 0.1, 0.1])],
        ignore_index=True,
    )
    metrics["diverged"] = (metrics["run"] == "b") & (metrics["step"] == 3)
    hit = comparisons.with_first_hitting(metrics).groupby("run")["first_hitting"].first()
    assert hit["a"] == 1
    assert math.isnan(hit["b"])


def test_measures_follow_each_other_in_one_table():
    runs = pd.DataFrame(
        cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.7])
    )
    table = comparisons.protocol_table(runs, TABLE_A1, [TEST_LOSS, TRAIN_LOSS])
    assert table["measure"].tolist() == ["test loss"] * 2 + ["training loss"] * 2
    assert table["consensus"].tolist()[:2] == pytest.approx([0.6, 0.4])
    assert table["consensus"].tolist()[2:] == pytest.approx([math.nan] * 2, nan_ok=True)
    assert table["workers"].tolist() == pytest.approx([1.1, 0.9, 0.1, -0.1])
    assert table["ngo_minus_gossip"].tolist()[1::2] == pytest.approx([-0.2, -0.2])
    assert table["paper"].isna().tolist() == [False, False, True, True]
    found = comparisons.claims_table(runs, TABLE_A1, [TEST_LOSS, TRAIN_LOSS])
    assert set(found["measure"]) == {"test loss"}  # the paper has no other
