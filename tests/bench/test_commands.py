import pytest

from ngo.bench import commands
from ngo.common.registry import UserError


def test_startup_is_relative_to_import_torch(monkeypatch):
    seconds = {"-c": 1.0, "train": 1.2, "--help": 0.3}

    def fake(command, folder=None):
        assert command[0].endswith("python") or "python" in command[0]
        return next(value for key, value in seconds.items() if key in command)

    monkeypatch.setattr(commands, "seconds_of", fake)
    found = commands.startup(2)
    shares = {row["command"]: row["of_import_torch"] for row in found.rows}
    assert shares == {"import torch": 1, "ngo train": 1.2, "ngo --help": 0.3}
    assert found.targets[0].met


def test_a_failed_command_is_reported_in_one_line():
    with pytest.raises(UserError, match="bench: python --no-such-option failed: "):
        commands.seconds_of(["python", "--no-such-option"])


def test_the_prefork_server_is_not_used(monkeypatch):
    monkeypatch.setenv("NGO_WARM", "/nowhere")
    code = "import os, sys; sys.exit('NGO_WARM' in os.environ)"
    assert commands.seconds_of(["python", "-c", code]) > 0


def test_the_workflow_is_measured_in_its_folder_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="workflow: there is no Snakefile here"):
        commands.workflow()
