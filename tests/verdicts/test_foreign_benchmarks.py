"""Claims of public benchmarks' authors, on extracts of their own result files."""

import csv
import math
from pathlib import Path

import pandas as pd
import pytest
from conftest import REPOSITORY
from scipy import stats
from slow_reference import holm

import verdicts
from verdicts import replication

EXAMPLES = REPOSITORY / "examples/verdicts"
NAMES = ("td3", "drqv2", "num_embeddings")

# Table 1 of the TD3 paper: its own number, its standard deviation (1 for 0), and the best other's.
TD3 = {
    "HalfCheetah": (9636.95, 859.065, 8577.29), "Hopper": (3564.07, 114.74, 2996.66),
    "Walker2d": (4682.82, 539.64, 3317.69), "Ant": (4372.44, 1000.33, 1821.94),
    "Reacher": (-3.60, 0.56, -4.01), "InvertedPendulum": (1000, 1, 1000),
    "InvertedDoublePendulum": (9337.47, 14.96, 9355.52),
}  # fmt: skip


@pytest.fixture(scope="module", params=NAMES)
def judged(request):
    folder = EXAMPLES / request.param
    return request.param, verdicts.check(folder / "claims.yaml", folder)


def decided(values, expected, side, margins=None):
    """The verdicts of a family by Student's t tests; ``values`` are one number a seed, by claim.

    A difference within a claim's ``margins`` is none.
    """
    tests = {name: stats.ttest_1samp(each, expected[name]) for name, each in values.items()}
    adjusted, _ = holm({name: test.pvalue for name, test in tests.items()})
    told = {}
    for name, test in tests.items():
        right = "holds" if side * test.statistic > 0 else "reversed"
        told[name] = right if adjusted[name] <= 0.05 else "undecided"
    alike = {}
    for name, margin in (margins or {}).items():
        low = stats.ttest_1samp(values[name], expected[name] - margin, alternative="greater")
        high = stats.ttest_1samp(values[name], expected[name] + margin, alternative="less")
        alike[name] = max(low.pvalue, high.pvalue)
    return told | {name: "equivalent" for name, p in holm(alike)[0].items() if p <= 0.05}


def own_td3():
    table = pd.read_csv(EXAMPLES / "td3/returns.csv")
    best = {env: own["best"] for env, own in table.groupby("env")}
    moving = {env: own for env, own in best.items() if own.std() > 0}
    others = {env: other for env, (_, _, other) in TD3.items()}
    close = dict(zip(TD3, (85.8, 30, 33.2, 18.2, 0.0401, 10, 93.6), strict=True))
    del close["InvertedPendulum"]
    above = decided(moving, others, 1, close)
    found = {f"outperforms-{env}": each for env, each in above.items()}
    # Both standard errors say whether the printed number is met.
    tests = {}
    for env, own in best.items():
        printed, sd, _ = TD3[env]
        error = math.hypot(sd / math.sqrt(10), own.std() / math.sqrt(len(own)))
        tests[f"table1-{env}"] = 2 * stats.norm.sf(abs(own.mean() - printed) / error)
    found |= {name: "not met" if p <= 0.05 else "consistent" for name, p in holm(tests)[0].items()}
    # All ten seeds have the printed value: their signs decide.
    return found | {"outperforms-InvertedPendulum": "equivalent"}


def own_drqv2():
    table = pd.read_csv(EXAMPLES / "drqv2/runs.csv")
    tasks = table.groupby("task")["last"]
    names = ("stand", "walk", "run")
    last = {f"solves-humanoid-{name}": tasks.get_group(f"humanoid_{name}") for name in names}
    shares = table.pivot(index="seed", columns="task", values="in_8_hours").dropna().mean(axis=1)
    hours = {"most-tasks-in-8-hours": shares}
    return decided(last, dict.fromkeys(last, 500), 1) | decided(hours, dict.fromkeys(hours, 0.5), 1)


def own_num_embeddings():
    table = pd.read_csv(EXAMPLES / "num_embeddings/scores.csv")
    errors = table.pivot(index="seed", columns=["data", "method"], values="error").map(math.log)
    families = {
        "embeddings-help-mlp": ("MLP-PLR", "MLP", 0),
        "embeddings-help-resnet": ("ResNet-PLR", "ResNet", 0),
        "on-par": ("MLP-PLR", "Transformer-L", 0.02),
    }
    found = {}
    for family, (of, to, limit) in families.items():
        gaps = {data: errors[data, of] - errors[data, to] for data in table["data"].unique()}
        values = {f"{family}-{data}": gap for data, gap in gaps.items()}
        margins = {} if family == "on-par" else dict.fromkeys(values, 0.01)
        found |= decided(values, dict.fromkeys(values, limit), -1, margins)
    return found


OWN = {"td3": own_td3, "drqv2": own_drqv2, "num_embeddings": own_num_embeddings}


def test_the_verdicts_are_those_of_a_computation_apart(judged):
    name, rows = judged
    assert {row.claim: row.verdict for row in rows} == OWN[name]()


#: 30 studies of four replication projects, with the answers of ReplicationSuccess 1.3.3 (R).
STUDIES = list(csv.DictReader(Path(__file__).with_name("replication_studies.csv").open()))
BOTH = ("original", "original_se", "replication", "replication_se")


@pytest.mark.parametrize("row", STUDIES)
def test_the_definitions_are_those_of_the_r_package(row):
    study = [float(row[name]) for name in BOTH]
    found = {
        "sceptical_p_two_sided": replication.sceptical_p(*study),
        "sceptical_p_golden_one_sided": replication.sceptical_p(*study, type="golden"),
        "q_test_p": replication.q_test(*study),
    }
    ends = replication.prediction_interval(study[0], study[1], study[3])
    found |= dict(zip(("prediction_low", "prediction_high"), ends, strict=True))
    assert found == pytest.approx({name: float(row[name]) for name in found}, abs=1e-6)


def test_small_effects_equivalence_and_the_vote_count():
    """At that effect, p is 1/2."""
    small = 1.959964 - 0.4307273
    assert replication.special.ndtr(small - 1.959964) == pytest.approx(1 / 3, abs=1e-6)
    assert replication.small_telescopes(5, 1, small, 0.2) == pytest.approx(0.5, abs=1e-6)
    assert replication.small_telescopes(5, 1, 0, 0.2) < 0.001
    assert replication.small_telescopes(-5, 1, -3, 0.2) > 0.999  # on the side of the original
    assert replication.equivalence(1, 0.3, 1.5, 0.4, margin=0.5) == pytest.approx(0.5)
    assert replication.equivalence(1, 0.01, 1, 0.01, margin=0.5) < 1e-9
    assert replication.same_sign_and_significant(1, 2, 1)
    assert not replication.same_sign_and_significant(-1, 2, 1)
    assert not replication.same_sign_and_significant(1, 1.9, 1)


@pytest.mark.parametrize(("error", "level"), [(0.0, 0.95), (-1.0, 0.95), (1.0, 1.0), (1.0, 0.0)])
def test_what_is_no_error_or_level_is_refused(error, level):
    with pytest.raises(ValueError, match="must be"):
        replication.prediction_interval(0.3, error, 1.0, level)
    with pytest.raises(ValueError, match="must be"):
        replication.sceptical_p(0.3, error, 1.0, 1.0, type="nominal" if error <= 0 else "silver")
