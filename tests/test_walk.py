"""How far a reader walks: the files of the package that a step, a fit and a figure enter."""

import json
import sys

from conftest import REPOSITORY
from made_up import exponents
from running import finished, start

#: Prints the files in which functions are called: in one step, and in a whole fit.
ENTERED = """
import json, sys
from pathlib import Path
import torch
import ngo
ROOT = Path(ngo.__file__).parent
data = torch.randn(200, 4), torch.randint(0, 2, (200,))
ring = {"method": "ngo", "p": 0.8, "workers": 4, "epochs": 2, "batch_size": 8, "progress": False}
entered = set()

def note(frame, event, argument):
    path = Path(frame.f_code.co_filename)
    if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(ROOT):
        entered.add(str(path.relative_to(ROOT)))

def fit(**more):
    ngo.fit(torch.nn.Linear(4, 2), data, data, **ring, **more)

fit()  # which imports what it needs
sys.setprofile(note)
fit()
sys.setprofile(None)
whole = sorted(entered)

def of_one_step(state):
    sys.setprofile(note if state.step == 3 else None)
    if state.step == 3:
        entered.clear()

fit(on_step=of_one_step)
print(json.dumps([sorted(entered - {"training/fit.py"}), whole]))  # which called ``of_one_step``
"""

#: Executes a notebook's cells, and prints the modules that the process has then.
DRAWN = """
import json, sys
values = {}
for cell in json.load(open("notebooks/fig4.ipynb"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), values)
        if "parameters" in cell["metadata"].get("tags", ()):
            values |= {"metrics": sys.argv[1], "out": sys.argv[2]}
print(json.dumps(sorted(sys.modules)))
"""


def last_line(code, *arguments):
    out = finished(start([sys.executable, "-c", code, *map(str, arguments)], cwd=REPOSITORY))
    return json.loads(out.splitlines()[-1])


def test_a_step_is_read_in_14_files_and_a_fit_in_39():
    step, whole = last_line(ENTERED)
    assert {"training/stepper.py", "gossip/step.py", "native/gossip_step.py"} <= set(step)
    assert len(step) <= 14, step
    assert set(step) < set(whole)
    assert len(whole) <= 39, whole


def test_figure_4_is_drawn_from_its_table_without_torch(tmp_path):
    exponents().to_parquet(tmp_path / "fig4.parquet")
    modules = last_line(DRAWN, tmp_path / "fig4.parquet", tmp_path)
    assert list(tmp_path.rglob("fig4.svg")) or list(tmp_path.rglob("fig4.pdf"))
    assert "torch" not in modules
    ours = [name for name in modules if name.split(".")[0] in ("ngo", "verdicts")]
    assert len(ours) <= 60, ours
