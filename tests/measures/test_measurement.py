import subprocess
import sys
from dataclasses import dataclass

import pytest

from ngo.common.fields import at_least, limit_product, whole, within
from ngo.measures.measurement import MEASUREMENTS, Measurement, measurement
from ngo.measures.throughput import ThroughputOptions, throughput_table
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError


@pytest.mark.parametrize("module", ["ngo.measures.measurement", "ngo.measures.theory"])
def test_the_registry_is_read_without_heavy_imports(module):
    heavy = {"torch", "pandas", "networkx", "scipy", "matplotlib"}
    code = f"import sys, {module}; print({heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


@dataclass(frozen=True)
class Sizes:
    size: tuple[int, ...] = whole("sizes", (1, 2), within(1, 1000))
    rounds: int = whole("rounds", 3, at_least(0), optional=True)

    def __post_init__(self) -> None:
        limit_product(self, "size", "rounds")


SIZES = Measurement("sizes", Sizes, print)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spectra", "measurement: 'spectra' is registered already"),
        ("two_words", "measurement: 'two_words' is not allowed; use lower-case letters"),
    ],
)
def test_a_measurement_that_can_not_be_registered_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        measurement(name, Sizes)(lambda options: None)


def test_the_largest_value_of_a_list_counts_in_a_product():
    Sizes(size=(1, 1000), rounds=10_000)
    with pytest.raises(UserError, match="^rounds: size × rounds is 10,001,000; it must be 10,000,"):
        Sizes(size=(1, 1000), rounds=10_001)
    with pytest.raises(UserError, match="^entry.rounds: size × rounds is 20,000,000; it must be"):
        SIZES.read("entry", {"size": [2], "rounds": 10**7})


def test_wrong_entries_are_refused():
    for right in ({"size": [3, 4]}, {"size": [3], "rounds": 0}):
        SIZES.read("entry", right)
    for wrong in (
        {}, {"size": [1], "sze": 1}, {"size": 3}, {"size": []}, {"size": [4, 4]}, {"size": [0]},
        {"size": [1001]}, {"size": [1], "rounds": -1}, {"size": [1], "rounds": 0.5},
    ):  # fmt: skip
        with pytest.raises(UserError):
            SIZES.read("entry", wrong)


def test_a_setting_of_runs_must_be_named_where_run_fields_are_needed():
    with pytest.raises(UserError, match=r"^throughput.a: 'setting' is missing\."):
        MEASUREMENTS["throughput"].read("throughput.a", {})
    with pytest.raises(UserError, match="^spectra.a: 'setting' is unknown"):
        MEASUREMENTS["spectra"].read("spectra.a", {"setting": "b"})


pytestmark = pytest.mark.filterwarnings("error")


def test_throughput_counts_all_workers_samples_in_turns(tmp_path):
    made = []

    def make_run(**values):
        made.append(values["workers"])
        sine = {"dataset": "sine", "model": "toy_net", "task": "regression"}
        return resolve({**sine, "method": values["method"]})

    methods = ("centralized", "gossip", "ngo")
    options = ThroughputOptions(method=methods, workers=(1, 3), steps=2, repeats=2)
    table = throughput_table(options, make_run, tmp_path)
    assert made == [3, 3, 3]
    cases = [("centralized", 1), ("centralized", 3), ("gossip", 1), ("gossip", 3), ("ngo", 1)]
    cases.append(("ngo", 3))
    assert list(zip(table["method"], table["workers"], strict=True)) == 2 * cases
    assert table["repeat"].tolist() == [0] * 6 + [1] * 6
    trained = 2 * table["workers"] * 32
    assert (table["samples_per_second"] * table["seconds"]).tolist() == pytest.approx(
        trained.tolist()
    )
    assert (table["seconds"] > 0).all()
