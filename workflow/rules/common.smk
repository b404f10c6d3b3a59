# The config, checked, as the table of runs; and what rules ask about it.

import os
import sys
from pathlib import Path
from shlex import quote

from ngo import datasets, devices, experiments
from ngo.files import hold, writable_folder
from ngo.registry import UserError
from ngo.sources import fingerprint, sources
from ngo.spec import flag

try:
    for folder in filter(os.path.lexists, ("results", "logs", "benchmarks")):
        writable_folder(folder, folder)
    PLAN = experiments.plan(
        config, workflow.source_path("../schemas/config.schema.yaml")
    )
    # Jobs run here, and not on the nodes of a cluster: is the device here too?
    HERE = workflow.is_main_process and workflow.local_exec
    GPU = int(devices.chosen(PLAN.device) == "cuda" if HERE else PLAN.device != "cpu")
except UserError as error:
    sys.exit(f"ngo: {error}")

RUNS = PLAN.runs
PARTITIONS = PLAN.partition_runs
DATA_ROOT = datasets.data_root(config=config["data"]["root"])

# Jobs find the commands of this environment, and the data, wherever they run.
shell.prefix(
    f"export PATH={quote(str(Path(sys.executable).parent))}:$PATH"
    f" {datasets.ROOT_VARIABLE}={quote(str(DATA_ROOT.resolve()))}; "
)

# As many GPU jobs at once as there are GPUs. (A cluster counts its own.)
if HERE and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", len(devices.visible_gpus()))


wildcard_constraints:
    run="[^/]+",
    partition="[^/]+",
    experiment="|".join(PLAN.training) or "none",


def get_code(*modules):
    """The package's files that decide what these modules do."""
    return [os.path.relpath(path) for path in sources(*modules)]


def get_code_fingerprint(*modules):
    return fingerprint(sources(*modules))


def get_metrics(runs):
    return [f"results/runs/{run}/metrics.parquet" for run in runs]


def get_experiment_metrics(wildcards):
    return get_metrics(spec.id for spec in PLAN.training[wildcards.experiment])


def get_partition(wildcards):
    return f"results/partitions/{RUNS[wildcards.run].partition_id}.parquet"


def get_shown_partitions(wildcards):
    return [
        f"results/partitions/{spec.partition_id}.parquet"
        for spec in PLAN.partitions[wildcards.artefact]
    ]


def get_manifest(wildcards):
    return f"results/data/{PARTITIONS[wildcards.partition].dataset}.json"


def get_flags(values):
    """Command line flags of a mapping; a list repeats its flag."""
    return [
        str(word)
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        for word in (flag(name), item)
    ]


def get_partition_flags(wildcards):
    return get_flags(PARTITIONS[wildcards.partition].partition_fields)


def get_trained(jobs):
    """The runs that jobs train."""
    return [RUNS[job.wildcards.run] for job in jobs if job.rule.name == "train"]


def get_data_sets(jobs):
    """The data sets that jobs read."""
    drawn = [
        PARTITIONS[job.wildcards.partition]
        for job in jobs
        if job.rule.name == "partition"
    ]
    return sorted({spec.dataset for spec in get_trained(jobs) + drawn})
