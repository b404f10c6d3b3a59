# From a config to every table and figure (see README.md). The rules are in workflow/rules.

from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


# Jobs use Snakemake's own environment (make setup, or environment.yml). The image is used only with
# --software-deployment-method apptainer; it must contain that environment.
container: "docker://python:3.11-slim"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/measures.smk"
include: "workflow/rules/artefacts.smk"


rule all:
    """Every table and figure on one page, and the metrics of all runs (default)."""
    default_target: True
    input:
        rules.report.output,
        rules.tables.input,
        rules.figures.input,
        rules.training.output,


check_targets()
