#!/usr/bin/env bash
# After Snakemake has made the environment of ngo.yaml: the package, from the folder of the workflow.
set -euo pipefail
python -m pip install --no-deps --editable "$NGO_REPOSITORY"
