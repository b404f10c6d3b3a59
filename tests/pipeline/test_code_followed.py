"""What computes a product is in a list of files that its key follows, or goes by a number."""

import json
import sys

import pytest
import running
from conftest import REPOSITORY
from runs import keep_models

from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline import staleness
from ngo.training.spec import FIELDS

pytestmark = pytest.mark.slow  # each test imports and runs most of the package

#: What goes by a number, beside the modules that register entries. What ``common`` takes of the
#: judge computes nothing.
BY_NUMBER = (
    *("ngo/common", "ngo/data", "ngo/engine", "ngo/models", "ngo/native", "ngo/training"),
    *("verdicts/files", "verdicts/lazy", "verdicts/registry"),
)

MEASURED = {
    "alignment": {"samples": 8},
    "consensus": {"rounds": 3, "delay": (1,)},
    "rounds": {"rounds": 8, "early": 2, "trials": 1, "delay": (1,), "lie": (1.0,), "kept": (0.5,)},
    "samples": {"images": 2},
    "sharpness": {"samples": 8, "directions": 1},
    "spectra": {"workers": (4,), "draws": 2},
    "throughput": {"method": ("ngo",), "workers": (2,), "steps": 1, "repeats": 1},
}
"""Options of each measurement; ``theory`` is not run: its folder imports at the top alone."""

#: Notes who imports whom, also inside functions. (Registries import their entries by name.)
NOTED = """
import builtins, json, sys
from pathlib import Path
seen, plain = {}, builtins.__import__
def noted(name, globals=None, locals=None, fromlist=(), level=0):
    module = plain(name, globals, locals, fromlist, level)
    below = [f"{name}.{each}" for each in fromlist or () if f"{name}.{each}" in sys.modules]
    if name == "verdicts":  # its names are imported from elsewhere
        values = [getattr(module, each) for each in fromlist or ()]
        below = [getattr(value, "__module__", value.__name__) for value in values]
    if name.split(".")[0] in ("ngo", "verdicts"):
        seen.setdefault((globals or {}).get("__name__"), []).extend(below or [name])
    return module
builtins.__import__ = noted
given = json.loads(sys.argv[1])
"""
MEASURE = """
from verdicts.registry import load_entries
from ngo.measures.measurement import MEASUREMENTS
from ngo.training.spec_checks import resolve
load_entries("ngo.theorems")
for kind, values in given["values"].items():
    entry, more = MEASUREMENTS[kind], {}
    if entry.on_models:
        more = {"models": [Path(given["models"][kind])], "data_root": Path()}
    if entry.run_fields:
        more = {"make_run": lambda **v: resolve({"dataset": "digits", **v}), "data_root": Path()}
    assert len(entry.table(entry.options(**values), **more))
"""
SHOW = """
import ast
for book in given["books"]:
    cells = json.loads(Path(book).read_text())["cells"]
    for code in ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"):
        kinds = ast.Import, ast.ImportFrom
        lines = [line for line in ast.parse(code).body if isinstance(line, kinds)]
        exec(compile(ast.Module(lines, []), book, "exec"), {"__name__": "notebook"})
import ngo.pipeline.assumptions, ngo.pipeline.notebooks, ngo.pipeline.report_contents
import ngo.report.pages
"""


def imports(code, **given):
    """The modules of our packages that each module has imported in a fresh process, by name."""
    command = [sys.executable, "-P", "-c", f"{NOTED}{code}\nprint(json.dumps(seen))"]
    process = running.start([*command, json.dumps(given)], cwd=REPOSITORY)
    return json.loads(running.finished(process, within=300).splitlines()[-1])


def registering():
    """The modules that register entries with a version."""
    registries = [field.names for field in FIELDS.values() if field.names is not None]
    named = [each.definitions for each in (*registries, MEASUREMENTS)]
    return {place.partition(":")[0] for places in named for place in places.values()}


def below(module, places):
    """Whether a module is one of these folders and files, or in one of them."""
    path = f"{module.replace('.', '/')}/"
    return path.startswith(tuple(f"{place.removesuffix('.py')}/" for place in places))


def not_followed(seen, folders, first=None):
    """What ``folders`` (and ``first``) import, and is neither in them nor has a number."""
    importers = [module for module in seen if below(module, folders) or module == first]
    imported = {module for importer in importers for module in seen[importer]}
    numbered = registering() | {"ngo", "verdicts"}  # whose names are imported from elsewhere
    followed = (*folders, *BY_NUMBER)
    return {module for module in imported - numbered if not below(module, followed)}


@pytest.fixture(scope="module")
def measuring(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    models = dict.fromkeys(("alignment", "sharpness"), folder / "digits.pt")
    models["samples"] = folder / "sine.pt"
    keep_models(models["alignment"], dataset="digits", model="mnist_fc")
    keep_models(models["samples"], dataset="sine", model="toy_net")
    return imports(MEASURE, values=MEASURED, models={kind: str(at) for kind, at in models.items()})


@pytest.fixture(scope="module")
def showing():
    books = [*REPOSITORY.glob("notebooks/*.ipynb"), *REPOSITORY.glob("papers/*/notebooks/*.ipynb")]
    return imports(SHOW, books=[str(book) for book in books])


def test_measurements_follow_the_code_that_they_import_and_a_file_left_out_is_noticed(measuring):
    kinds = {*MEASURED, "theory"}
    ours = {name: at for name, at in MEASUREMENTS.definitions.items() if at.startswith("ngo.")}
    assert kinds == set(ours)
    for kind in kinds:
        module, code = ours[kind].partition(":")[0], MEASUREMENTS[kind].code
        assert not_followed(measuring, (*staleness.MEASURED, *code), module) == set(), kind
    folders = [name for name in staleness.MEASURED if name != "ngo/gossip/gossip_step.py"]
    assert not_followed(measuring, folders) == {"ngo.gossip.gossip_step"}
    found = not_followed(measuring, staleness.MEASURED, "ngo.measures.theory")
    assert "ngo.theorems.table" in found


def test_what_joins_draws_judges_and_prints_is_followed(showing):
    assert {"notebook", "verdicts.judging", "ngo.report.pages", "ngo.pipeline.plan"} < {*showing}
    assert not_followed(showing, staleness.JOINED) == set()
    assert not_followed(showing, staleness.DRAWN, "notebook") == set()
    assert not_followed(showing, staleness.PRINTED) == set()
