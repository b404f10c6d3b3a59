# The checked config as a plan of runs, and the functions with which rules query it.

import atexit
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

from snakemake.cli import get_argument_parser

# Where the package is not installed, its source suffices to lint the workflow.
if find_spec("ngo") is None:
    if not get_argument_parser().parse_known_args(sys.argv[1:])[0].lint:
        sys.exit(
            "ngo: the package is not installed where Snakemake runs; use the environment of `make setup`."
        )
    rules_folder = workflow.current_basedir.get_path_or_uri(secret_free=True)
    sys.path.insert(0, str(Path(rules_folder, "../../src").resolve()))

from ngo.common.absent import stand_in_for

stand_in_for("numpy", "lib")

from ngo.data import download
from ngo.common import devices
from ngo.pipeline import config_files, damaged, snakemake_methods
from ngo.pipeline.keys import Keys
from ngo.pipeline.module_config import module_files
from ngo.pipeline.plan import plan
from ngo.cli import prefork
from ngo.pipeline.paper import REPOSITORY
from ngo.pipeline.places import tidy_table, tier_folder
from ngo.pipeline.work import requested_memory
from ngo.measures.measurement import MEASUREMENTS
from ngo.common.files import remove_all_partial
from ngo.common.locks import exclusive_lock
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError, nearest, unknown
from ngo.training.spec import flag

# Whether this is the workflow that was started, and not a module of another one.
MAIN = workflow.modifier.is_main_snakefile()

try:
    # A job runs again when its params change, and not by the dates of files. The params contain a
    # key of its code, its values and its inputs (ngo.pipeline.keys). The rules of another workflow
    # keep Snakemake's own methods.
    if MAIN:
        snakemake_methods.replace_all()
except UserError as error:
    sys.exit(f"ngo: {error}")

ROOM = 2**20  # bytes: with less, jobs could not even write their logs


def check_paths():
    """Raise a UserError for a path that Snakemake would read as a pattern of wildcards."""
    sources = [str(entry.source) for entry in PLAN.artefacts.values()]
    for path in (*sources, *CONFIGS, PLAN.claims):
        if set("{}") & set(path):
            raise UserError(
                f"path: {path!r} has a brace, which Snakemake reads as a wildcard; rename that folder"
                " or file, or start from the folder of the Snakefile."
            )


def check_folders():
    """Raise a UserError if an existing folder of the results or logs is not writable."""
    writable_folder(Path.cwd(), "folder", ROOM)
    for key in filter(os.path.lexists, ("results", "logs")):
        for folder in (
            Path(key),
            *Path(key).glob("*/"),
            *Path(key, PLAN.tier).glob("*/"),
        ):
            writable_folder(folder, key)


def tell_folders():
    """Report folders that are not writable; after a full disk, jobs may have left no logs."""
    try:
        check_folders()
    except UserError as error:
        print(
            f"ngo: {error}; finished results are kept; run the same command to continue.",
            file=sys.stderr,
        )


try:
    # The config files, the base first. (workflow.configfiles has the command line's first.)
    if MAIN:
        CONFIGS = [
            os.path.relpath(path)
            for path in ("config/config.yaml", *workflow.overwrite_configfiles)
        ]
    else:
        if workflow.modifier.path_modifier.replace_prefix("results/") != "results/":
            raise UserError(
                "module: prefix is not supported, nor is replace_prefix; name the tier in its config."
            )
        CONFIGS = module_files(config)
        config = config_files.read_config(CONFIGS)
    if workflow.is_main_process:
        # This loader reports what Snakemake's own ignores, such as a key that is repeated.
        config_files.read_config(CONFIGS)
    PLAN = plan(config)
    config["paper"] = {"title": PLAN.paper.title}  # Snakemake's report names it
    PLAN.ledger  # its file is checked too
    check_paths()
    check_folders()
    if workflow.is_main_process:
        for path in damaged.remove_damaged(PLAN, Path("results")):
            print(f"ngo: {path} was damaged; it is removed.", file=sys.stderr)
    # Whether jobs run on this machine, whose device can be checked, or on the nodes of a cluster. (The
    # executor is not known while the workflow is parsed, but only clusters have a number of nodes.)
    HERE = workflow.is_main_process and workflow.resource_settings.nodes is None
    GPU = int(
        devices.chosen(config["device"]) == "cuda"
        if HERE
        else config["device"] != "cpu"
    )
    # What the config calls auto is the CPU where there is no GPU: a prefork server takes such jobs.
    DEVICE = config["device"] if GPU else "cpu"
except UserError as error:
    sys.exit(f"ngo: {error}")

KEYS = Keys(PLAN)
RUNS = PLAN.runs
PARTITIONS = PLAN.partition_runs
DATA_ROOT = download.data_root(config=config["data"]["root"])
# How many runs share a GPU of one machine, at most.
RUNS_PER_GPU = config.get("runs_per_gpu", 1)

# With --sdm, jobs have the commands of an environment or an image, and the code of this folder.
DEPLOYED = {
    method.name.lower() for method in workflow.deployment_settings.deployment_method
} & {"conda", "apptainer"}
# (Snakemake would read a brace in the path of the repository as a wildcard.)
ENVIRONMENT = "../envs/ngo.yaml" if "conda" in DEPLOYED else None
IMAGE = os.path.relpath(REPOSITORY / "workflow/envs/ngo.sif")
if "apptainer" not in DEPLOYED:
    # Snakemake refuses a path with spaces, also of an image that is not used.
    IMAGE = None if " " in IMAGE else IMAGE
elif not os.path.exists(IMAGE):
    sys.exit(
        "ngo: container: workflow/envs/ngo.sif is not there; build it in the folder of the repository:"
        " apptainer build workflow/envs/ngo.sif workflow/envs/ngo.def"
    )
os.environ.update(NGO_REPOSITORY=str(REPOSITORY))  # for envs/ngo.post-deploy.sh

# Jobs find this environment's commands and the data, wherever they run.
# (Snakemake formats the prefix.)
PREFIX = (
    f"export PYTHONPATH={quote(str(REPOSITORY / 'src'))}"
    if DEPLOYED
    else f"export PATH={quote(str(Path(sys.executable).parent))}:$PATH"
) + f" {download.ROOT_VARIABLE}={quote(str(DATA_ROOT.resolve()))}; "
shell.prefix(PREFIX.replace("{", "{{").replace("}", "}}"))

# The number of GPU jobs at once. (A cluster counts its own GPUs.)
if HERE and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", RUNS_PER_GPU * len(devices.visible_gpus()))


# The tables and figures of this config.
SHOWN = PLAN.artefacts

# Targets other than tables and figures.
TARGETS = ["all", "tables", "figures", "training", "assumptions", "report"]


# Files that depend on the tier are in results/<tier> and logs/<tier>; others are named by their content.
pathvars:
    tier=PLAN.tier,


wildcard_constraints:
    run="[^/]+",
    partition="[^/]+",
    experiment="|".join(PLAN.training) or "none",


def get_resources(kind):
    """The resources that a job of this kind requests; each new attempt requests more memory."""
    requested = config["resources"][kind]
    return {
        "mem_mb": lambda wildcards, attempt: attempt * requested["mem_mb"],
        "runtime": requested["runtime"],
    }


def get_train_memory(wildcards, attempt):
    """The host memory that a run requests in MB, which its data set decides."""
    dataset = RUNS[wildcards.run].dataset
    return attempt * requested_memory(config["resources"]["train"], dataset)


def get_rule(name):
    """A rule of this workflow; a module's rules have other names outside."""
    return workflow.get_rule(workflow.modifier.modify_rulename(name))


def get_pattern(names):
    """A pattern that matches exactly these names."""
    return "|".join(map(re.escape, names)) or "none"


def get_metrics(runs):
    return [f"results/runs/{run}/metrics.parquet" for run in runs]


def get_partition(wildcards):
    run = wildcards.run
    if run not in RUNS:
        sys.exit(f"ngo: run: '{run}' is not in the config.{nearest(run, RUNS)}")
    return f"results/partitions/{RUNS[run].partition_id}.parquet"


def get_shown_partitions(wildcards):
    return [
        f"results/partitions/{spec.partition_id}.parquet"
        for spec in PLAN.partitions[wildcards.artefact]
    ]


def get_flags(values):
    """The command line flags of a mapping; a list repeats its flag."""
    return [
        str(word)
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        for word in (flag(name), item)
    ]


def get_plugins(wildcards, output):
    """The flags of every command for the config's plugins.

    Snakemake records no params that are functions of the output, so these flags trigger no job; a
    plugin affects the jobs that use its code, through their keys.
    """
    return get_flags({"plugin": PLAN.plugins})


def get_mixed_versions(wildcards, output):
    """The flag of ``ngo aggregate``; a table that has no mixture does not depend on it."""
    return get_flags({"mixed_versions": PLAN.mixed_versions})


def get_sampled(wildcards, output):
    """The flags of ``ngo aggregate`` for a table of universes; its key has their values."""
    name = wildcards.experiment
    if name not in PLAN.universes:
        return []
    return get_flags({"universes": name, "config": CONFIGS})


def get_own_tables():
    """The tables of universes and of measurements, which are targets by their names."""
    measured = [
        f"{kind}_{name}" for kind, entries in PLAN.measures.items() for name in entries
    ]
    return [name for name in (*PLAN.universes, *measured) if name not in SHOWN]


def get_measurements(exclusive):
    """A pattern that matches the measurements that run alone on the machine, or the others."""
    return get_pattern(
        name for name, each in MEASUREMENTS.items() if each.exclusive == exclusive
    )


def get_table_key(pattern):
    """The key of a tidy table, named by a pattern of wildcards."""
    return lambda wildcards: KEYS.table(pattern.format(**wildcards))


def get_artefact_key(artefact):
    return lambda wildcards: KEYS.artefact(artefact)


def get_measure_flags(wildcards):
    place = (
        {"device": config["device"]} if MEASUREMENTS[wildcards.kind].run_fields else {}
    )
    return get_flags({**PLAN.measures[wildcards.kind][wildcards.artefact], **place})


def get_measured_data(wildcards):
    """The manifest of the data set that a measurement reads, if any."""
    dataset = PLAN.measures[wildcards.kind][wildcards.artefact].get("dataset")
    return [f"results/data/{dataset}.json"] if dataset else []


def get_kept_models(wildcards):
    """The models that the training of the same name kept, if the measurement reads models."""
    if not MEASUREMENTS[wildcards.kind].on_models:
        return []
    return [
        f"results/runs/{spec.id}/models.pt"
        for spec in PLAN.training[wildcards.artefact]
    ]


def get_executed(artefact):
    """The executed notebook. It is not a log: Snakemake prints the logs of failed jobs."""
    return f"logs/{PLAN.tier}/notebooks/{artefact}.ipynb"


def get_files(*entries):
    """The files of tables and figures."""
    folder = tier_folder(PLAN.tier)
    return [f"{folder}/{path}" for entry in entries for path in entry.outputs()]


def get_outputs(entry):
    """The files of a table or figure; pictures and pages are included in Snakemake's report."""
    *files, caption = get_files(entry)
    shown = (os.path.abspath(caption), entry.section, entry.title)
    return [*(get_reported(path, *shown) for path in files), caption]


def get_reported(path, caption, section, title):
    """An output that is included in Snakemake's report, if it is a picture or a page."""
    if not path.endswith((".png", ".html")):
        return path
    return report(
        path,
        caption=caption,
        category=section,
        labels={"Figure or table": f"{title} ({Path(path).name})"},
    )


def get_report_key(wildcards):
    """The key of the page: of its code and texts, and of everything on it."""
    made = [KEYS.artefact(name) for name in SHOWN]
    return KEYS.page([*made, KEYS.assumptions(CONFIGS)], CONFIGS)


def get_trained(jobs):
    """The runs that the jobs train."""
    return [RUNS[job.wildcards.run] for job in get_training(jobs)]


def get_training(jobs):
    """Of the jobs, those that train a run."""
    return [job for job in jobs if job.rule.name in ("train", "train_and_keep")]


def get_data_sets(jobs):
    """The data sets that the jobs read."""
    drawn = [
        PARTITIONS[job.wildcards.partition]
        for job in jobs
        if job.rule.name == "partition"
    ]
    verified = {job.wildcards.dataset for job in jobs if job.rule.name == "data"}
    return sorted(verified | {spec.dataset for spec in get_trained(jobs) + drawn})


def check_own():
    """Exit if an experiment has the name of a rule or of another tidy table."""
    there = {rule.name for rule in workflow.rules} | {*TARGETS, "runs"}
    measured = tuple(f"{kind}_" for kind in (*MEASUREMENTS, "classes"))
    for name in set(PLAN.training) - set(PLAN.paper.figures):
        if name in there or name.startswith(measured):
            sys.exit(
                f"ngo: training: {name!r} is a name of the pipeline's own; choose another."
            )


def check_targets():
    """Exit if a target is neither a file nor a rule, and list the rules."""
    started = "snakemake" in Path(sys.argv[0]).parts[-2:] and workflow.is_main_process
    if not MAIN or not started:
        return
    there = {rule.name for rule in workflow.rules}
    for target in get_argument_parser().parse_known_args(sys.argv[1:])[0].targets or ():
        if "/" not in target and target not in there and not os.path.exists(target):
            known = [*SHOWN, *TARGETS, *get_own_tables()]
            sys.exit(f"ngo: {unknown('target', target, known)}")
