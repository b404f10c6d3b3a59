from pathlib import Path

import nbformat
import pandas as pd
import pytest
from command_line import mistake, ngo


def write_notebook(path: Path, *cells: str, parameters: str = "a = 1") -> Path:
    book = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        }
    )
    book.cells = [nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})]
    book.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(book, path)
    return path


def test_a_notebook_gets_its_parameters(tmp_path):
    book = write_notebook(
        tmp_path / "b.ipynb", f"open({str(tmp_path / 'out')!r}, 'w').write(repr((a, b)))",
        parameters="a = 1\nb = 'x'",
    )  # fmt: skip
    ngo("notebook", book, "--out", tmp_path / "done.ipynb", "-p", "a=2.5")
    assert (tmp_path / "out").read_text() == "(2.5, 'x')"


def test_a_notebook_without_the_parameter_is_not_run(tmp_path):
    book = write_notebook(tmp_path / "b.ipynb", "raise SystemExit", parameters="metrics = 1")
    out = ngo("notebook", book, "--out", tmp_path / "d.ipynb", "-p", "metric=2", code=2)
    assert "'metric' is unknown; allowed: metrics. Did you mean 'metrics'?" in out
    assert not (tmp_path / "d.ipynb").exists()


def test_a_notebooks_value_that_is_no_yaml_is_named(tmp_path):
    book = write_notebook(tmp_path / "b.ipynb", "raise SystemExit")
    out = ngo("notebook", book, "--out", tmp_path / "new/d.ipynb", "-p", "a=[1", code=2)
    assert out.startswith("ngo: param: 'a=[1' is not valid YAML: ")
    assert len(out.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["b.ipynb"]


@pytest.mark.parametrize("name", ["b.ipynb", "b.parquet"])
@pytest.mark.parametrize("content", [b"", b"{}", b"PAR1\xcc"])
def test_a_file_that_is_no_notebook(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    out = ngo("notebook", tmp_path / name, "--out", tmp_path / "d.ipynb", code=2)
    assert f"{name}: this is not a notebook" in out
    assert len(out.splitlines()) == 1
    assert not (tmp_path / "d.ipynb").exists()


def test_a_notebook_that_raises_is_left_for_reading(tmp_path):
    book = write_notebook(tmp_path / "b.ipynb", "raise RuntimeError('no such column')")
    out = ngo("notebook", book, "--out", tmp_path / "d.ipynb", code=2)
    assert "RuntimeError: no such column" in out
    assert "Traceback" not in out
    outputs = nbformat.read(tmp_path / "d.ipynb", 4).cells[-1].outputs
    assert any("RuntimeError" in line for line in outputs[0].traceback)


FIGURE = '''"""The text."""

from ngo.figures.declaration import table


@table("own", section="1", title="Own", apart=None, values={"share": (0, 1)})
def numbers(metrics, share):
    return metrics.assign(share=share)


def show(numbers):
    return numbers.astype(str)


def caption(numbers, **inputs):
    return "The caption."
'''


def test_the_file_of_a_table_is_executed_as_a_notebook(tmp_path):
    pd.DataFrame({"x": [1, 2]}).to_parquet(tmp_path / "m.parquet")
    (tmp_path / "own.py").write_text(FIGURE)
    given = {
        "metrics": tmp_path / "m.parquet",
        "tier": "test",
        "out": tmp_path / "out",
        "share": 0.5,
    }
    flags = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    ngo("notebook", tmp_path / "own.py", "--out", tmp_path / "done.ipynb", *flags)
    assert "The caption. Tier test; no data set." in (tmp_path / "out/tables/own.md").read_text()
    assert (tmp_path / "out/captions/own.rst").read_text() == "The text.\n\nTier test.\n"
    cells = nbformat.read(tmp_path / "done.ipynb", 4).cells
    assert [cell.id for cell in cells] == ["text", "parameters", "numbers", "drawing"]
    assert cells[2].outputs[0].data["text/plain"].splitlines()[1].split() == ["0", "1", "0.5"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-p", "shares=1"], "'shares' is unknown; allowed: metrics, out, share, tier. Did you me"),
        (["-p", "tier=test"], "'metrics' is missing."),
    ],
)
def test_the_file_of_a_table_needs_its_own_parameters(tmp_path, flags, message):
    (tmp_path / "own.py").write_text(FIGURE)
    line = mistake("notebook", tmp_path / "own.py", "--out", tmp_path / "d.ipynb", *flags)
    assert message in line
    assert not (tmp_path / "d.ipynb").exists()
