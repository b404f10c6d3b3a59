"""The command ``ngo``: its commands by section, then those of measurements."""

from __future__ import annotations

from collections.abc import Mapping

import click

import ngo
from ngo.cli import log
from ngo.cli.group import PLUGIN, Commands

#: The sections of the help, with the module of each command.
SECTIONS = {
    "Run": {
        "train": "ngo.cli.train_command",
        "runs": "ngo.cli.list_commands",
        "fields": "ngo.cli.list_commands",
        "methods": "ngo.cli.methods_command",
        "data": "ngo.cli.data_commands",
        "describe": "ngo.cli.data_commands",
        "partition": "ngo.cli.data_commands",
    },
    "Archive": {
        "archive": "ngo.cli.archive_commands",
        "rebuild": "ngo.cli.archive_commands",
        "restore": "ngo.cli.archive_commands",
        "verify": "ngo.cli.archive_commands",
    },
    "Develop": {
        "schema": "ngo.cli.list_commands",
    },
    "": {  # not in the help: the pipeline calls them
        "aggregate": "ngo.cli.result_commands",
        "classes": "ngo.cli.result_commands",
        "notebook": "ngo.cli.notebook_command",
        "assumptions": "ngo.cli.result_commands",
        "report": "ngo.cli.result_commands",
    },
}


def measurements() -> Mapping[str, click.Command]:
    """The commands of measurements, those of plugins included."""
    from ngo.cli.measurement_commands import commands

    return commands()


@click.group(
    cls=Commands,
    sections=SECTIONS,
    measurements=measurements,
    params=[PLUGIN],
    context_settings={"help_option_names": ["-h", "--help"]},
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
    names of methods, graphs, … (for zsh and fish, see docs/start.md):
      eval "$(_NGO_COMPLETE=bash_source ngo)"
    """
    log.prepare()
