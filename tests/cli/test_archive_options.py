import pytest
from command_line import ngo


@pytest.mark.parametrize("command", ["carry", "restore", "verify"])
def test_commands_that_plan_an_archives_config_have_the_same_options(command):
    text = ngo(command, "--help")
    assert all(option in text for option in ("--trust-plugins", "--data-root"))


@pytest.mark.parametrize("command", ["carry", "verify"])
def test_a_limit_on_seconds_is_checked(command):
    text = ngo(command, "--help")
    assert "--longest SECONDS" in text
