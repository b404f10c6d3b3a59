"""What the workflow makes of runs: tables, notebooks and the page of results."""

import nbformat
import pandas as pd
import pytest
from command_line import SMALL, mistake, ngo
from conftest import CONFIGS
from figure_files import write_book

from ngo.common.parquet_columns import write_columns
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan


def test_tables_of_jobs_and_metrics_of_runs_are_joined_and_a_damaged_table_stays(tmp_path):
    for seed in (0, 1):
        ngo("train", *SMALL, "--seed", seed, "--out", tmp_path / f"{seed}")
    job, tidy = tmp_path / "jobs/own.parquet", tmp_path / "tidy.parquet"
    job.parent.mkdir()
    files = [tmp_path / f"{seed}/metrics.parquet" for seed in (0, 1)]
    ngo("aggregate", *files, "--out", tidy)
    ngo("aggregate", files[0], "--out", job)
    for given in ([job, files[1]], [files[1], job]):
        ngo("aggregate", *given, "--out", tmp_path / "again.parquet")
        assert (tmp_path / "again.parquet").read_bytes() == tidy.read_bytes()
    job.write_bytes(job.read_bytes()[:-9])
    line = mistake("aggregate", job, files[1], "--out", tidy)
    assert line.startswith(f"table: {str(job)!r} is damaged: ")
    assert job.exists()  # it may be the user's own
    ngo("aggregate", *files, "--out", tmp_path / "tidy.csv")
    assert list(pd.read_csv(tmp_path / "tidy.csv")["seed"].unique()) == [0, 1]


def test_a_table_of_universes_has_their_columns(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("only: [digits]")
    files = [CONFIGS[0], CONFIGS[0].with_name("demo.yaml"), own]
    config = [word for file in files for word in ("--config", file)]
    planned = plan(read_config(config[1::2])).universes["universes_digits"]
    runs = [run for universe in planned for run in universe.runs]
    columns = {"step": [0, 9], "diverged": [False, False], "consensus_accuracy": [0.1, 0.9]}
    for run in runs:
        (tmp_path / run).mkdir()
        file = tmp_path / run / "metrics.parquet"
        write_columns(file, {"run": run}, [{**columns, "workers_accuracy_mean": [0.1, 0.8]}])
    out = tmp_path / "t.parquet"
    command = ["aggregate", *sorted(tmp_path.glob("*/metrics.parquet")), "--out", out]
    ngo(*command, *config, "--universes", "universes_digits")
    table = pd.read_parquet(out)
    ngo(*command[:-1], out.with_suffix(".csv"), *config, "--universes", "universes_digits")
    assert pd.read_csv(out.with_suffix(".csv"))[[*table]].shape == table.shape
    line = mistake(*command[:-1], out.with_suffix(".pq"))
    assert "must end in .parquet or .csv" in line
    assert (table["universe"].nunique(), len(table)) == (8, 2 * len(runs))
    assert set(table.groupby("universe_accuracy_of")["chosen_accuracy"].max()) == {0.8, 0.9}
    line = mistake(*command, *config, "--universes", "digits")
    assert "'digits' is unknown; allowed: universes_digits. Did you mean 'univ" in line
    assert "'digits' is unknown; allowed: ." in mistake(*command, "--universes", "digits")


def test_a_notebook_without_the_parameter_is_not_run_and_one_that_raises_is_left(tmp_path):
    book = write_book(tmp_path / "b.ipynb", "raise SystemExit", parameters="metrics = 1")
    out = ngo("notebook", book, "--out", tmp_path / "d.ipynb", "-p", "metric=2", code=2)
    assert "'metric' is unknown; allowed: metrics. Did you mean 'metrics'?" in out
    assert not (tmp_path / "d.ipynb").exists()
    book = write_book(tmp_path / "b.ipynb", "raise RuntimeError('no such column')")
    out = ngo("notebook", book, "--out", tmp_path / "d.ipynb", code=2)
    assert "RuntimeError: no such column" in out
    assert "Traceback" not in out
    outputs = nbformat.read(tmp_path / "d.ipynb", 4).cells[-1].outputs
    assert any("RuntimeError" in line for line in outputs[0].traceback)


@pytest.mark.parametrize("content", [b"", b"{}", b"PAR1\xcc"])
def test_a_file_that_is_no_notebook(tmp_path, content):
    (tmp_path / "b.ipynb").write_bytes(content)
    out = ngo("notebook", tmp_path / "b.ipynb", "--out", tmp_path / "d.ipynb", code=2)
    assert "b.ipynb: this is not a notebook" in out
    assert len(out.splitlines()) == 1
    assert not (tmp_path / "d.ipynb").exists()
