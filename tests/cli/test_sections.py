"""The sections of options."""

from ngo.cli.sections import COMMAND, section_of


def test_an_option_of_an_entry_is_in_the_section_of_its_owner():
    assert section_of("gamma") == "Method and gossip"
    assert section_of("liars") == "Failures and liars"
    assert section_of("speed_file") == "Virtual time"  # clock, then speed
    assert section_of("data_root") == COMMAND
