"""Tables that measurements without a trained model make."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import torch
from cases import cases, refused
from small_theory import OPTIONS
from torch import nn

from ngo.common.fields import at_least, limit_product, whole, within
from ngo.common.registries import DECLARED
from ngo.measures.consensus import ConsensusOptions, consensus_table
from ngo.measures.measurement import MEASUREMENTS, Measurement, measurement
from ngo.measures.model_outputs import class_means_loss, reconstruction_loss, workers_variance
from ngo.measures.rounds import RoundsOptions, rounds_table
from ngo.measures.spectra import SpectraOptions, spectral_table
from ngo.measures.theory import theory_table
from ngo.measures.throughput import ThroughputOptions, throughput_table
from ngo.theorems.table import KINDS, TheoryOptions, rows_of
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

# The columns are asked for alone.
SMALLEST = replace(
    OPTIONS, topologies=("ring",), draws=1, delay_rounds=60, starts=1, random_rounds=20,
    floor_dimension=2, steps=20, points=3, repeats=2, trials=1, trial_steps=20, trial_repeats=2,
    lemma_states=20,
)  # fmt: skip


def test_the_table_keeps_every_state_and_all_cases_have_the_same_initial_state():
    options = ConsensusOptions(p=(0.5, 1, 2), gamma=0.02, rounds=100)
    part = consensus_table(options).query("p == 0.5")
    assert len(part) == 101 * 10
    assert part[["delay", "topology", "workers", "gamma"]].iloc[0].tolist() == [0, "ring", 10, 0.02]
    first = part[part["round"] == 0]
    assert first["V"].nunique() == 1
    assert ((first["x"] - first["x"].mean()) ** 2).sum() == pytest.approx(first["V"].iloc[0])
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


def test_options_of_a_topology_have_their_defaults_and_a_file_is_refused():
    (row,) = spectral_table(SpectraOptions(("random_regular",), (16,), draws=2)).to_dict("records")
    assert row["degree"] == DECLARED["degree"].default
    needs = "topology: 'graph_file' needs 'graph', which cannot be given here"
    refused(needs, spectral_table, SpectraOptions(("graph_file",), (16,)))
    refused(needs, consensus_table, ConsensusOptions("graph_file", p=(1.0,)))


@pytest.fixture(scope="module")
def rounds():
    cases = {"topology": ("ring", "one_peer_hypercube"), "p": (0.75, 1.0), "gamma": (0.5, 1.0)}
    cases |= {"coupling": ("power", "capped", "implicit"), "drift": (0.1,), "loss": (0.2, 0.4)}
    sizes = {"workers": 8, "dimension": 5, "rounds": 20, "early": 20, "points": 6, "trials": 2}
    return rounds_table(RoundsOptions(**cases, **sizes))


def test_the_cases_start_alike_count_messages_and_are_exact_over_pairs(rounds):
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
    start = rounds[rounds["round"] == 0]
    assert (start.groupby("seed")["V"].nunique() == 1).all()
    assert (start["messages"] == 0).all()
    clean = rounds[rounds["disturbance"] == "none"].set_index("round")
    ring = clean[clean["topology"] == "ring"]
    assert (ring["messages"] == 16 * ring.index).all()
    peers = clean[clean["topology"] == "one_peer_hypercube"]
    assert (peers["messages"] == 8 * peers.index).all()
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


@cases(
    "values, message",
    ({"workers": (2, 200), "delay_rounds": 100_000}, "^delay_rounds: .* workers × delay_rounds"),
    ({"batch_size": 100_000}, "^repeats: .* sgd_workers × batch_size × dimension × repeats is 50"),
    ({"samples": 4}, "^dimension: 5 is not allowed; it must be 4 "),
)
def test_options_that_ask_for_too_much_together_are_refused(values, message):
    refused(message, replace, TheoryOptions(), **values)


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


def test_the_losses_of_reconstructions_and_of_class_means():
    even = Model(torch.zeros(1, 1, 1, 1))
    assert reconstruction_loss(even, Pictures) == pytest.approx(math.log(2))
    assert math.isnan(reconstruction_loss(Model(torch.full((1, 1, 1, 1), math.nan)), Pictures))
    actual = class_means_loss(Model(torch.zeros(1, 1, 1, 1)), Pictures)
    dark, bright = (0.4 + 0.5) / 3, (1.6 + 0.5) / 3
    mixed = -0.2 * math.log(dark) - 0.8 * math.log(1 - dark)
    assert actual == pytest.approx((-math.log(1 - dark) - math.log(bright) + mixed) / 3)
    actual = class_means_loss(Model(torch.zeros(1, 256, 1, 1, 1)), Pictures)
    seen, unseen = -math.log(2 / 258), -math.log(1 / 258)
    assert actual == pytest.approx((seen + seen + unseen) / 3)


def test_the_variance_is_between_workers_not_between_images():
    images = np.array([[[0, 255]], [[0, 255]]], np.uint8)  # two workers, one image, two pixels
    assert workers_variance(images) == 0
    images[1, 0, 0] = 255
    assert workers_variance(images) == pytest.approx(1 / 8)


@dataclass(frozen=True)
class Sizes:
    size: tuple[int, ...] = whole("sizes", (1, 2), within(1, 1000))
    rounds: int = whole("rounds", 3, at_least(0), optional=True)

    def __post_init__(self) -> None:
        limit_product(self, "size", "rounds")


@cases(
    "name, message",
    ("spectra", "measurement: 'spectra' is registered already"),
    ("two_words", "measurement: 'two_words' is not allowed; use lower-case letters"),
)
def test_a_measurement_that_can_not_be_registered_is_refused(name, message):
    refused(message, lambda: measurement(name, Sizes)(lambda options: None))


def test_entries_are_refused_by_their_largest_product_or_without_a_known_setting():
    Sizes(size=(1, 1000), rounds=10_000)
    with pytest.raises(
        UserError, match="^rounds: .* size × rounds is 10,001,000; it must be 10,000,"
    ):
        Sizes(size=(1, 1000), rounds=10_001)
    with pytest.raises(
        UserError, match="^entry.rounds: .* size × rounds is 20,000,000; it must be"
    ):
        Measurement("a", Sizes, print).read("entry", {"size": [2], "rounds": 10**7})
    with pytest.raises(UserError, match=r"^throughput.a: 'setting' is missing\."):
        MEASUREMENTS["throughput"].read("throughput.a", {})
    with pytest.raises(UserError, match="^spectra.a: 'setting' is unknown"):
        MEASUREMENTS["spectra"].read("spectra.a", {"setting": "b"})


@cases(
    "options, values",
    (RoundsOptions, {"topology": ("ring", "epidemic_out")}),
    (ConsensusOptions, {"topology": "one_peer_exponential"}),
    (TheoryOptions, {"topologies": ("one_peer_exponential",)}),
    (TheoryOptions, {"sgd_topology": "epidemic_out"}),
)
def test_rounds_of_pulls_on_a_directed_graph_are_refused(options, values):
    refused(
        "is directed, where only p = 1 of coupling power is defined; allowed: .*ring",
        options,
        **values,
    )


pytestmark = pytest.mark.filterwarnings("error")


def test_throughput_counts_all_workers_samples_in_turns(tmp_path):
    made = []

    def make_run(**values):
        made.append(values["workers"])
        sine = {"dataset": "sine", "model": "toy_net", "task": "regression"}
        return resolve({**sine, "method": values["method"]})

    methods = ("centralized", "gossip", "ngo")
    options = ThroughputOptions(method=methods, workers=(1, 3), steps=2, repeats=2)
    table = throughput_table(options, make_run, tmp_path, "cpu")
    assert made == [3, 3, 3]
    cases = [(method, n) for method in methods for n in (1, 3)]
    assert list(zip(table["method"], table["workers"], strict=True)) == 2 * cases
    assert table["repeat"].tolist() == [0] * 6 + [1] * 6
    trained = 2 * table["workers"] * 32
    found = table["samples_per_second"] * table["seconds"]
    assert found.tolist() == pytest.approx(trained.tolist())
    assert (table["seconds"] > 0).all()
