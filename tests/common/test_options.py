"""Options that registered entries declare."""

import pytest

from ngo.common.fields import above, number, whole, within
from ngo.common.options import DECLARED, declare
from ngo.common.registry import UserError
from ngo.gossip.method import method

pytestmark = pytest.mark.usefixtures("own_entries")


def test_a_declared_option_belongs_to_its_registry():
    assert declare("coupling", "clipped", {"bound": number("largest pull", 0.5, above(0))}) == (
        "bound",
    )
    option = DECLARED["bound"]
    assert (option.default, option.kind, option.owners) == (0.5, float, ("coupling",))


def test_entries_of_one_registry_share_an_option_and_others_do_not():
    shared = {"window": whole("steps that are averaged", 3, within(1, 100))}
    declare("method", "one", shared)
    declare("method", "other", shared)
    assert DECLARED["window"].default == 3
    for kind, options in (
        ("method", {"window": whole("another window", 5, within(1, 9))}),
        ("coupling", shared),
    ):
        with pytest.raises(UserError, match="field of a run: 'window' is registered already"):
            declare(kind, "third", options)


def test_a_value_that_is_not_declared_is_told():
    with pytest.raises(UserError, match="^option: 'rate' of 'mine' is not declared; use number"):
        method("mine", options={"rate": 0.5})(print)
