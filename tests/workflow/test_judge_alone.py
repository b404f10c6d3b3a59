"""The judge, installed alone, on tables that this project did not make."""

import shutil
import sys
from pathlib import Path

import pytest
import running
from clone import REPOSITORY
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

CLAIMS = """\
claims:
  petals:
    {place: Fisher 1936, says: Iris virginica has longer petals than Iris versicolor, kind: order,
     from: iris, quantity: difference, above: 0, margin: 0.1, unit: cm,
     with: {of: {kind: virginica}, minus: {kind: versicolor}, value: petal length (cm)}}
  sepals:
    {place: Fisher 1936, says: Iris setosa and virginica have sepals of one width, kind: equality,
     from: iris, quantity: difference, near: 0, margin: 0.1, unit: cm,
     with: {of: {kind: setosa}, minus: {kind: virginica}, value: sepal width (cm)}}
  wine:
    {place: Forina 1991, says: the first cultivar has more alcohol than the second, kind: order,
     from: wine, quantity: difference, above: 0, unit: "% by volume",
     with: {of: {kind: class_0}, minus: {kind: class_1}, value: alcohol}}
  cells:
    {place: Street 1993, says: malignant tumours have larger nuclei, kind: order,
     from: cancer, quantity: log_ratio, above: 0, unit: log ratio,
     with: {of: {kind: malignant}, to: {kind: benign}, value: mean radius}}
"""


def write(folder: Path) -> None:
    """The claims, and three of scikit-learn's data sets as CSV: the k-th of each kind is seed k."""
    for name, load in (("iris", load_iris), ("wine", load_wine), ("cancer", load_breast_cancer)):
        data = load(as_frame=True)
        table = data.data.assign(kind=data.target.map(lambda k, names=data.target_names: names[k]))
        few = table.groupby("kind").head(40)
        few.assign(seed=few.groupby("kind").cumcount()).to_csv(folder / f"{name}.csv", index=False)
    (folder / "claims.yaml").write_text(CLAIMS)


@pytest.mark.timeout(300)
def test_it_installs_without_torch_and_judges(tmp_path):
    write(tmp_path)
    shutil.copytree(REPOSITORY / "src/verdicts", tmp_path / "verdicts")
    uv, place = Path(sys.executable).with_name("uv"), tmp_path / "venv"
    running.finished(running.start([uv, "venv", "--python", sys.executable, place]))
    install = [uv, "pip", "install", "--python", place / "bin/python", tmp_path / "verdicts"]
    running.finished(running.start(install))
    there = running.finished(
        running.start([uv, "pip", "list", "--python", place / "bin/python", "--format", "freeze"])
    )
    assert not {"torch", "ngo", "matplotlib"} & {line.split("==")[0] for line in there.split()}
    command = [place / "bin/verdicts", "check", tmp_path / "claims.yaml", "--tables", tmp_path]
    out = running.finished(running.start(command, cwd=tmp_path))
    for line in (
        "holds      petals: ",
        "fails      sepals: ",
        "holds      wine: ",
        "holds      cells: ",
    ):
        assert f"{line}" in out, out
    assert "Of 4 claims, 3 hold, 1 fails" in out
