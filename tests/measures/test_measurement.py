import subprocess
import sys
from dataclasses import dataclass

import pytest

from ngo.cli.cli import main
from ngo.common.fields import at_least
from ngo.common.registry import UserError
from ngo.measures.measurement import MEASUREMENTS, TAKEN, measurement
from ngo.measures.settings import setting, settings_of
from ngo.pipeline.schema import config_schema


def test_the_measurements_are_found():
    assert {"spectra", "theory"} <= set(MEASUREMENTS)
    assert (MEASUREMENTS["alignment"].on_models, MEASUREMENTS["spectra"].on_models) == (True, False)
    assert (MEASUREMENTS["throughput"].exclusive, MEASUREMENTS["spectra"].exclusive) == (
        True,
        False,
    )
    assert MEASUREMENTS.definitions["spectra"] == "ngo.measures.spectra:spectral_table"


@pytest.mark.parametrize("kind", MEASUREMENTS)
def test_a_measurement_is_a_command_whose_help_names_its_settings(kind):
    command = main.get_command(None, kind)
    assert command.name == kind
    assert {option.name for option in command.params} >= set(
        settings_of(MEASUREMENTS[kind].settings)
    )


@pytest.mark.parametrize("module", ["ngo.measures.measurement", "ngo.measures.theory_table"])
def test_the_registry_is_read_without_heavy_imports(module):
    heavy = {"torch", "pandas", "numpy", "networkx", "scipy", "matplotlib"}
    code = f"import sys, {module}; print({heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


@dataclass(frozen=True)
class Settings:
    size: int = setting("size", 1, **at_least(1))


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("spectra", {}, "measurement: 'spectra' is registered already"),
        ("two_words", {}, "measurement: 'two_words' is not allowed; use lower-case letters"),
        ("sizes", {"run_fields": ["size"]}, "measurement: 'sizes' has a setting 'size'; choose"),
        ("sizes", {"run_fields": ["lr"], "on_models": True}, "has both models and run fields"),
    ],
)
def test_a_measurement_that_can_not_be_registered_is_refused(name, how, message):
    with pytest.raises(UserError, match=message):
        measurement(name, Settings, **how)(lambda settings: None)
    assert "sizes" not in MEASUREMENTS


def test_no_measurement_has_the_name_of_a_command_or_of_a_config_key():
    keys = set(config_schema()["properties"]) - {"runs_per_gpu"}  # not a measurement's name anyway
    assert {*main.lazy, *keys} - set(MEASUREMENTS) == set(TAKEN)
    with pytest.raises(UserError, match="measurement: 'train' is a name of a command or of a con"):
        measurement("train", object)
