"""The group of commands: lazy imports, and errors in one line."""

import click
import pytest
from click.testing import CliRunner
from command_line import mistake

from ngo.cli.group import Commands


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 37 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("can't start new thread"),
    ],
)
def test_out_of_memory_is_a_line_and_other_errors_are_not(error):
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    @click.option("--wrong", is_flag=True)
    def work(wrong):
        raise RuntimeError("a mistake of ours") if wrong else error

    line = mistake("work", group=group)
    assert line.startswith("out of memory; use fewer workers or threads: ")
    result = CliRunner().invoke(group, ["work", "--wrong"])
    assert str(result.exception) == "a mistake of ours"


def test_a_usual_word_as_an_option_is_told_ours():
    line = mistake("train", "--learning-rate", 0.1)
    assert line == "No such option '--learning-rate'. Did you mean '--lr'? See ngo train --help."
    assert "Did you mean '--workers'?" in mistake("partition", "--num-workers", 4)


def test_a_library_of_the_pipeline_that_is_not_installed_is_a_line():
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    @click.argument("name")
    def work(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    line = mistake("work", "snakemake.cli", group=group)
    assert line == (
        "snakemake is not installed; what the pipeline needs: pip install 'ngo-gossip[pipeline]'"
    )
    result = CliRunner().invoke(group, ["work", "mine"])
    assert isinstance(result.exception, ModuleNotFoundError)


def test_an_interrupted_command_says_so():
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    def work():
        raise KeyboardInterrupt

    result = CliRunner().invoke(group, ["work"])
    assert (result.exit_code, result.stderr) == (130, "ngo: interrupted\n")
