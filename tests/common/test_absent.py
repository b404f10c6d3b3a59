"""Stand-ins for libraries that are not installed."""

import sys

import pytest

from ngo.common.absent import stand_in_for
from ngo.common.registry import UserError


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return sys.modules


def test_an_absent_library_is_imported_and_its_use_is_one_line(modules):
    stand_in_for("nowhere", "part")
    import nowhere
    from nowhere.part import thing

    assert nowhere.anything.at.all is not None
    with pytest.raises(
        UserError, match="^nowhere: it is not installed where Snakemake runs; [^\n]+$"
    ):
        thing(1)


def test_an_installed_library_stays(modules):
    stand_in_for("json")
    import json

    assert json.loads("1") == 1
