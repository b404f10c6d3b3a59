"""``ngo fields``."""

import re

from command_line import ngo

from ngo.common import plugins
from ngo.training.spec import FIELDS

PLUGIN = """
import ngo

@ngo.coupling("limited", options={"limit": ngo.number("largest pull", 0.5, ngo.above(0, 9))})
def limited(z, weights, gamma, run):
    return z
"""


def listed(*arguments):
    """What is said of each field, by its name."""
    table = ngo("fields", *arguments).split("\n\n")[1]
    entries = re.split(r"\n(?=\S)", table)
    pairs = (" ".join(entry.split()).split(" ", 1) for entry in entries)
    return dict(pairs)


def test_every_field_is_listed_with_its_meaning_its_values_and_its_readers():
    found = listed()
    assert list(found) == list(FIELDS)
    assert found["beta"] == (
        "Dirichlet concentration: a number, above 0, at most 1,000,000. Default 0.5. Read with "
        "partition dirichlet, dirichlet_min, quantity."
    )
    assert found["kept_share"].endswith("Default 0.01. Read with compression random_k, top_k.")
    assert found["task"] == (
        "learning task: classification, next_character, regression, vae. Default classification."
    )


def test_options_of_plugins_are_listed(own_entries, tmp_path):
    path = tmp_path / "limits.py"
    path.write_text(PLUGIN)
    assert listed("--plugin", path)["limit"] == (
        "largest pull: a number, above 0, at most 9. Default 0.5. Read with coupling limited."
    )
    assert plugins.loaded()
