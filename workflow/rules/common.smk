# The config, checked, as the table of runs; and what rules ask about it.

import atexit
import os
import re
import sys
from pathlib import Path
from shlex import quote

from snakemake.cli import get_argument_parser

from ngo import datasets, devices, experiments, sigterm, warm
from ngo.artefacts import ARTEFACTS, BEYOND, tidy_table, tier_folder
from ngo.files import clear_partial, hold, writable_folder
from ngo.registry import UserError, unknown
from ngo.sources import fingerprint, sources
from ngo.spec import flag

sigterm.defer()

ROOM = 2**20  # bytes: with less, not even the logs of jobs would tell what went wrong


def check_folders():
    """What jobs write to can be written to, as far as it is there."""
    writable_folder(Path.cwd(), "folder", ROOM)
    for key in filter(os.path.lexists, ("results", "logs", "benchmarks")):
        for folder in (
            Path(key),
            *Path(key).glob("*/"),
            *Path(key, PLAN.tier).glob("*/"),
        ):
            writable_folder(folder, key)


def tell_folders():
    """At the end, since a full disk may have left no room for the logs that would tell."""
    try:
        check_folders()
    except UserError as error:
        print(
            f"ngo: {error}; what is done is kept, and the same command goes on.",
            file=sys.stderr,
        )


# The config files, lowest first. (workflow.configfiles has the command line's first.)
CONFIGS = [
    os.path.relpath(path)
    for path in ("config/config.yaml", *workflow.overwrite_configfiles)
]

try:
    if workflow.is_main_process:
        # Refuses what Snakemake's own loader passes over.
        experiments.read_config(CONFIGS)
    PLAN = experiments.plan(
        config, workflow.source_path("../schemas/config.schema.yaml")
    )
    check_folders()
    # Jobs run here, and not on the nodes of a cluster: is the device here too? (Which executor it
    # is, a workflow isn't told before it is read; but only a cluster has a number of nodes.)
    HERE = workflow.is_main_process and workflow.resource_settings.nodes is None
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

# As many GPU jobs at once as GPUs have room for. (A cluster counts its own GPUs.)
if HERE and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", PLAN.runs_per_gpu * len(devices.visible_gpus()))


# What can be asked for, besides an artefact: an experiment that none shows, and these.
OWN = [name for name in PLAN.training if name not in ARTEFACTS]
TARGETS = ["all", "tables", "figures", "training", "assumptions"]


# What depends on the tier is below results/<tier> and logs/<tier>; the rest is named by its content.
pathvars:
    tier=PLAN.tier,


wildcard_constraints:
    run="[^/]+",
    partition="[^/]+",
    experiment="|".join(PLAN.training) or "none",


def get_code(*modules):
    """The package's files that decide what these modules do."""
    return [os.path.relpath(path) for path in sources(*modules)]


def get_code_fingerprint(*modules):
    return fingerprint(sources(*modules))


def get_resources(kind):
    """What a scheduler is asked for a job of this kind; more memory when it is tried again."""
    asked = config["resources"][kind]
    return {
        "mem_mb": lambda wildcards, attempt: attempt * asked["mem_mb"],
        "runtime": asked["runtime"],
    }


def get_pattern(names):
    """A pattern that matches these names alone."""
    return "|".join(map(re.escape, names)) or "none"


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


MEASURE_CODE = {
    "consensus": ["ngo.consensus", "ngo.dynamics"],
    "spectra": ["ngo.spectra"],
    "alignment": ["ngo.alignment"],
    "samples": ["ngo.samples"],
    "throughput": ["ngo.throughput"],
    "theory": ["ngo.theory_tables"],
}


def get_measure_code(wildcards):
    return get_code(*MEASURE_CODE[wildcards.kind])


def get_measure_fingerprint(wildcards):
    return get_code_fingerprint(*MEASURE_CODE[wildcards.kind])


def get_measure_flags(wildcards):
    place = {"device": PLAN.device} if wildcards.kind == "throughput" else {}
    return get_flags({**PLAN.measures[wildcards.kind][wildcards.artefact], **place})


def get_measured_data(wildcards):
    """The data set that a measurement reads, if it reads one."""
    dataset = PLAN.measures[wildcards.kind][wildcards.artefact].get("dataset")
    return [f"results/data/{dataset}.json"] if dataset else []


def get_kept_models(wildcards):
    return [
        f"results/runs/{spec.id}/models.pt"
        for spec in PLAN.training[wildcards.artefact]
    ]


def get_notebook(artefact):
    """The notebook of an artefact; with --directory, results are in another folder than it."""
    return Path(os.path.relpath(Path(workflow.basedir, f"notebooks/{artefact}.ipynb")))


def get_notebook_values(artefact):
    """The notebook's parameters, as flags."""
    values = {
        **ARTEFACTS[artefact].inputs(PLAN.tier),
        **PLAN.shown.get(artefact, {}),
        "tier": PLAN.tier,
        "out": tier_folder(PLAN.tier),
    }
    return [
        word for name, value in values.items() for word in ("-p", f"{name}={value}")
    ]


def get_executed(artefact):
    """The executed notebook: no log, since Snakemake prints the logs of jobs that fail."""
    return f"logs/{PLAN.tier}/notebooks/{artefact}.ipynb"


def get_reported(path, artefact, section, title):
    """An artefact's file; the report shows it if it is a picture or a page."""
    if not path.endswith((".png", ".html")):
        return path
    return report(
        path,
        caption=f"../report/{artefact}.rst",
        category=section,
        labels={"Artefact": f"{title} ({Path(path).name})"},
    )


def get_trained(jobs):
    """The runs that jobs train."""
    return [
        RUNS[job.wildcards.run]
        for job in jobs
        if job.rule.name in ("train", "train_and_keep")
    ]


def get_data_sets(jobs):
    """The data sets that jobs read."""
    drawn = [
        PARTITIONS[job.wildcards.partition]
        for job in jobs
        if job.rule.name == "partition"
    ]
    verified = {job.wildcards.dataset for job in jobs if job.rule.name == "data"}
    return sorted(verified | {spec.dataset for spec in get_trained(jobs) + drawn})


def check_own():
    """Stop at an experiment with the name of a rule, or of a tidy table of something else."""
    there = {rule.name for rule in workflow.rules} | {"runs"}
    measured = tuple(f"{kind}_" for kind in (*MEASURE_CODE, "classes"))
    for name in OWN:
        if name in there or name.startswith(measured):
            sys.exit(
                f"ngo: training: {name!r} is a name of the pipeline's own; take another."
            )


def check_targets():
    """Stop at a target that is neither a file nor a rule, and name those that there are."""
    if "snakemake" not in Path(sys.argv[0]).parts[-2:] or not workflow.is_main_process:
        return
    there = {rule.name for rule in workflow.rules}
    for target in get_argument_parser().parse_known_args(sys.argv[1:])[0].targets or ():
        if "/" not in target and target not in there and not os.path.exists(target):
            sys.exit(f"ngo: {unknown('target', target, [*ARTEFACTS, *OWN, *TARGETS])}")
