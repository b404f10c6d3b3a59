import multiprocessing
import os
import signal
import struct
from contextlib import chdir
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import running
import torch
from hypothesis import settings

from ngo.common import plugins
from ngo.common.registries import DECLARED, MODELS, REGISTRIES
from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.data.description import DESCRIBED
from ngo.data.partition import OWNERS
from ngo.engine.backends import Stacked
from ngo.engine.population import Population
from ngo.measures.measurement import MEASUREMENTS
from ngo.native import threads
from ngo.pipeline.paths import REPOSITORY
from ngo.training.clocks import CHURN, LINKS, SPEEDS
from verdicts.quantities import QUANTITIES

# No test has a deadline: machines are busy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# As in a run: threads inside operations slow it down where cores are shared.
torch.set_num_threads(1)

# A shell that starts tests in the background has them ignore Ctrl-C, and so would their processes.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The configs that are shipped, the base first.
CONFIGS = [REPOSITORY / f"config/{name}.yaml" for name in ("config", "cifar10", "demo", "laptop")]


def real(pattern: str) -> Path:
    """A data root with files that match ``pattern``; without one, the test is skipped."""
    places = [os.environ.get("NGO_DATA"), REPOSITORY / "data", REPOSITORY.parent / "shared/data"]
    for place in filter(None, places):
        if any(Path(place).glob(pattern)):
            return Path(place)
    pytest.skip(f"no {pattern}: set NGO_DATA to a folder that holds it")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With ``--numprocesses auto``, one process more than there are cores: some tests only wait."""
    return threads.cores() + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pipeline's tests come first: each of these files takes longest."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")


@pytest.fixture(autouse=True)
def no_process_is_left():
    """Processes that a test started end with it, also when it fails."""
    yield
    running.kill_all()


@pytest.fixture
def house_style():
    """The project's style, which a figure sets, ends with the test."""
    import matplotlib as mpl

    with mpl.rc_context():
        yield


@pytest.fixture
def own_entries(monkeypatch):
    """Entries and plugins of the test are removed when it ends."""
    monkeypatch.setattr(plugins, "_loaded", {})
    registries = (*REGISTRIES.values(), DECLARED, MEASUREMENTS, DESCRIBED, OWNERS, QUANTITIES)
    registries += (SPEEDS, LINKS, CHURN)
    facts = [mapping for each in registries for mapping in (each, each.definitions, each.versions)]
    before = [dict(mapping) for mapping in facts]
    yield
    for mapping, kept in zip(facts, before, strict=True):
        mapping.clear()
        mapping.update(kept)


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    return loading.load("digits", tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def least_squares(tmp_path_factory):
    return loading.load("least_squares", tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with the runs of a small campaign. Tests may add files, and change none of these."""
    from small_archives import train

    folder = tmp_path_factory.mktemp("trained")
    train(folder)
    return folder


@pytest.fixture
def own(trained, tmp_path, monkeypatch):
    """The members of an archive of these; runs and cases are made again in this process."""
    from small_archives import in_this_process, members_in

    monkeypatch.chdir(trained)
    in_this_process(monkeypatch, tmp_path)
    return members_in(trained)


@pytest.fixture(scope="session")
def shipped(tmp_path_factory):
    """The archive of two figures, its configs and their plan; its folder has their inputs."""
    from two_figures import packed, plan, read_config, two_figures

    folder = tmp_path_factory.mktemp("shipped")
    with chdir(folder):
        configs = two_figures(folder)
        return packed(configs), configs, plan(read_config(configs))


@pytest.fixture
def there(shipped, monkeypatch):
    """The working directory is that folder. Tests change none of its files."""
    monkeypatch.chdir(shipped[0].parent)


@pytest.fixture(scope="session")
def forked():
    """Processes forked from one that has imported torch, as those of the prefork server are."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ngo.training.run", "sklearn.datasets", "runs"])
    return partial(context.Process, daemon=True)


@pytest.fixture
def mnist_root() -> Path:
    """A folder with the real MNIST files."""
    return real("MNIST/raw/train-images-idx3-ubyte*")


def idx(array: np.ndarray) -> bytes:
    """An array in the idx format of the MNIST files."""
    head = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}i", *array.shape)
    return head + array.astype(np.uint8).tobytes()


def gaussian(n: int, d: int = 1, seed: int = 0) -> torch.Tensor:
    """A Gaussian state ``[n, d]``."""
    return torch.randn(n, d, generator=torch_stream(seed, "X"), dtype=torch.float64)


def batch(model: str, n: int, b: int = 4, seed: int = 0, device: str = "cpu") -> Stacked:
    """A batch of ``b`` samples for each of ``n`` workers, drawn on the CPU."""
    generator = torch_stream(seed, "test")
    inputs = torch.rand(n, b, *MODELS[model].input_shape, generator=generator)
    targets = {
        "classification": torch.randint(0, 10, (n, b), generator=generator),
        "vae": (255 * inputs).to(torch.uint8),
        "regression": torch.randn(n, b, 1, generator=generator),
        "next_character": (8 * inputs).long(),
    }[MODELS[model].task]
    inputs = targets if MODELS[model].task == "next_character" else inputs
    return Stacked(inputs.to(device), targets.to(device))


def apart(model: str, n: int, backend: str, **how: object) -> Population:
    """A population of workers that differ."""
    population = Population(model, n, seed=0, backend=backend, **how)
    population.X += 0.01 * torch.randn(population.X.shape, generator=torch_stream(1, "test"))
    return population
