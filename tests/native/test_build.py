import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from cases import refused

from ngo.common.seeding import torch_stream
from ngo.gossip.gossip_step import gossip_step
from ngo.models.layers import ConvPoolReLU2d
from ngo.native import build

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


@pytest.fixture
def compiled():
    return build._compiled()


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    """The user's cache, in a folder of this test; no library is loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build.library.cache_clear()
    yield tmp_path / "ngo"
    build.library.cache_clear()


def test_subnormal_numbers_stay_enabled():
    """Some compiler flags disable them for the whole process."""
    assert build.available()
    assert torch.tensor(2.0**-126) * 0.5 > 0


def test_the_cache_is_keyed_by_sources_flags_and_processor(compiled, empty_cache, monkeypatch):
    made = []

    def copy(sources, path):
        made.append(shutil.copyfile(compiled, path))

    def built():
        build.library.cache_clear()
        return build.build(), Path(build.library()._name).name

    monkeypatch.setattr(build, "compile_sources", copy)
    name, file = built()
    assert built() == (name, file) == (compiled.name.rpartition("-")[0], compiled.name)
    assert len(made) == 1
    found = [(name, file)]
    with monkeypatch.context() as changed:
        changed.setattr(build, "_processor", lambda: "another")
        found.append(built())
        changed.setenv("NGO_MARCH", "yet-another")
        found.append(built())
        changed.setattr(build, "ROUNDING", build.ROUNDING + 1)
        found.append(built())
    assert len({name for name, _ in found}) == len(made) == 4
    monkeypatch.setattr(build, "SOURCES", build.SOURCES[:-1])  # the name of the build stays
    assert built()[0] == name
    assert len(made) == len(list(empty_cache.glob("*.so"))) == 5
    assert not list(empty_cache.glob("*.lock"))


def test_torch_replaces_the_library_where_it_cannot_be_compiled(empty_cache, monkeypatch, caplog):
    def fail(sources, path):
        told = "warning: old\na.c:1: error: no room\n"
        raise subprocess.CalledProcessError(1, "zig", stderr=told)

    monkeypatch.setattr(build, "compile_sources", fail)
    assert not build.available()
    assert build.build() is None
    assert not list(empty_cache.iterdir())
    layer = ConvPoolReLU2d(2, 4, 3)
    x = torch.randn(3, 2, 10, 10, generator=torch_stream(0, "test"))
    X = torch.randn(2, 50, generator=torch_stream(1, "test"))
    W = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    slow = layer(x), gossip_step(X, W, 0.1, 0.7)
    (record,) = caplog.records  # one warning for all uses
    assert (record.name, record.levelname) == ("ngo", "WARNING")
    assert record.getMessage().endswith("will be slower: a.c:1: error: no room")
    monkeypatch.undo()
    build.library.cache_clear()
    assert build.available()
    for ours, theirs in zip((layer(x), gossip_step(X, W, 0.1, 0.7)), slow, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_a_processor_unknown_to_clang_is_named(empty_cache, monkeypatch):
    monkeypatch.setenv("NGO_MARCH", "x86-64-v9")
    refused("NGO_MARCH: 'x86-64-v9' is unknown to clang; allowed: ", build.available)
