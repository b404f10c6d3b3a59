import nbformat
import pandas as pd
import pytest
from books import write_book
from command_line import mistake, ngo
from made_up import exponents


def test_a_notebook_gets_its_parameters(tmp_path):
    book = write_book(
        tmp_path / "b.ipynb", f"open({str(tmp_path / 'out')!r}, 'w').write(repr((a, b)))",
        parameters="a = 1\nb = 'x'",
    )  # fmt: skip
    ngo("notebook", book, "--out", tmp_path / "done.ipynb", "-p", "a=2.5")
    assert (tmp_path / "out").read_text() == "(2.5, 'x')"


def test_a_notebook_without_the_parameter_is_not_run(tmp_path):
    book = write_book(tmp_path / "b.ipynb", "raise SystemExit", parameters="metrics = 1")
    out = ngo("notebook", book, "--out", tmp_path / "d.ipynb", "-p", "metric=2", code=2)
    assert "'metric' is unknown; allowed: metrics. Did you mean 'metrics'?" in out
    assert not (tmp_path / "d.ipynb").exists()


def test_a_notebooks_value_that_is_no_yaml_is_named(tmp_path):
    book = write_book(tmp_path / "b.ipynb", "raise SystemExit")
    out = ngo("notebook", book, "--out", tmp_path / "new/d.ipynb", "-p", "a=[1", code=2)
    assert out.startswith("ngo: param: 'a=[1' is not valid YAML: ")
    assert len(out.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["b.ipynb"]


@pytest.mark.parametrize("content", [b"", b"{}", b"PAR1\xcc"])
def test_a_file_that_is_no_notebook(tmp_path, content):
    (tmp_path / "b.ipynb").write_bytes(content)
    out = ngo("notebook", tmp_path / "b.ipynb", "--out", tmp_path / "d.ipynb", code=2)
    assert "b.ipynb: this is not a notebook" in out
    assert len(out.splitlines()) == 1
    assert not (tmp_path / "d.ipynb").exists()


def test_a_notebook_that_raises_is_left_for_reading(tmp_path):
    book = write_book(tmp_path / "b.ipynb", "raise RuntimeError('no such column')")
    out = ngo("notebook", book, "--out", tmp_path / "d.ipynb", code=2)
    assert "RuntimeError: no such column" in out
    assert "Traceback" not in out
    outputs = nbformat.read(tmp_path / "d.ipynb", 4).cells[-1].outputs
    assert any("RuntimeError" in line for line in outputs[0].traceback)


def test_a_new_notebook_is_a_figure_of_an_experiment(tmp_path, monkeypatch):
    """Its config is told. It can be opened in a folder below that of the results."""
    monkeypatch.chdir(tmp_path)
    out = ngo("notebook", "mine", "--reads", "fig4")
    assert "figures:\n  mine: { section: My own, reads: fig4 }" in out
    folder = tmp_path / "results/demo/metrics"
    folder.mkdir(parents=True)
    exponents().to_parquet(folder / "fig4.parquet")
    monkeypatch.chdir(tmp_path / "notebooks")
    ngo("notebook", "mine.ipynb", "--out", tmp_path / "done.ipynb")
    assert (tmp_path / "results/demo/figures/mine.png").stat().st_size > 10_000
    assert set(pd.read_csv(tmp_path / "results/demo/figures/mine.csv")["tier"]) == {"demo"}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["mine"], "notebooks/mine.ipynb: it is there already"),
        (["my figure"], "notebook: 'my figure' is no name of letters, digits and _"),
        (["absent.ipynb", "--out", "d.ipynb"], "notebook: there is no file 'absent.ipynb'"),
        (["notebooks/mine.ipynb"], "out: it is missing"),
    ],
)
def test_what_can_not_be_started_or_executed_is_one_line(tmp_path, monkeypatch, asked, message):
    monkeypatch.chdir(tmp_path)
    write_book(tmp_path / "notebooks/mine.ipynb", "1")
    assert message in mistake("notebook", *asked)
