"""The shipped file of claims: each one resolves, and is decided as it should be in known worlds."""

import math
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest
from conftest import REPOSITORY
from paper_worlds import experiments, tidy_tables

import ngo.analysis  # noqa: F401 (registers the quantities that claims name)
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import CLAIMS
from ngo.pipeline.plan import EVERY_SEED, plan
from verdicts import judged, judgement, read_claims
from verdicts.claims import ClaimsFile
from verdicts.row import as_table

CONFIG = REPOSITORY / "config"


@pytest.fixture(autouse=True, scope="module")
def without_power():
    """What a number of seeds could show is slow, and not asked here."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("detectable", "seeds_needed"):
            patch.setattr(f"verdicts.ledger.{name}", lambda *given: math.nan)
        yield


@cache
def claims():
    return read_claims(CONFIG / "reference/claims.yaml")


@cache
def laptop():
    return experiments([CONFIG / "config.yaml", CONFIG / "laptop.yaml"])


@cache
def verdicts(effect, names):
    """The rows of the ledger of some claims on the laptop's runs, without undeciding cells."""
    chosen = {name: claims().claims[name] for name in names}
    chosen = {
        name: claim if claim.every_cell or claim.depends_on else replace(claim, cells={})
        for name, claim in chosen.items()
    }
    some = ClaimsFile(chosen, claims().gates)
    tables = tidy_tables(laptop(), some.tables, effect)
    return as_table(judged(some, tables)).set_index(["claim", "cell"])


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

OTHERS = ("52", "54-mnist-noniid", "65-noniid")


def verdict(name, effect):
    """The verdict on the laptop's runs."""
    names = (*ON_THE_EFFECT, *ON_THE_REST, *OTHERS)
    return verdicts(effect, names).loc[(name, ""), "verdict"]


@pytest.mark.parametrize("name", ON_THE_EFFECT)
def test_claims_on_the_effect(name):
    assert [verdict(name, effect) for effect in (1, -1)] == [judgement.HOLDS, judgement.REVERSED]


@pytest.mark.parametrize("name", ON_THE_REST)
def test_claims_that_are_true_in_every_world(name):
    assert {verdict(name, effect) for effect in (1, -1)} == {judgement.HOLDS}


@pytest.mark.parametrize(
    ("name", "effect", "expected"),
    [
        ("65-noniid", 1, judgement.FAILS),  # an equality
        ("54-mnist-noniid", 1, judgement.HOLDS),  # each at its own best values
        ("54-mnist-noniid", -1, judgement.REVERSED),
        ("52", 1, judgement.HOLDS),  # only curves that oscillate fluctuate more
    ],
)
def test_claims_of_other_kinds(name, effect, expected):
    assert verdict(name, effect) == expected


def test_every_printed_number_is_compared_with():
    """Each row of the paper's tables once; CIFAR-10 by two ways of training, three of S2 twice."""
    compared = [
        cell
        for claim in claims().claims.values()
        for cell in claim.cells.values()
        if cell.expectation is not None and cell.expectation.relation == "paper"
        if not claim.id.startswith("38b")  # gaps
    ]
    tables = [pd.read_csv(path) for path in claims().printed]
    assert len(compared) == sum(map(len, tables)) + 2 * 14 + 3 == 115
    for rule in ("momentum", "sgd"):
        cell = claims().claims["38a-cifar10-noniid"].cells[f"centralized, {rule}"]
        assert cell.expectation.value == 70.4
    gap = claims().claims["38b-mnist-noniid"].cells["ring"].expectation
    assert gap.value == 2.54  # 64.84 − 62.30


def test_figures_read_every_seed_that_their_claims_use():
    """The judge reads the experiment, and what was added for each claim."""
    names = ("config", "laptop", "decide-laptop")
    planned = plan(read_config([CONFIG / f"{name}.yaml" for name in names]))
    assert planned.tables("delay") == [EVERY_SEED + "delay", EVERY_SEED + "delay_tuned"]
    assert (
        planned.inputs("figS3")["metrics"] == "results/laptop/metrics/every_seed_of_figS3.parquet"
    )
    assert planned.tables("table1") == ["table1"]
    assert not [name for name in planned.tables(CLAIMS) if name.startswith(EVERY_SEED)]
    for claim in planned.ledger.claims.values():
        if claim.added in planned.training:
            for table in claim.tables:
                used = [*planned.training[table], *planned.training[claim.added]]
                drawn = planned.runs_of(EVERY_SEED + table)
                assert {spec.id for spec in used} <= {spec.id for spec in drawn}
                assert {replace(s, seed=0) for s in drawn} == {replace(s, seed=0) for s in used}
