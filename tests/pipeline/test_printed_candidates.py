"""Which choices could have printed a table: emulators, cells, and planted candidates."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pandas as pd
import pytest

import ngo.analysis.quantities  # noqa: F401 (values of runs)
from ngo.pipeline import candidates, paths, printed_numbers
from ngo.pipeline.config import read_config
from ngo.pipeline.emulator import Emulator, calibrated
from verdicts import UserError, read_claims

ROOT = paths.REPOSITORY
NUMBERS = printed_numbers.on_numbers(read_claims(ROOT / "config/reference/claims.yaml"))


@cache
def entry():
    found = read_config([ROOT / paths.CONFIG])["unstated"]["table1_mnist_noniid"]
    return {**found, "where": {"dataset": "mnist"}}  # with the iid half, which no run answers


def rows_of(number, seed=0, noise=0.1):
    """Runs of a smooth function of a rate and a rule."""
    stream = np.random.default_rng(seed)
    lr, rule = 10 ** stream.uniform(-2, 0, number), stream.choice(["sgd", "momentum"], number)
    z = np.sin(2 * np.log10(lr)) + 0.5 * (rule == "sgd") + noise * stream.normal(size=number)
    told = {"noise": 0.0, "group": np.arange(number), "seed": np.arange(number), "final": True}
    return pd.DataFrame({"lr": lr, "rule": rule, "z": z, **told})


def test_an_emulator_knows_the_function_and_its_own_errors():
    emulator, new = Emulator(rows_of(80), ["lr", "rule"]), rows_of(400, seed=1)
    calibrated([emulator])
    mean, error, spread = emulator.predict(new)
    assert np.abs(mean - new["z"]).mean() < 0.12
    off = (new["z"] - mean) / np.hypot(error, spread)
    assert 0.85 < (off.abs() < 1.645).mean() < 0.96
    assert np.median(spread) == pytest.approx(0.1, rel=0.3)
    far = emulator.predict(pd.DataFrame({"lr": [1e4], "rule": ["sgd"]}))[1]
    assert far > 3 * np.median(error)


def test_what_is_left_out_at_once_is_what_is_left_out_one_by_one():
    rows = rows_of(40).assign(group=lambda table: table.index // 2)
    emulator = Emulator(rows, ["lr", "rule"])
    for group in (0, 7, 19):
        own = rows.index[rows["group"] == group]
        mean, error, spread = emulator.without(group).predict(rows.loc[own])
        off = ((rows["z"][own] - mean) / np.hypot(error, spread)).to_numpy()
        assert off == pytest.approx(emulator.residual[own], rel=0.02)


CASES = [("centralized", None)]
CASES += [(m, t) for m in ("gossip", "ngo") for t in ("ring", "random", "complete")]


def tables(number=64, seed=0):
    """Made-up runs of Table 1's non-iid MNIST cells: smooth functions of the sampled values."""
    points = candidates.sample("unstated", {**entry(), "count": number})
    stream, rows = np.random.default_rng(seed), []
    for k, values in enumerate(points):
        lr = values["lr"] * (0.1 if values["local_rule"] == "momentum" else 1)
        effect = 0.15 * stream.normal()
        for method, topology in CASES:
            z = 1.5 + np.log(values["lr"] / 0.05) / 2 - 0.4 * (values["batch_size"] == 64)
            if topology:
                z -= {"ring": 1, "random": 0.7, "complete": 0.4}[topology] * (
                    0.2 - np.log(values["gamma"]) / 3
                )
            z += 2 * (values["p"] - 0.8) if method == "ngo" else 0
            share = 1 / (1 + np.exp(-(z + effect + 0.08 * stream.normal())))
            run = {**values, "lr": lr, "method": method, "topology": topology, "seed": 200 + k}
            run |= {"run": f"{method}-{topology}-{k}", "step": 100, "dataset": "mnist"}
            run |= {"partition": "shards", "shards": 300, "order": "adapt_then_combine"}
            run |= {"eval_images": 500, "diverged": False, "consensus_accuracy": share}
            run |= {"workers_accuracy_mean": share - 0.02}
            read = {"centralized": ("gamma", "p", "weights", "order"), "gossip": ("p",), "ngo": ()}
            rows.append(run | dict.fromkeys(read[method]))
    return {"runs": pd.DataFrame(rows)}


@cache
def study():
    return candidates.study(entry(), NUMBERS, tables())


def test_cells_are_those_that_runs_answer():
    found = study()
    assert len(found.printed) == 7
    assert all(name.startswith("iid") for name in found.unanswered)
    inputs = {found.printed["method"][k]: set(of.names) for (k, _), of in found.emulators.items()}
    assert inputs["ngo"] - inputs["gossip"] == {"p"}
    assert inputs["gossip"] - inputs["centralized"] == {"gamma", "weights"}
    assert (
        found.correlation[found.cells({"method": "gossip"})][
            :, found.cells({"method": "ngo"})
        ].min()
        > 0.3
    )


def test_planted_candidates_are_found_again():
    told = candidates.planted(study(), 15).set_index("value")
    assert told["holds"][["lr", "gamma", "p", "epochs"]].between(0.6, 1).all()
    assert told["size"]["gamma"] < 0.8
    assert told["size"]["epochs"] > 0.8
    assert told["holds"]["none could"] <= 0.1


def test_a_printed_table_of_a_planted_candidate_is_answered_with_its_page():
    found = study()
    trained = candidates.trained(found)
    plant = trained.iloc[5]
    numbers = 100 / (1 + np.exp(-plant[[*found.printed.index]].to_numpy(float)))
    asked = dataclasses.replace(found, printed=found.printed.assign(value=numbers.round(2)),
                                entry={**entry(), "claims": {}, "count": 2000})  # fmt: skip
    answer, sections = candidates.report(asked, NUMBERS, {})
    assert "Held out" in {heading for heading, *_ in sections}
    of_no_run = dataclasses.replace(asked, entry={**asked.entry, "confirm": {"partition": "iid"}})
    assert "Held out" not in {name for name, *_ in candidates.report(of_no_run, NUMBERS, {})[1]}
    assert not answer.none_could
    assert answer.effective < 1500
    assert "Without a run (7): iid" in str(answer)
    near = {heading: table for heading, _, table in sections}["The nearest that were trained"]
    assert near["Distance"].astype(float).iloc[0] < 0.01
    assert float(near["Gamma"].iloc[0]) == plant["gamma"]


def test_a_mistake_is_told_in_one_line():
    with pytest.raises(
        UserError, match="^candidates: no run of the archive answers a number of tab"
    ):
        candidates.study(entry(), NUMBERS, {"runs": tables(8)["runs"].assign(dataset="digits")})


@pytest.mark.slow
@pytest.mark.parametrize(("half", "told_more"), [("iid", 0.2), ("noniid", 0)])
def test_the_instrument_is_right_for_mnist(half, told_more):
    found = read_config([ROOT / paths.CONFIG])["unstated"][f"table1_mnist_{half}"]
    claims = read_claims(ROOT / "config/reference/claims.yaml")
    archives = [
        paths.shipped_metrics(ROOT)[paths.FIRST],
        ROOT / "results/archive/unstated-runs.tar",
    ]
    read = printed_numbers.archived_tables(archives, found["runs"], print)
    study = candidates.study(found, claims, {name: read[name] for name in found["runs"]})
    told = candidates.planted(study, 60).set_index("value")["holds"]
    assert told[["lr", "gamma", "p", "epochs"]].between(0.75, 1).all()
    assert told["none could"] <= 0.05
    assert told["none could, + 2 points"] >= told_more


def test_losses_can_be_of_the_mean_model_of_the_workers_or_in_training():
    """The three differ by a factor of two; the table of a known candidate says which it has."""
    entry = read_config([ROOT / paths.CONFIG])["unstated"]["tableA2"]
    (runs,) = tables(40).values()
    share = runs["consensus_accuracy"]
    runs = runs.assign(dataset="cifar10", shards=40, lr_schedule="cosine", augmentation="none")
    runs = runs.assign(consensus_loss=2 - share, workers_loss_mean=4 - 2 * share)
    runs = runs.assign(train_loss=1 - share / 2, partition="iid")
    found = candidates.study(entry, NUMBERS, {"runs": runs})
    assert {reading for _, reading in found.emulators} == {"mean", "workers", "train"}
    last = runs[runs["run"].str.endswith("-7")].set_index(["method", "topology"])["train_loss"]
    cells = zip(found.printed["method"], found.printed["topology"].replace("", None), strict=True)
    planted = found.printed.assign(value=[last[cell] for cell in cells])
    of = candidates.weigh(planted, found.tried(found.prior(500)))
    assert of.shares(of.tried.values["loss_of"])["train"] > 0.95
    wrong = {**entry, "values": {**entry["values"], "accuracy_of": ["mean"]}, "table": "tablea2"}
    wrong["values"].pop("loss_of")
    with pytest.raises(UserError, match=r"values\.accuracy_of: a number of tablea2 is no such"):
        candidates.study(wrong, NUMBERS, {"runs": runs})
