"""The names that ``import ngo`` offers."""

import subprocess
import sys

import pytest

import ngo

HEAVY = ("torch", "numpy", "pandas", "matplotlib", "scipy")


@pytest.mark.parametrize("name", ngo.__all__)
def test_every_name_is_there(name):
    assert getattr(ngo, name) is not None
    assert name in dir(ngo)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'ngo' has no attribute 'fitt'"):
        _ = ngo.fitt


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, ngo; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
