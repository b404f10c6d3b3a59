"""Devices: which are visible, which one is chosen, and claimed."""

import os
import subprocess
import tempfile
from contextlib import ExitStack

import pytest
import torch
from cases import cases, refused

from ngo.common import devices
from ngo.training.global_state import isolated
from verdicts.registry import UserError

FAILURES = [
    AssertionError("Torch not compiled with CUDA enabled"),
    RuntimeError("No CUDA GPUs are available"),
    RuntimeError("The NVIDIA driver on your system is too old (found version 11040). Update it."),
    RuntimeError("CUDA error: no kernel image is available for execution on the device\nCompile"),
]


@cases(
    "variable, names",
    ("", []),
    ("NoDevFiles", []),  # from Slurm, for a job without a GPU
    ("2, 3", ["2", "3"]),
    ("1,-1,0", ["1"]),  # CUDA ignores all names after an invalid one
    ("GPU-8932f937,MIG-40b1e8f9", ["GPU-8932f937", "MIG-40b1e8f9"]),
)
def test_visible_gpus_are_those_assigned(monkeypatch, variable, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    assert devices.visible_gpus() == names


def test_without_an_assignment_the_driver_lists_gpus(monkeypatch, tmp_path, caplog):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices.visible_gpus() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: H200 (UUID: a)'\necho 'GPU 1: H200 (UUID: b)'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    assert devices.visible_gpus() == ["0", "1"]

    def hung(command, timeout, **how):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "check_output", hung)
    assert devices.visible_gpus() == []
    assert caplog.messages == ["device: nvidia-smi gives no answer in 10 seconds; no GPU is used"]


def test_the_choice_of_a_device(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert devices.chosen("auto") == "cpu"
    refused("'cuda' needs a GPU, and none is visible; use auto or cpu", devices.chosen, "cuda")
    for name in ("gpu", "GPU", "cuda:0", "gpu:1"):
        refused(f"'{name}' is unknown; .*Did you mean 'cuda'", devices.chosen, name)
    refused("device: 'CPU' is unknown; .*Did you mean 'cpu'", devices.chosen, "CPU")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert devices.chosen("auto") == devices.chosen("cuda") == "cuda"
    assert devices.chosen("cpu") == "cpu"


@pytest.fixture
def locks(monkeypatch, tmp_path):
    """Locks in a folder of this test."""
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def card(locks, monkeypatch):
    """One visible GPU; the function returned sets the error that torch raises when using it."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")

    def answers(error=None):
        def ones(*shape, device):
            if error is not None:
                raise error
            return torch.zeros(*shape)

        monkeypatch.setattr(torch, "ones", ones)

    return answers


@pytest.mark.parametrize("error", FAILURES, ids=str)
def test_a_gpu_that_torch_cannot_use_is_logged_in_one_line(card, caplog, error):
    card(error)
    reason = str(error).splitlines()[0].rstrip(".")
    with devices.claimed("auto") as place:
        assert place == "cpu"
        with ExitStack() as stack:  # the claim has been released
            assert devices._claim(["0", "1"], stack) == 0
    assert not torch.are_deterministic_algorithms_enabled()
    assert caplog.messages == [f"device: torch can't use the GPU: {reason}; using the CPU"]
    with pytest.raises(UserError, match="device: torch can't use the GPU: .*; use auto or cpu"):
        devices.claimed("cuda").__enter__()


@pytest.mark.filterwarnings("error")
def test_float32_on_a_gpu_is_float32(monkeypatch):
    """Torch's old and new settings agree, and none of them raises a deprecation warning."""
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with isolated(1):
        devices.deterministic()
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
        assert torch.are_deterministic_algorithms_enabled()
        parts = torch.backends.cudnn.conv, torch.backends.cudnn.rnn, torch.backends.cuda.matmul
        assert {part.fp32_precision for part in parts} == {"ieee"}
        assert torch.get_float32_matmul_precision() == "highest"
        for precision in ("tf32", "ieee"):  # reading the older flags is no error
            devices.set_float32(precision)
            flags = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
            assert {*flags} == {precision == "tf32"}
            assert {part.fp32_precision for part in parts} == {precision}
            with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
                assert not torch.backends.cudnn.allow_tf32


def test_jobs_have_gpus_of_their_own_while_there_are_some_and_none_waits(locks):
    gpus = ["0", "MIG-GPU-8932f937/1/0", "2"]
    jobs = [ExitStack() for _ in range(4)]
    assert [devices._claim(gpus, job) for job in jobs] == [0, 1, 2, os.getpid() % 3]
    jobs[1].close()
    assert devices._claim(gpus, jobs[1]) == 1
    for job in jobs:
        job.close()
