import zipfile
from pathlib import Path

import pytest
from finished_runs import campaign, made_up_run

from ngo.common.columns import write_columns
from ngo.common.files import write_text
from ngo.pipeline.archives.packed_runs import write_run
from ngo.pipeline.damaged import is_whole, remove_damaged


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The plan of a campaign, and its results: each kind of file once or more."""
    monkeypatch.chdir(tmp_path)
    _, plan = campaign(tmp_path)
    for spec in plan.runs.values():
        write_run(Path("results/runs", spec.id), made_up_run(spec))
    for partition in plan.partition_runs:
        path = Path(f"results/partitions/{partition}.parquet")
        write_columns(path, {"worker": [0, 1]}, {"dataset": "digits"})
    write_columns("results/test/metrics/own.parquet", {"step": [0, 1]}, {})
    write_text("results/data/digits.json", '{"dataset": "digits"}\n')
    return plan


def files() -> set[Path]:
    return {path for path in Path("results").rglob("*") if path.is_file()}


def test_complete_results_stay(made):
    before = files()
    assert len(before) > 8
    assert remove_damaged(made, Path("results")) == []
    assert files() == before


@pytest.mark.parametrize("left", [0, 1, 0.5, -1])
def test_each_truncated_result_is_removed_and_no_other(made, left):
    """``left``: so many bytes, from the end if negative; or that share of the file."""
    before = files()
    for path in sorted(before):
        content = path.read_bytes().rstrip()
        short = content[: int(left * len(content)) if isinstance(left, float) else left]
        path.write_bytes(short)
        assert remove_damaged(made, Path("results")) == [path]
        assert files() == before - {path}
        path.write_bytes(content)


def test_a_truncated_model_is_damaged_and_a_picture_is_not_looked_at(tmp_path):
    with zipfile.ZipFile(tmp_path / "models.pt", "w") as file:
        file.writestr("a", "b" * 1000)
    assert is_whole(tmp_path / "models.pt")
    (tmp_path / "models.pt").write_bytes((tmp_path / "models.pt").read_bytes()[:-30])
    assert not is_whole(tmp_path / "models.pt")
    (tmp_path / "a.png").write_bytes(b"")
    assert is_whole(tmp_path / "a.png")
