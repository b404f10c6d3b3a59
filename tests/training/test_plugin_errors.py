"""An error in a plugin's code names its entry, its file and its line."""

import sys

import pytest
from own_modules import quick, told

from ngo.gossip.method import method


def test_fit_names_a_method_that_fails(own_entries):
    @method("sums", fields=("topology",))
    def sums(step):
        step.network.pull(step.X[:2], step.coupling, 1.0, step.run)

    text = told(method="sums")
    assert text.startswith("method 'sums' (test_plugin_errors.py, line ")
    assert text.endswith("2 rows are exchanged among 3 workers.")


def test_a_callbacks_own_error_is_raised_as_it_is(own_entries):
    @method("stays", fields=("topology",))
    def stays(step):
        pass

    def callback(state):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        quick(method="stays", on_step=callback)


def test_a_method_that_calls_sys_exit_is_named(own_entries):
    @method("leaves", fields=("topology",))
    def leaves(step):
        sys.exit(0)

    text = told(method="leaves")
    assert text.startswith("method 'leaves' (test_plugin_errors.py, line ")
    assert text.endswith("SystemExit: 0.")


def test_a_callbacks_sys_exit_is_raised_as_it_is():
    with pytest.raises(SystemExit):
        quick(on_step=lambda state: sys.exit(3))
