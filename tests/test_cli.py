import json
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import CONFIGS

from ngo.artefacts import ARTEFACTS
from ngo.cli import main
from ngo.spec import FIELDS, flag

SMALL = ["--dataset", "digits", "--batch-size", "16", "--epochs", "0.2", "--device", "cpu"]


def ngo(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_help_teaches():
    text = ngo("--help")
    for command in ("data", "partition", "train", "runs", "aggregate", "notebook"):
        assert f"\n  {command}" in text
    train = ngo("train", "--help")
    for name in FIELDS:
        assert flag(name) in train


def test_a_run_by_flags_and_again_by_its_record(tmp_path):
    out = ngo("train", *SMALL, "--protocol", "ngo", "--p", "0.8", "--out", tmp_path / "a")
    assert "digits-iid-ring-ngo-p0.8-s0-" in out
    ngo("train", "--spec", tmp_path / "a/run.json", "--device", "cpu", "--out", tmp_path / "b")
    first, second = (pd.read_parquet(tmp_path / name / "metrics.parquet") for name in ("a", "b"))
    pd.testing.assert_frame_equal(first, second)
    record = json.loads((tmp_path / "a/run.json").read_text())
    ngo(*record["command"][1:], "--device", "cpu", "--out", tmp_path / "c")
    again = json.loads((tmp_path / "c/run.json").read_text())
    assert again["id"] == record["id"]
    assert again["final"]["consensus_loss"] == record["final"]["consensus_loss"]


def test_a_partition_file_gives_what_is_drawn_without(tmp_path):
    shards = ["--partition", "shards", "--shards", "40"]
    file = tmp_path / "p.parquet"
    out = ngo("partition", "--dataset", "digits", *shards, "--seed", "3", "--out", file)
    assert "70 to 72 for each of 10 workers" in out or "for each of 10 workers" in out
    run = ["train", *SMALL, *shards, "--seed", "3", "--out"]
    ngo(*run, tmp_path / "with", "--partition-file", file)
    ngo(*run, tmp_path / "without")
    first, second = (
        pd.read_parquet(tmp_path / name / "metrics.parquet") for name in ("with", "without")
    )
    pd.testing.assert_frame_equal(first, second)


def test_a_value_without_effect_is_named(tmp_path):
    out = ngo("train", *SMALL, "--protocol", "gossip", "--p", "0.8", "--out", tmp_path / "a")
    assert "note: p 0.8 has no effect here: it is 1" in out
    out = ngo("train", *SMALL, "--protocol", "centralized", "--topology", "ring", "--out", tmp_path)
    assert "note: topology ring has no effect here: it is not used" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--p", "1.2"], "p: 1.2 is out of range; it must be a number, 0.5 to 1"),
        (["--lr", "nan"], "lr: nan is not finite"),
        (["--gamma", "-1"], "gamma: -1.0 is out of range"),
        (["--topology", "rign"], "Did you mean 'ring'?"),
        (["--protocol", "mgo"], "Did you mean 'ngo'?"),
        (["--dataset", "digts"], "Did you mean 'digits'?"),
        (["--partition", "dirichlet", "--beta", "0"], "beta: 0.0 is out of range"),
        (["--topology", "random", "--u", "1.5"], "u: 1.5 is out of range"),
        (["--batch-size", "144"], "batch_size: 144 is larger than a worker's share of 143"),
        (["--workers", "1"], "workers: 1 is too few"),
        (["--device", "tpu"], "device: 'tpu' is unknown"),
        (["--backend", "thread"], "backend: 'thread' is unknown"),
        (["--partition-file", __file__], "partition-file: "),
        (["--spec", __file__], "is no JSON object"),
    ],
)
def test_a_mistake_stops_before_anything_is_written(tmp_path, arguments, message):
    out = ngo("train", *SMALL, "--out", tmp_path / "run", *arguments, code=2)
    line = next(line for line in out.splitlines() if line.startswith("ngo: "))
    assert message in line
    assert not list(tmp_path.rglob("*.parquet"))
    assert "Traceback" not in out


def test_a_run_file_with_an_unknown_field_is_refused(tmp_path):
    (tmp_path / "s.json").write_text('{"datset": "digits"}')
    out = ngo("train", "--spec", tmp_path / "s.json", "--out", tmp_path / "run", code=2)
    assert "spec: 'datset' is unknown" in out
    assert "Did you mean 'dataset'?" in out


def test_no_data_and_no_network(tmp_path, monkeypatch):
    import urllib.error

    def no_network(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("ngo.datasets.urllib.request.urlopen", no_network)
    arguments = ["--dataset", "mnist", "--data-root", tmp_path / "none", "--device", "cpu"]
    out = ngo("train", *arguments, "--out", tmp_path / "run", code=2)
    assert "data.root: mnist is not in" in out
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    out = ngo("train", *SMALL, "--out", tmp_path / "file/run", code=2)
    assert "file/run' can't be written: Not a directory" in out


def test_runs_lists_what_a_config_trains():
    configs = ["--config", "config/config.yaml", "--config", "config/demo.yaml"]
    text = ngo("runs", *configs)
    assert "table1: 28 runs\n  digits-iid-centralized-s0-" in text
    assert "demo: 113 runs of 17 experiments on " in text.splitlines()[-1]
    table = json.loads(ngo("runs", *configs, "--json"))
    assert len({row["id"] for row in table}) == 113
    assert sum(row["experiment"] == "table1" for row in table) == 28


def test_runs_alone_lists_the_tiers_beside_files_that_are_none(tmp_path, monkeypatch):
    shutil.copytree("workflow/schemas", tmp_path / "workflow/schemas")
    (tmp_path / "config").mkdir()
    for path in CONFIGS:
        shutil.copy(path, tmp_path / "config")
    (tmp_path / "config/more.yaml").write_text("services: {}\n")
    monkeypatch.chdir(tmp_path)
    lines = ngo("runs").splitlines()
    tiers = [line.partition(":")[0] for line in lines]
    assert tiers == ["paper", "cifar10", "demo", "laptop", "config/more.yaml is no tier by itself"]


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
    assert out.startswith("ngo: param: 'a=[1' is no YAML: ")
    assert len(out.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["b.ipynb"]


@pytest.mark.parametrize("name", ["b.ipynb", "b.parquet"])
@pytest.mark.parametrize("content", [b"", b"x = 1", b"[]", b"{}", b"PAR1\xcc"])
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


def test_committed_notebooks_are_thin_and_without_outputs():
    books = sorted(Path("notebooks").glob("*.ipynb"))
    assert [book.stem for book in books] == sorted(ARTEFACTS)
    for book in books:
        cells = nbformat.read(book, 4).cells
        assert cells[0].cell_type == "markdown"
        code = [cell for cell in cells if cell.cell_type == "code"]
        assert "parameters" in code[0].metadata.tags
        assert sum(len(cell.source.splitlines()) for cell in code) < 50
        for cell in code:
            assert not cell.outputs
            assert cell.execution_count is None


@pytest.mark.parametrize(
    ("how", "model", "task"),
    [
        (["--dataset", "sine"], "toy_net", "regression"),
        (["--dataset", "digits"], "mnist_cnn", "classification"),
        (["--dataset", "digits", "--task", "vae"], "mnist_vae", "vae"),
        (["--dataset", "digits", "--model", "mnist_fc"], "mnist_fc", "classification"),
    ],
)
def test_the_model_follows_the_data_and_the_task_the_model(tmp_path, how, model, task):
    ngo("train", *how, "--workers", "2", "--batch-size", "4", "--epochs", "1e-3", "--out", tmp_path)
    spec = json.loads((tmp_path / "run.json").read_text())["spec"]
    assert (spec["model"], spec["task"]) == (model, task)
