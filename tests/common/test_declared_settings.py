"""Settings that registered entries declare."""

import pytest

from ngo.common.fields import above, within
from ngo.common.registry import UserError
from ngo.common.settings import DECLARED, declare, number, whole

pytestmark = pytest.mark.usefixtures("own_entries")


def test_a_declared_setting_belongs_to_its_registry():
    assert declare("coupling", "clipped", {"bound": number("largest pull", 0.5, above(0))}) == (
        "bound",
    )
    setting = DECLARED["bound"]
    assert (setting.default, setting.field.kind, setting.field.owners) == (
        0.5,
        float,
        ("coupling",),
    )


def test_entries_of_one_registry_share_a_setting_and_others_do_not():
    shared = {"window": whole("steps that are averaged", 3, within(1, 100))}
    declare("method", "one", shared)
    declare("method", "other", shared)
    assert DECLARED["window"].default == 3
    for kind, settings in (
        ("method", {"window": whole("another window", 5, within(1, 9))}),
        ("coupling", shared),
    ):
        with pytest.raises(UserError, match="field of a run: 'window' is registered already"):
            declare(kind, "third", settings)


def test_an_entry_may_declare_its_settings_again():
    """As a notebook's cell does that is run twice."""
    for default in (0.1, 0.2):
        declare("method", "mine", {"rate": number("a rate", default, above(0))})
    assert DECLARED["rate"].default == 0.2
