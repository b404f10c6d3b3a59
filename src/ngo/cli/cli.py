"""The command ``ngo``: its commands by section, then those of measurements."""

from __future__ import annotations

from collections.abc import Mapping

import click

import ngo
from ngo.cli import plugin_option, process
from ngo.cli.group import Commands
from ngo.common.former import present

SECTIONS = {
    "Run": {
        "train": "ngo.cli.train_command",
        "runs": "ngo.cli.runs_command",
        "fields": "ngo.cli.fields_command",
        "methods": "ngo.cli.methods_command",
        "data": "ngo.cli.data_command",
        "describe": "ngo.cli.describe_command",
        "partition": "ngo.cli.partition_command",
    },
    "Archive": {
        "archive": "ngo.cli.archive_command",
        "rebuild": "ngo.cli.archive_command",
        "restore": "ngo.cli.restore_command",
        "verify": "ngo.cli.verify_command",
    },
    "Develop": {
        "schema": "ngo.cli.fields_command",
    },
    "": {  # not in the help: the pipeline calls them
        "aggregate": "ngo.cli.aggregate_command",
        "classes": "ngo.cli.aggregate_command",
        "notebook": "ngo.cli.notebook_command",
        "assumptions": "ngo.cli.assumptions_command",
        "report": "ngo.cli.report_command",
    },
}
"""The sections of the help, with the module of each command."""


def measurements() -> Mapping[str, click.Command]:
    """The commands of measurements, those of plugins included."""
    from ngo.cli.measurement_commands import commands

    return commands()


@click.group(
    cls=Commands,
    sections=SECTIONS,
    measurements=measurements,
    params=[plugin_option.OPTION],
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda name: present(name, "command line"),
    },
)
@click.version_option(ngo.__version__)
def main() -> None:
    r"""Nonlinear gossiping for decentralized optimization.

    Each of n workers takes an SGD step on its own data, then moves towards its neighbours:
    x_i += γ Σ_j W_ij φ_p(x_j − x_i), φ_p(z) = sign(z)|z|^(2p−1).

    Train one run, with no data to download:
      ngo train --dataset digits --method ngo --p 0.9 --gamma 0.3 \
        --batch-size 16 --epochs 20 --out out/
    Compare with decentralized SGD, on the same partition, batches and initial
    parameters:
      ngo train --dataset digits --method dsgd --batch-size 16 \
        --epochs 20 --out out2/
    List the runs that a config would train:
      ngo runs --config config/config.yaml --config config/demo.yaml
    Make a table of the paper from bundled data, in the repository's folder:
      snakemake table1 --cores all --configfile config/demo.yaml

    COMMAND --help explains each command. Let bash complete commands, options and
    names of methods, graphs, … (for zsh and fish, see docs/commands.md):
      eval "$(_NGO_COMPLETE=bash_source ngo)"
    """
    process.prepare()
