"""The group of commands: lazy imports, and errors in one line."""

import click
import pytest
from click.testing import CliRunner
from command_line import mistake

from ngo.cli.cli import Commands


def raising(error):
    """A group whose command ``work`` raises the error."""

    def work():
        raise error

    return Commands(commands={"work": click.Command("work", callback=work)})


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
    line = mistake("work", group=raising(error))
    assert line.startswith("out of memory; use fewer workers or threads: ")
    result = CliRunner().invoke(raising(RuntimeError("a mistake of ours")), ["work"])
    assert str(result.exception) == "a mistake of ours"


def test_a_usual_word_as_an_option_is_told_ours():
    line = mistake("train", "--learning-rate", 0.1)
    assert line == "No such option '--learning-rate'. Did you mean '--lr'? See ngo train --help."
    assert "Did you mean '--workers'?" in mistake("partition", "--num-workers", 4)


def test_a_library_of_the_pipeline_that_is_not_installed_is_a_line():
    line = mistake("work", group=raising(ModuleNotFoundError("", name="snakemake.cli")))
    assert line == (
        "snakemake is not installed; what the pipeline needs: pip install 'ngo-gossip[pipeline]'"
    )
    result = CliRunner().invoke(raising(ModuleNotFoundError("", name="mine")), ["work"])
    assert isinstance(result.exception, ModuleNotFoundError)


def test_an_interrupted_command_says_so():
    result = CliRunner().invoke(raising(KeyboardInterrupt()), ["work"])
    assert (result.exit_code, result.stderr) == (130, "ngo: interrupted\n")
