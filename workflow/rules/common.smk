# The checked config as a plan, and the questions that rules ask of it.
#
# What is read of Snakemake's `workflow` that has no public door, and nothing is changed there:
# basedir, cores, dag (in onstart, onerror), default_target, deployment_settings,
# global_resources, is_main_process, modifier, modules' rules (get_rule), overwrite_configfiles,
# resource_settings.nodes, rules.

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

from snakemake.cli import get_argument_parser

if find_spec("ngo") is None:
    sys.exit(
        "ngo: the package is not installed where Snakemake runs; use the environment of `make setup`."
    )

from ngo.common import devices
from verdicts.registry import UserError, unknown
from ngo.data import download
from ngo.data.description import identity
from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline import staleness, workflow_start
from ngo.pipeline.config import read_config
from ngo.pipeline.jobs import drawings, jobs
from ngo.pipeline.paths import (
    REPOSITORY,
    data_manifest,
    job_table,
    partition_file,
    tidy_table,
)
from ngo.pipeline.plan import plan
from ngo.training.results_version import results_version
from ngo.training.spec import flags_of as get_flags, own_entries

# Whether this is the workflow that was started, and not a module of another one.
MAIN = workflow.modifier.is_main_snakefile()

try:
    # The config files, the base first. (workflow.configfiles has the command line's first.)
    if MAIN:
        given = ("config/config.yaml", *workflow.overwrite_configfiles)
        CONFIGS = list(map(os.path.relpath, given))
    else:
        if workflow.modifier.path_modifier.replace_prefix("results/") != "results/":
            raise UserError(
                "module: prefix is not supported, nor is replace_prefix; name the tier in its config."
            )
        CONFIGS = workflow_start.module_files(config)
        config = read_config(CONFIGS)
    if workflow.is_main_process:
        # This loader reports what Snakemake's own ignores, such as a key that is repeated.
        read_config(CONFIGS)
    PLAN = plan(config)
    config["paper"] = {"title": PLAN.paper["title"]}  # Snakemake's report names it
    PLAN.ledger  # its file is checked too
    JOBS, DRAWINGS = jobs(PLAN), drawings(PLAN)
    if workflow.is_main_process:
        workflow_start.check(PLAN, CONFIGS, forced={"--forceall", "-F"} & {*sys.argv})
    # Whether jobs run on this machine, whose device can be checked, or on the nodes of a cluster. (The
    # executor is not known while the workflow is parsed, but only clusters have a number of nodes.)
    HERE = workflow.is_main_process and workflow.resource_settings.nodes is None
    GPU = int(
        devices.chosen(config["device"]) == "cuda"
        if HERE
        else config["device"] != "cpu"
    )
    if not MAIN and workflow.is_main_process:  # a module has no onstart
        workflow_start.write_files([*DRAWINGS.values(), *sum(JOBS.values(), [])])
except UserError as error:
    sys.exit(f"ngo: {error}")

TRIED = PLAN.own_combinations
NAMED = {job.name: job for experiment in JOBS.values() for job in experiment}
DATA_ROOT = download.data_root(config=config["data"]["root"])

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

# Jobs find this environment's commands and the data, wherever they run. (Snakemake formats the prefix.)
PREFIX = (
    f"export PYTHONPATH={quote(str(REPOSITORY / 'src'))}"
    if DEPLOYED
    else f"export PATH={quote(str(Path(sys.executable).parent))}:$PATH"
) + f" {download.ROOT_VARIABLE}={quote(str(DATA_ROOT.resolve()))}; "
shell.prefix(PREFIX.replace("{", "{{").replace("}", "}}"))

# The tables and figures of this config, and the targets other than these.
SHOWN = PLAN.artefacts
TARGETS = ["all", "tables", "figures", "training", "assumptions", "report"]
FLAGS = get_flags({"config": CONFIGS})


# Files that depend on the tier are in results/<tier> and logs/<tier>; runs and data are shared.
pathvars:
    tier=PLAN.tier,


wildcard_constraints:
    job="[^/]+",
    setting="[^/]+",


def get_plugins(wildcards, output):
    """The flags of every command for the config's plugins.

    Snakemake records no params that are functions of the output, so these flags trigger no job.
    """
    return get_flags({"plugin": PLAN.plugins})


def get_measurements(exclusive):
    """A pattern that matches the measurements that run alone on the machine, or the others."""
    names = (
        kind for kind, entry in MEASUREMENTS.items() if entry.exclusive == exclusive
    )
    return "|".join(names) or "none"


def get_kept(wildcards, files):
    """The files, if the measurement reads the models that training of its name kept."""
    return files if MEASUREMENTS[wildcards.kind].on_models else []


def get_rule(name):
    """A rule of this workflow; a module's rules have other names outside."""
    return workflow.get_rule(workflow.modifier.modify_rulename(name))


def get_outputs(entry):
    """The files of a table or figure; pictures and pages are included in Snakemake's report."""
    shown = ("../report/artefact.rst", entry.section, entry.title)
    return [get_reported(path, *shown) for path in PLAN.files([entry])]


def get_reported(path, caption, section, title):
    """An output that is included in Snakemake's report, if it is a picture or a page."""
    if not path.endswith((".png", ".html")):
        return path
    labels = {"Figure or table": f"{title} ({Path(path).name})"}
    return report(path, caption=caption, category=section, labels=labels)


def check_targets():
    """Exit if a target is neither a file nor a rule, and list the rules."""
    started = "snakemake" in Path(sys.argv[0]).parts[-2:] and workflow.is_main_process
    if not MAIN or not started:
        return
    there = {rule.name for rule in workflow.rules}
    for target in get_argument_parser().parse_known_args(sys.argv[1:])[0].targets or ():
        if "/" not in target and target not in there and not os.path.exists(target):
            known = [*SHOWN, *TARGETS, *PLAN.own_tables]
            sys.exit(f"ngo: {unknown('target', target, known)}")
