"""The library's registries and errors are the judge's."""

import sys

import pytest
from running import finished, start

from ngo.common.registry import meant, unknown_field, usual
from ngo.training.spec import FIELDS


@pytest.mark.parametrize("package", ["ngo", "verdicts"])
def test_the_error_has_the_public_name_of_the_package_that_is_used(package):
    code = f"import {package}; print({package}.UserError)"
    out = finished(start([sys.executable, "-c", code]))
    assert out == f"<class '{package}.UserError'>\n"


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("learning_rate", ["lr"]),
        ("step_size", ["lr", "gamma"]),
        ("num_workers", ["workers"]),
        ("algorithm", ["method"]),
        ("momentun", []),
    ],
)
def test_usual_words_are_known(word, names):
    assert usual(word, FIELDS) == names
    assert usual(word, ["u"]) == []


def test_of_many_names_the_nearest_are_named():
    assert meant("momentun", FIELDS).startswith(" Did you mean 'momentum'")
    assert meant("zzzzzz", FIELDS) == ""
    assert meant("bet", ["beta", "best", "other"]) == " Did you mean 'beta' or 'best'?"
    assert str(unknown_field("defaults", "learning_rate", FIELDS)) == (
        "defaults: 'learning_rate' is unknown. Did you mean 'lr'? `ngo fields` lists all."
    )
