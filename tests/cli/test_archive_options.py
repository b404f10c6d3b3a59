import pytest
from command_line import ngo


@pytest.mark.parametrize(
    ("command", "options"),
    [("restore", ["--trust-plugins"]), ("verify", ["--trust-plugins", "--data-root"])],
)
def test_commands_that_plan_an_archives_config_may_trust_its_plugins(command, options):
    text = ngo(command, "--help")
    assert all(option in text for option in options)


def test_a_limit_on_seconds_is_an_option():
    assert "--longest SECONDS" in ngo("verify", "--help")
