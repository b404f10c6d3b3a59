import re

from command_line import SMALL, ngo

from ngo.cli import local_run
from ngo.training.checkpoint import Stopped


def test_a_run_logs_its_id_each_evaluation_and_the_outcome(tmp_path):
    first, *evaluations, last = ngo("train", *SMALL, "--out", tmp_path / "run").splitlines()
    assert re.fullmatch(r"digits-iid-ring-ngo-p0.95-s0-[0-9a-f]{8}", first)
    assert [line.split()[1] for line in evaluations] == ["0.00", "0.22"]
    assert re.fullmatch(rf"{first}: consensus model [\d.]+% after .* s → {tmp_path}/run", last)
    again = ngo("train", *SMALL, "--out", tmp_path / "run")
    assert "epoch" not in again.splitlines()[1]


def test_a_stopped_run_exits_with_the_signals_code(tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise Stopped(15, 3, 9, resumes=True)

    monkeypatch.setattr(local_run, "run", stopped)
    out = ngo("train", *SMALL, "--out", tmp_path / "run", code=128 + 15)
    assert out.splitlines()[-1] == "ngo: stopped at step 3 of 9; the same command resumes"
