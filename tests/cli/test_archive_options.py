import pytest
from command_line import ngo


@pytest.mark.parametrize("command", ["restore", "verify"])
def test_commands_that_plan_an_archives_config_have_the_same_options(command):
    text = ngo(command, "--help")
    assert all(option in text for option in ("--trust-plugins", "--data-root"))


def test_a_limit_on_seconds_is_an_option():
    assert "--longest SECONDS" in ngo("verify", "--help")
