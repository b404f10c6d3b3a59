"""Every artefact has a notebook that takes what the pipeline gives it."""

import ast
import json
from pathlib import Path

import pytest
from tier_artefacts import OTHERS

from ngo.pipeline.artefacts import ARTEFACTS, CLAIMS
from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan

CAPTION = Path("workflow/report/claims.rst").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ARTEFACTS)
def test_a_notebook_takes_what_its_artefact_gives(name):
    notebook = json.loads(Path(f"notebooks/{name}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (given,) = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", ())]
    values = {
        line.targets[0].id: ast.literal_eval(line.value)
        for line in ast.parse("".join(given["source"])).body
    }
    overlays = [f"config/{OTHERS[name]}.yaml"] if name in OTHERS else []
    given = plan(read_config(["config/config.yaml", *overlays])).parameters(name)
    if name == CLAIMS:
        given["tables"] = []  # they depend on the file of claims
    assert values == given
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)


@pytest.mark.parametrize("text", [ARTEFACTS[CLAIMS].section, ARTEFACTS[CLAIMS].title, CAPTION])
def test_the_headings_of_the_claims_are_true_of_any_file_of_claims(text):
    """A config may name claims of its own, which are not the paper's."""
    assert "claim" in text.lower()
    assert "paper" not in text
