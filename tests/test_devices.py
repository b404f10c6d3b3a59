import os
import subprocess
import sys
import textwrap

import pytest
import running

from ngo import devices
from ngo.registry import UserError


@pytest.fixture
def gpus(monkeypatch):
    def see(names):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", names)

    return see


@pytest.mark.parametrize(
    ("variable", "names"), [("", []), ("-1", []), ("0", ["0"]), ("2,3", ["2", "3"])]
)
def test_visible_gpus_are_those_assigned(gpus, variable, names):
    gpus(variable)
    assert devices.visible_gpus() == names


def test_without_an_assignment_the_driver_is_asked(monkeypatch, tmp_path):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices.visible_gpus() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: H200 (UUID: a)'\necho 'GPU 1: H200 (UUID: b)'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    assert devices.visible_gpus() == ["0", "1"]


def test_the_choice_of_a_device(gpus):
    gpus("")
    assert devices.chosen("auto") == "cpu"
    with pytest.raises(UserError, match="device: 'cuda' needs a GPU"):
        devices.chosen("cuda")
    with pytest.raises(UserError, match="device: 'gpu' is unknown; allowed: auto, cpu, cuda"):
        devices.chosen("gpu")
    gpus("0")
    assert devices.chosen("auto") == devices.chosen("cuda") == "cuda"
    assert devices.chosen("cpu") == "cpu"


def test_no_two_processes_claim_the_same_gpu(tmp_path):
    """Three processes, two GPUs: two get one each, the third waits until one ends."""
    code = textwrap.dedent(
        """
        import sys
        from contextlib import ExitStack
        from ngo.devices import _lock_one
        with ExitStack() as stack:
            print(_lock_one(["0", "1"], stack), flush=True)
            sys.stdin.readline()
        """
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def start():
        return running.start([sys.executable, "-c", code], stdin=subprocess.PIPE, env=environment)

    first, second = start(), start()
    claimed = {process.stdout.readline().strip(): process for process in (first, second)}
    assert set(claimed) == {"0", "1"}
    third = start()
    assert "waiting for one" in third.stderr.readline()
    claimed["1"].kill()  # however it ends, its claim ends with it
    assert third.stdout.readline().strip() == "1"
