"""Small parts that all packages use."""

import hashlib
import os
import resource
import sys
import tempfile
from contextlib import ExitStack

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ngo.common import devices, memory, plugins, versions
from ngo.common.fields import usual
from ngo.common.memory import check_declared, memory_limit
from ngo.common.seeding import numpy_stream, stream_seed, torch_stream
from ngo.training.global_state import isolated
from ngo.training.spec import FIELDS
from verdicts.registry import UserError

KEY = st.tuples(
    st.integers(0, 50), st.sampled_from(["init", "batches", "dropout"]), st.integers(0, 63)
)
FAILURES = [
    AssertionError("Torch not compiled with CUDA enabled"),
    RuntimeError("No CUDA GPUs are available"),
    RuntimeError("The NVIDIA driver on your system is too old (found version 11040). Update it."),
    RuntimeError("CUDA error: no kernel image is available for execution on the device\nCompile"),
]


@given(KEY, KEY)
def test_streams_differ_exactly_when_their_keys_do(a, b):
    assert (stream_seed(*a) == stream_seed(*b)) == (a == b)


def test_streams_are_the_same_on_every_machine_whatever_was_drawn_before():
    expected = torch.rand(5, generator=torch_stream(1, "a"))
    torch.manual_seed(99)
    torch.rand(100, generator=torch_stream(1, "b"))
    assert torch.equal(torch.rand(5, generator=torch_stream(1, "a")), expected)
    assert numpy_stream(1, "a").integers(1 << 30) == numpy_stream(1, "a").integers(1 << 30)
    assert stream_seed(0, "init") == 2434554855615985730
    assert stream_seed(3, "batches", 7) == 3907257310841674542


def test_another_build_of_a_version_is_the_same_version():
    here = versions.installed()
    assert versions.others({"versions": {"torch": f"{here['torch']}+cpu", "python": "2.7"}}) == ""
    other = versions.others({"versions": {"torch": "1.0+cpu", "numpy": "1.1"}})
    assert other == "numpy 1.1, torch 1.0"
    assert versions.others({}) == ""
    assert versions.recorded({"versions": {"torch": "1.0+cpu", "ngo": "3"}}) == {"torch": "1.0"}


def test_usual_words_are_known():
    assert usual("step_size", FIELDS) == ["lr", "gamma"]
    assert usual("num_workers", FIELDS) == ["workers"]
    assert usual("learning_rate", ["u"]) == usual("momentun", FIELDS) == []


# The memory that a process may use, and how much of it a file may take.


def test_a_declared_size_is_bounded_by_the_files(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(bytes(10))
    check_declared(tmp_path / "x", "k", memory.ALWAYS)
    with pytest.raises(UserError, match="^k: .* 10 bytes and declares a content of 1073741825"):
        check_declared(tmp_path / "x", "k", memory.ALWAYS + 1)
    monkeypatch.setattr(memory, "ALWAYS", 100)
    check_declared(tmp_path / "x", "k", 2000)
    for size in (2001, 10**5000):
        with pytest.raises(UserError, match="at most 2000 are allowed") as told:
            check_declared(tmp_path / "x", "k", size)
        assert len(str(told.value)) < 300
    monkeypatch.setattr(memory, "RATIO", 10**30)
    with pytest.raises(UserError, match="has 10 bytes and declares"):  # the machine's memory
        check_declared(tmp_path / "x", "k", 10**20)


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A process in the control group ``jobs/7``, whose limits tests write."""
    own = tmp_path / "own"
    own.write_text("0::/jobs/7\n9:memory:/jobs/7\n8:cpu,cpuacct:/\n")
    (tmp_path / "jobs/7").mkdir(parents=True)
    (tmp_path / "memory/jobs").mkdir(parents=True)
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    monkeypatch.setattr(memory, "GROUPS_OF_PROCESS", own)
    return tmp_path


def test_the_limit_is_that_of_the_process_or_the_machines_memory(groups, monkeypatch):
    whole = memory_limit()
    assert whole > 10**8
    (groups / "jobs/7/memory.max").write_text("max\n")
    assert memory_limit() == whole
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (7_000_000, -1))
    assert memory_limit() == 7_000_000


@pytest.mark.parametrize(
    "place", ["jobs/7/memory.max", "jobs/memory.max", "memory/jobs/memory.limit_in_bytes"]
)
def test_a_control_group_limits_it_and_so_does_one_around_it(groups, place):
    (groups / place).write_text("5000000\n")
    assert memory_limit() == 5_000_000


# Plugins.


@pytest.fixture
def no_plugins(monkeypatch):
    """No plugin is loaded, and entries that a test loads do not outlive it."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(sys, "modules", sys.modules.copy())


@pytest.mark.usefixtures("no_plugins")
def test_a_file_is_imported_once_under_a_name_that_shadows_no_library(tmp_path, capsys):
    path = tmp_path / "json.py"
    path.write_text("print('imported')\n")
    (first,) = plugins.load([path])
    assert plugins.load([str(path)]) == [first]
    assert capsys.readouterr().out == "imported\n"
    assert first.module == "ngo_plugin_json"
    assert plugins.loaded() == (first,)
    assert first.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.usefixtures("no_plugins")
def test_files_of_one_name_and_files_that_fail_are_not_loaded(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").touch()
    plugins.load([tmp_path / "a/mine.py"])
    with pytest.raises(UserError, match="key: .*b/mine.py' and .*a/mine.py' have one name"):
        plugins.load([tmp_path / "b/mine.py"], key="key")
    (tmp_path / "bad.py").write_text("x = 1\nraise ValueError('no\\nsuch luck')\n")
    with pytest.raises(UserError, match=r"bad.py' can't be imported: ValueError, line 2: no$"):
        plugins.load([tmp_path / "bad.py"])
    assert [each.module for each in plugins.loaded()] == ["ngo_plugin_mine"]
    assert "ngo_plugin_bad" not in sys.modules


# Devices.


def test_visible_gpus_are_those_assigned(monkeypatch):
    for variable, names in (
        ("", []),
        ("NoDevFiles", []),  # from Slurm, for a job without a GPU
        ("2, 3", ["2", "3"]),
        ("1,-1,0", ["1"]),  # CUDA ignores all names after an invalid one
        ("GPU-8932f937,MIG-40b1e8f9", ["GPU-8932f937", "MIG-40b1e8f9"]),
    ):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
        assert devices.visible_gpus() == names


def test_without_an_assignment_the_driver_lists_gpus(monkeypatch, tmp_path):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert devices.visible_gpus() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: H200 (UUID: a)'\necho 'GPU 1: H200 (UUID: b)'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    assert devices.visible_gpus() == ["0", "1"]


def test_the_choice_of_a_device(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert devices.chosen("auto") == "cpu"
    with pytest.raises(UserError, match="'cuda' needs a GPU, and none is visible; use auto or cpu"):
        devices.chosen("cuda")
    for name in ("gpu", "GPU", "cuda:0", "gpu:1"):
        with pytest.raises(UserError, match=f"'{name}' is unknown; .*Did you mean 'cuda'"):
            devices.chosen(name)
    with pytest.raises(UserError, match="device: 'CPU' is unknown; .*Did you mean 'cpu'"):
        devices.chosen("CPU")
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


def test_jobs_have_gpus_of_their_own_while_there_are_some_and_none_waits(locks):
    gpus = ["0", "MIG-GPU-8932f937/1/0", "2"]
    jobs = [ExitStack() for _ in range(4)]
    claimed = [devices._claim(gpus, job) for job in jobs]
    assert claimed == [0, 1, 2, os.getpid() % 3]
    jobs[1].close()
    assert devices._claim(gpus, jobs[1]) == 1
    for job in jobs:
        job.close()
