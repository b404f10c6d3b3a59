"""Options for the fields of runs and the options of measurements."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ngo.cli.field_options import field_options, run_fields
from ngo.common.fields import Field, within
from ngo.common.registry import UserError


def command_of(options):
    @options
    def show(**given):
        click.echo(repr(given))

    return click.command()(show)


def test_values_have_the_types_of_their_fields():
    command = command_of(run_fields("p", "workers", "topology"))
    result = CliRunner().invoke(command, ["--p", "0.5", "--workers", "4"])
    assert result.output == "{'p': 0.5, 'workers': 4, 'topology': None}\n"


def test_a_value_out_of_range_is_named_with_its_option():
    result = CliRunner().invoke(command_of(run_fields("batch_size")), ["--batch-size", "0"])
    assert isinstance(result.exception, UserError)
    assert str(result.exception).startswith("batch_size: 0 is out of range; it must be ")


@pytest.mark.parametrize("many", [False, True])
def test_the_help_has_the_range_and_the_default(many):
    facts = {"k": (Field(int, "places", within(1, 9)), "[default: 3]", {"multiple": many})}
    text = CliRunner().invoke(command_of(field_options(facts)), ["--help"]).output
    assert "Places (1 to 9)  [default: 3]" in " ".join(text.split()).replace("  ", " ") or (
        "Places (1 to 9) [default: 3]" in " ".join(text.split())
    )


def test_a_file_is_given_by_its_path(tmp_path):
    command = command_of(field_options({"graph": (Field(Path, "a graph"), "", {})}))
    (tmp_path / "1.gml").touch()
    path = str(tmp_path / "1.gml")
    assert CliRunner().invoke(command, ["--graph", path]).output == f"{{'graph': {path!r}}}\n"
    absent = CliRunner().invoke(command, ["--graph", "none.gml"])
    assert str(absent.exception).startswith("graph: 'none.gml' does not exist")
    help = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "--graph FILE A graph (a file)" in help
