"""The shipped file of claims: each one resolves, and is decided as it should be in known worlds.

In all worlds V grows from complete to ring, with H and n, and accuracy falls with log V. What p < 1
does to V is the effect: 1, as the paper says; −1, the opposite.
"""

import math
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY

import ngo.analysis.quantities  # noqa: F401 (registers the quantities that claims name)
from ngo.pipeline.config import read_config
from ngo.pipeline.experiments import training_runs
from ngo.pipeline.paths import CLAIMS
from ngo.pipeline.plan import EVERY_SEED, plan
from verdicts import judged, judgement, read_claims
from verdicts.claims import ClaimsFile
from verdicts.cli import main
from verdicts.verdict_rows import as_table

CONFIG = REPOSITORY / "config"
SEEDS = tuple(range(10))
"""Fewer can't have a p value below 5 % after the correction for the largest family."""
SHARES = {"fig8_course": np.linspace(0, 1, 17)}
USUAL = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

BASE = {
    ("mnist", False): 97.0, ("mnist", True): 80.0, ("cifar10", False): 75.0,
    ("cifar10", True): 73.0, ("tinyimagenet", False): 40.0, ("tinyimagenet", True): 36.0,
    ("digits", False): 90.0, ("digits", True): 80.0,
}  # fmt: skip
NOISE = 0.02
"""Standard deviation of an accuracy in points, and of log V, beside what a seed's runs share."""

# Claims on what p < 1 does: true in the paper's world, false in the opposite one.
ON_THE_EFFECT = (
    "3-mnist-iid", "3-mnist-noniid", "6", "32-tau1", "37-mnist-iid", "37-mnist-noniid",
    "39-mnist-noniid", "41", "41c", "42", "42c", "61-iid", "66-noniid", "80-p95",
)  # fmt: skip
# Claims on what else is true in every world.
ON_THE_REST = (
    "1-mnist-noniid", "2-mnist-noniid", "10", "35-mnist", "44", "44a", "45", "49-mnist", "50",
    "51a", "60-mnist-noniid", "73",
)  # fmt: skip
EXPECTED = {
    **dict.fromkeys(ON_THE_EFFECT, (judgement.HOLDS, judgement.REVERSED)),
    **dict.fromkeys(ON_THE_REST, (judgement.HOLDS, judgement.HOLDS)),
    "65-noniid": (judgement.FAILS, None),  # an equality
    "54-mnist-noniid": (judgement.HOLDS, judgement.REVERSED),  # each at its own best values
    "52": (judgement.HOLDS, None),  # only curves that oscillate fluctuate more
}


@pytest.fixture(autouse=True, scope="module")
def without_power():
    """What a number of seeds could show is slow, and not asked here."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("detectable", "seeds_needed"):
            patch.setattr(f"verdicts.judging.{name}", lambda *given: math.nan)
        yield


@cache
def claims():
    return read_claims(CONFIG / "reference/claims.yaml")


@cache
def laptop():
    """The runs of each experiment, with ``SEEDS`` in place of the seeds of the config."""
    config = read_config([CONFIG / "config.yaml", CONFIG / "laptop.yaml"])
    return {
        name: list(training_runs(f"training.{name}", config, {**entry, "seeds": list(SEEDS)}))
        for name, entry in config["training"].items()
    }


def table(name, effect):
    """The tidy table of an experiment of the laptop."""
    shares = SHARES.get(name, USUAL)
    rows = [row for spec in laptop()[name] for row in evaluations(spec, effect, shares)]
    return pd.DataFrame(rows)


def edges(n, topology, u):
    """The mean number of edges of a graph."""
    pairs = n * (n - 1) / 2
    return {"ring": n if n > 2 else pairs, "complete": pairs, "random": (u or 0) * pairs}[topology]


def log_V(spec, effect):
    gap = {"ring": 1.0, "random": 0.6 - 0.5 * (spec.u or 0), "complete": 0.0}[spec.topology]
    found = gap - 0.3 * math.log(spec.gamma) + 0.5 * math.log(spec.local_steps or 1)
    found += 0.2 * math.log(spec.workers / 10) + 0.2 * (spec.delay or 0)
    found += 0.5 * math.log(spec.v_threshold or 1)
    if spec.p < 1:
        found -= effect * (1 + 0.5 * math.log(spec.workers / 4)) * (3 - 2 * spec.p)
        if spec.gamma > 1.1:  # where NGO breaks
            found += 4
    return found


def evaluations(spec, effect, shares):
    noise = np.random.default_rng(zlib.crc32(spec.id.encode()))
    shared = np.random.default_rng(spec.seed)
    fields = spec.values()
    by_label = spec.partition in ("shards", "dirichlet")
    top = BASE.get((spec.dataset, by_label), 60.0) + shared.normal(0, 1) - 2 * by_label
    V = 0.0
    if spec.method != "centralized":
        level = log_V(spec, effect) + noise.normal(0, NOISE)
        V = math.exp(level)
        top -= (1.5 if by_label else 0.4) * (3 + level)
    top += noise.normal(0, NOISE) + 0.8 * math.log(spec.workers / 10)
    steps = 600
    models = 0.0
    if spec.method != "centralized":
        models = 2 * edges(spec.workers, spec.topology, spec.u) / (spec.local_steps or 1)
    chatters = spec.method == "ngo" and spec.gamma and spec.gamma > 0.5
    rows = []
    for k, share in enumerate(shares):
        accuracy = 10 + (top - 10) * (1 - math.exp(-5 * share)) / (1 - math.exp(-5))
        if chatters and 0 < share < 1:
            accuracy -= 3 * (k % 2)
        if 0 < share < 1:
            accuracy += noise.normal(0, NOISE)
        loss = (105 - accuracy) / 30 * (60 if spec.task == "vae" else 1)
        rows.append(
            {
                "run": spec.id, **fields, "step": round(share * steps),
                "epoch": share * spec.epochs, "consensus_accuracy": accuracy / 100,
                "workers_accuracy_mean": accuracy / 100 - 0.01,
                "holdout_accuracy": accuracy / 100 if spec.holdout else math.nan,
                "consensus_loss": loss, "workers_loss_mean": loss + V / spec.workers,
                "train_loss": loss / 2, "V": V * share, "parameters": 20_000,
                "messages": models * share * steps, "bytes_sent": 100 * models * share * steps,
                "diverged": False,
            }
        )  # fmt: skip
    return rows


@cache
def verdicts(effect, names):
    """The rows of the ledger of some claims on the laptop's runs, without undeciding cells."""
    chosen = {name: claims().claims[name] for name in names}
    for name, claim in chosen.items():
        if not (claim.every_cell or claim.depends_on):
            chosen[name] = replace(claim, cells={})
    some = ClaimsFile(chosen, claims().gates)
    tables = {name: table(name, effect) for name in some.tables if name in laptop()}
    return as_table(judged(some, tables)).set_index(["claim", "cell"])


@pytest.mark.parametrize("name", EXPECTED)
def test_each_claim_is_decided_as_its_world_is(name):
    for effect, expected in zip((1, -1), EXPECTED[name], strict=True):
        assert expected in (None, verdicts(effect, tuple(EXPECTED)).loc[(name, ""), "verdict"])


def test_every_printed_number_is_compared_with():
    """Each row of the paper's tables once; CIFAR-10 by two ways of training, S2 of two models."""
    levels = [claim for claim in claims().claims.values() if not claim.id.startswith("38b")]  # gaps
    cells = (cell for claim in levels for cell in claim.cells.values() if cell.expectation)
    compared = [cell for cell in cells if cell.expectation.relation == "paper"]
    tables = [pd.read_csv(path) for path in claims().printed]
    assert len(compared) == sum(map(len, tables)) + 3 * 14 == 126
    for way in ("accurate", "likeliest"):
        cell = claims().claims["38a-cifar10-noniid"].cells[f"centralized, {way}"]
        assert cell.expectation.value == 70.4
    gap = claims().claims["38b-mnist-noniid"].cells["ring"].expectation
    assert gap.value == 2.54  # 64.84 − 62.30


def test_figures_read_every_seed_that_their_claims_use():
    """The judge reads the experiment, and what was added for each claim."""
    names = ("config", "laptop", "decide-laptop")
    planned = plan(read_config([CONFIG / f"{name}.yaml" for name in names]))
    assert planned.tables("delay") == [EVERY_SEED + "delay", EVERY_SEED + "delay_tuned"]
    table = "results/laptop/metrics/every_seed_of_figS3.parquet"
    assert planned.inputs("figS3")["metrics"] == table
    assert planned.tables("table1") == ["table1"]
    assert not [name for name in planned.tables(CLAIMS) if name.startswith(EVERY_SEED)]
    for claim in planned.ledger.claims.values():
        if claim.added in planned.training:
            for table in claim.tables:
                used = [*planned.training[table], *planned.training[claim.added]]
                drawn = planned.runs_of(EVERY_SEED + table)
                assert {spec.id for spec in used} <= {spec.id for spec in drawn}
                assert {replace(s, seed=0) for s in drawn} == {replace(s, seed=0) for s in used}


FILES = [CONFIG / "reference/claims.yaml", *sorted(REPOSITORY.glob("papers/*/claims.yaml"))]


@pytest.mark.parametrize("claims", FILES, ids=lambda path: path.parent.name)
def test_all_claims_are_registered_as_they_are(claims, tmp_path, capsys):
    """By the command of ``make register``, which knows the quantities of training runs."""
    command = "register --import ngo.analysis.quantities"
    assert f"$(BIN)/verdicts {command} $$claims" in (REPOSITORY / "Makefile").read_text()
    out = tmp_path / "claims.registered.yaml"
    out.write_bytes(claims.with_suffix(".registered.yaml").read_bytes())
    assert main([*command.split(), str(claims), "--out", str(out)]) == 0
    assert "; 0 new or changed: " in capsys.readouterr().out
