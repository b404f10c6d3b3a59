"""Claims of public benchmarks' authors, on extracts of their own result files."""

import math

import pandas as pd
import pytest
from conftest import REPOSITORY
from scipy import stats
from slow_reference import holm

import verdicts

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
