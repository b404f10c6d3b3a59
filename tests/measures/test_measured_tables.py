"""Tables that measurements without a trained model make."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from small_theory import OPTIONS
from torch import nn

from ngo.measures.consensus import ConsensusOptions, consensus_table
from ngo.measures.measurement import MEASUREMENTS
from ngo.measures.model_outputs import class_means_loss, reconstruction_loss, workers_variance
from ngo.measures.rounds import RoundsOptions, rounds_table
from ngo.measures.spectra import SpectraOptions, spectral_table
from ngo.measures.theory import theory_table
from ngo.theorems.table import KINDS, TheoryOptions, rows_of
from verdicts.registry import UserError


def test_the_table_keeps_every_state():
    options = ConsensusOptions(p=(0.5, 1, 2), gamma=0.02, rounds=100)
    part = consensus_table(options).query("p == 0.5")
    assert len(part) == 101 * 10
    assert part[["delay", "topology", "workers", "gamma"]].iloc[0].tolist() == [0, "ring", 10, 0.02]
    first = part[part["round"] == 0]
    assert first["V"].nunique() == 1
    assert ((first["x"] - first["x"].mean()) ** 2).sum() == pytest.approx(first["V"].iloc[0])


def test_all_cases_have_the_same_initial_state_and_random_graphs():
    options = ConsensusOptions(topology="random", workers=4, p=(1, 0.9), delay=(0, 2), rounds=3)
    table = consensus_table(options)
    start = [group["x"].tolist() for _, group in table[table["round"] == 0].groupby(["p", "delay"])]
    assert start == 4 * [start[0]]
    assert table.equals(consensus_table(options))
    # With no difference yet between states, delayed and undelayed rounds begin alike.
    first = table[table["round"] == 1].pivot(index=["p", "worker"], columns="delay", values="x")
    assert first[0].tolist() == first[2].tolist()


def test_a_random_topology_has_means_over_draws_and_the_others_one_graph():
    options = SpectraOptions(topology=("ring", "random"), workers=(4, 16), u=0.5, draws=3)
    table = spectral_table(options)
    assert table["draws"].tolist() == [1, 1, 3, 3]
    assert table["degree"].tolist()[:2] == [2, 2]
    ring = [2 / 3 * (1 - math.cos(2 * math.pi / n)) for n in (4, 16)]
    assert table["spectral_gap"].tolist()[:2] == pytest.approx(ring)
    assert table["u"].isna().tolist() == [True, True, False, False]
    assert table.equals(spectral_table(options))


@pytest.fixture(scope="module")
def rounds():
    return rounds_table(
        RoundsOptions(
            topology=("ring", "one_peer_hypercube"),
            workers=8,
            dimension=5,
            coupling=("power", "capped", "implicit"),
            p=(0.75, 1.0),
            gamma=(0.5, 1.0),
            drift=(0.1,),
            loss=(0.2, 0.4),
            rounds=20,
            early=20,
            points=6,
            trials=2,
        )
    )


def test_the_cases(rounds):
    """Linear, power, capped; Chebyshev on the ring, implicit over pairs; two γ; four conditions."""
    cases = rounds[["topology", "coupling", "p"]].drop_duplicates()
    assert set(cases.itertuples(index=False, name=None)) == {
        ("ring", "power", 0.75), ("ring", "power", 1.0), ("ring", "capped", 0.75),
        ("ring", "chebyshev", 1.0), ("one_peer_hypercube", "power", 0.75),
        ("one_peer_hypercube", "power", 1.0), ("one_peer_hypercube", "capped", 0.75),
        ("one_peer_hypercube", "implicit", 0.75),
    }  # fmt: skip
    conditions = rounds[["disturbance", "strength"]].drop_duplicates()
    assert sorted(conditions.itertuples(index=False, name=None)) == [
        ("drift", 0.1), ("loss", 0.2), ("loss", 0.4), ("none", 0.0),
    ]  # fmt: skip
    assert (rounds.groupby(["topology", "coupling", "p", "gamma"]).size() == 4 * 2 * 7).all()


def test_all_start_alike_and_count_messages(rounds):
    start = rounds[rounds["round"] == 0]
    assert (start.groupby("seed")["V"].nunique() == 1).all()
    assert (start["messages"] == 0).all()
    clean = rounds[rounds["disturbance"] == "none"].set_index("round")
    ring = clean[clean["topology"] == "ring"]
    assert (ring["messages"] == 16 * ring.index).all()
    peers = clean[clean["topology"] == "one_peer_hypercube"]
    assert (peers["messages"] == 8 * peers.index).all()


def test_the_hypercube_of_pairs_is_exact_after_three_rounds(rounds):
    exact = rounds.query("topology == 'one_peer_hypercube' and p == 1 and gamma == 1")
    exact = exact[(exact["disturbance"] == "none") & (exact["round"] >= 3)]
    assert len(exact) > 2
    assert (exact["V"] < 1e-28).all()


def test_couplings_without_p_are_measured_once_and_a_liar_is_a_disturbance():
    options = RoundsOptions(
        coupling=("power", "median", "clipped_adaptive"), p=(0.5, 1.0), gamma=(0.5,), lie=(10.0,),
        workers=5, dimension=3, rounds=4, early=4, points=2, trials=1,
    )  # fmt: skip
    rounds = rounds_table(options)
    assert sorted(set(rounds[["coupling", "p"]].itertuples(index=False, name=None))) == [
        ("chebyshev", 1.0), ("clipped_adaptive", 1.0), ("median", 1.0), ("power", 0.5),
        ("power", 1.0),
    ]  # fmt: skip
    assert set(rounds["disturbance"]) == {"none", "lie"}
    assert rounds["V"].notna().all()


# The columns are asked for alone.
SMALLEST = replace(
    OPTIONS, topologies=("ring",), draws=1, delay_rounds=60, starts=1, random_rounds=20,
    floor_dimension=2, steps=20, points=3, repeats=2, trials=1, trial_steps=20, trial_repeats=2,
    lemma_states=20,
)  # fmt: skip


def test_each_kind_keeps_its_own_columns(tmp_path):
    theory_table(SMALLEST).to_parquet(tmp_path / "theory.parquet")
    table = pd.read_parquet(tmp_path / "theory.parquet")
    assert list(table["kind"].unique()) == list(KINDS)
    for kind, known in KINDS.items():
        rows = rows_of(table, kind)
        assert set(rows) == set(known.split()[1:])
        assert not rows.isna().any(axis=None)
    assert set(table) <= MEASUREMENTS["theory"].known_columns()
    assert sorted(rows_of(table, "delays")["p"].unique()) == [0.5, 0.75, 1]
    assert sorted(rows_of(table, "floors")["p"].unique()) == [0.75]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"workers": (2, 200), "delay_rounds": 100_000},
            "^delay_rounds: workers × delay_rounds is",
        ),
        ({"batch_size": 100_000}, "^repeats: sgd_workers × batch_size × dimension × repeats is 50"),
        ({"samples": 4}, "^dimension: 5 is more than a worker's 4 samples.* it must be 4 or less"),
    ],
)
def test_options_that_ask_for_too_much_together_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        replace(TheoryOptions(), **values)


class Pictures:
    """Two training and two test images of one grey pixel for each of two classes."""

    train_inputs = torch.tensor([0, 102, 255, 153], dtype=torch.uint8).view(4, 1, 1, 1)
    train_targets = torch.tensor([0, 0, 1, 1])
    test_inputs = torch.tensor([0, 255, 51], dtype=torch.uint8).view(3, 1, 1, 1)
    test_targets = torch.tensor([0, 1, 0])


class Model(nn.Module):
    """Decodes every code to the same logits ``[1, …]``."""

    latent = 2

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def encode(self, x):
        return x.new_zeros(len(x), 2), x.new_zeros(len(x), 2)

    def decode(self, z):
        return self.logits.expand(len(z), *self.logits.shape[1:])


def test_the_loss_of_reconstructions_has_no_divergence():
    even = Model(torch.zeros(1, 1, 1, 1))
    assert reconstruction_loss(even, Pictures) == pytest.approx(math.log(2))
    assert math.isnan(reconstruction_loss(Model(torch.full((1, 1, 1, 1), math.nan)), Pictures))


def test_the_loss_of_class_means_is_that_of_their_grey_levels():
    actual = class_means_loss(Model(torch.zeros(1, 1, 1, 1)), Pictures)
    dark, bright = (0.4 + 0.5) / 3, (1.6 + 0.5) / 3
    by_hand = [
        -math.log(1 - dark),
        -math.log(bright),
        -0.2 * math.log(dark) - 0.8 * math.log(1 - dark),
    ]
    assert actual == pytest.approx(np.mean(by_hand))


def test_the_loss_of_class_means_of_256_levels_is_that_of_their_frequencies():
    actual = class_means_loss(Model(torch.zeros(1, 256, 1, 1, 1)), Pictures)
    seen, unseen = -math.log(2 / 258), -math.log(1 / 258)
    assert actual == pytest.approx((seen + seen + unseen) / 3)


def test_the_variance_is_between_workers_not_between_images():
    images = np.array([[[0, 255]], [[0, 255]]], np.uint8)  # two workers, one image, two pixels
    assert workers_variance(images) == 0
    images[1, 0, 0] = 255
    assert workers_variance(images) == pytest.approx(1 / 8)
