"""The command ``ngo``: its commands in the order of the pipeline, and those of measurements."""

from __future__ import annotations

import click

import ngo
from ngo.cli import plugin_option, process
from ngo.cli.group import Commands, Lazy
from ngo.common.former import present

COMMANDS = {
    "data": Lazy(
        "ngo.cli.data_command:data", "Verify the files of a data set, and download missing ones."
    ),
    "describe": Lazy(
        "ngo.cli.describe_command:describe",
        "Describe your own data set, so that configs can name it.",
    ),
    "partition": Lazy(
        "ngo.cli.partition_command:partition", "Assign each training sample to a worker."
    ),
    "train": Lazy("ngo.cli.train_command:train", "Train one run."),
    "runs": Lazy("ngo.cli.runs_command:runs", "List the runs of a config, and their cost."),
    "methods": Lazy(
        "ngo.cli.methods_command:methods",
        "List methods and other parts of a step, and which go together.",
    ),
    "fields": Lazy(
        "ngo.cli.fields_command:fields", "List the fields of a run, and the choices that read them."
    ),
    "schema": Lazy(
        "ngo.cli.fields_command:schema",
        "Print the JSON Schema of a config, for editors: they complete and check keys and names.",
    ),
    "aggregate": Lazy(
        "ngo.cli.aggregate_command:aggregate", "Join the metrics files of runs into one tidy table."
    ),
    "classes": Lazy(
        "ngo.cli.aggregate_command:classes",
        "Count the samples per class and worker of partition files.",
    ),
    "notebook": Lazy(
        "ngo.cli.notebook_command:notebook", "Execute the notebook of a figure or table."
    ),
    "kernel": Lazy("ngo.cli.notebook_command:kernel", None),
    "bench": Lazy(
        "ngo.cli.bench_command:bench", "Measure costs, and compare them with the project's targets."
    ),
    "assumptions": Lazy(
        "ngo.cli.assumptions_command:assumptions",
        "List the values that the paper does not state, with reasons.",
    ),
    "report": Lazy(
        "ngo.cli.report_command:report", "Write the results of a tier as one HTML file."
    ),
    "archive": Lazy(
        "ngo.cli.archive_command:archive", "Pack the inputs of FIGURES as one verified archive."
    ),
    "rebuild": Lazy(
        "ngo.cli.archive_command:rebuild", "Make all tables and figures from a metrics ARCHIVE."
    ),
    "restore": Lazy(
        "ngo.cli.restore_command:restore",
        "Put the finished runs of an ARCHIVE back into results/runs.",
    ),
    "carry": Lazy(
        "ngo.cli.carry_command:carry",
        "Carry the runs of an ARCHIVE over to the present code, if it does not change them.",
    ),
    "verify": Lazy(
        "ngo.cli.verify_command:verify",
        "Check an ARCHIVE: its sums, its tables, and runs and measurements that the seed draws.",
    ),
}


@click.group(
    cls=Commands,
    lazy=COMMANDS,
    registered="ngo.cli.measurement_commands:commands",
    params=[plugin_option.OPTION],
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda name: present(name, "command line"),
    },
)
@click.version_option(ngo.__version__)
def main() -> None:
    """Nonlinear gossiping for decentralized optimization.

    Each of n workers takes an SGD step on its own data, then moves towards its neighbours:
    x_i += γ Σ_j W_ij φ_p(x_j − x_i), φ_p(z) = sign(z)|z|^(2p−1).

    \b
    Train one run, with no data to download:
      ngo train --dataset digits --method ngo --p 0.9 --batch-size 16 \\
        --epochs 20 --out out/
    Compare with linear gossip, on the same partition, batches and initial
    parameters:
      ngo train --dataset digits --method gossip --batch-size 16 \\
        --epochs 20 --out out2/
    List the runs that a config would train:
      ngo runs --config config/config.yaml --config config/demo.yaml
    Make a table of the paper from bundled data, in the repository's folder:
      snakemake table1 --cores all --configfile config/demo.yaml

    COMMAND --help explains each command.
    """  # noqa: D301 (click looks for the character that \b stands for)
    process.prepare()
