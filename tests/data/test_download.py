"""What is downloaded, verified and unpacked, and what is told where it can't be."""

import gzip
import hashlib
import io
import shutil
import sys
import tarfile
import urllib.error
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tiny_mnist import tiny_mnist

from ngo.data import download, loading
from ngo.data.dataset import DATASETS, Download
from verdicts.registry import UserError


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    return tiny_mnist(tmp_path, monkeypatch)


def no_network(*_, **__):
    raise urllib.error.URLError("no network")


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: bytes([b[0] ^ 1]) + b[1:]])
def test_a_corrupt_file_stops_everything(tiny, damage):
    name, root, _ = tiny
    path = root / "MNIST/raw/train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))
    for call in (loading.load, download.check, download.prepare, loading.train_labels):
        with pytest.raises(UserError, match="train-images-idx3-ubyte' is corrupt or truncated"):
            call(name, root)


def test_without_data_and_network_the_error_says_what_to_do(tiny, monkeypatch):
    name, root, _ = tiny
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    (root / "MNIST/raw/t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(UserError, match=r"\(no network\).*t10k-labels-idx1-ubyte .*NGO_DATA.*demo"):
        download.prepare(name, root)
    empty = root / "nowhere"
    with pytest.raises(UserError, match="can't be downloaded"):
        download.prepare(name, empty)
    assert not empty.exists()


def test_an_absent_file_is_named_with_its_compressed_form(tmp_path, monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    for name, wanted in (
        ("mnist", "raw/t10k-labels-idx1-ubyte (or .gz) there"),
        (
            "cifar10",
            "cifar-10-batches-py/batches.meta or cifar-10-python.tar.gz there",
        ),
        ("tinyimagenet", "Put tiny-imagenet-200 or tiny-imagenet-200.zip there"),
    ):
        with pytest.raises(UserError) as error:
            download.check(name, tmp_path)
        assert wanted in str(error.value)
        assert "make demo" in str(error.value)


def md5(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder from which torchvision's function downloads."""
    folder = tmp_path / "served"
    folder.mkdir()

    def download_url(url, root, md5):
        source, target = folder / url.rpartition("/")[2], Path(root)
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        if hashlib.md5(source.read_bytes()).hexdigest() != md5:
            raise RuntimeError("File not found or corrupted.")

    utils = SimpleNamespace(download_url=download_url)
    monkeypatch.setitem(sys.modules, "torchvision.datasets.utils", utils)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: io.BytesIO())
    return folder


def packed(path, contents):
    """An archive with these files, or one file compressed."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    elif path.name.endswith(".tar.gz"):
        with tarfile.open(path, "w:gz") as archive:
            for name, content in contents.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    else:
        path.write_bytes(gzip.compress(*contents.values()))
    return path


def offered(name, monkeypatch, *files, folder="."):
    """Let the data set be downloaded as these files."""
    downloads = tuple(Download(f"https://host/{file.name}", md5(file), folder) for file in files)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], downloads=downloads))


@pytest.mark.parametrize("archive", ["all.zip", "all.tar.gz"])
def test_an_archive_is_downloaded_and_unpacked(tiny, served, tmp_path, monkeypatch, archive):
    name, _, contents = tiny
    offered(name, monkeypatch, packed(served / archive, contents))
    download.prepare(name, tmp_path / "target")
    assert download.verify(name, tmp_path / "target") == []
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["MNIST"]


def test_an_archive_below_the_root_is_read_without_network_and_torchvision(
    tiny, tmp_path, monkeypatch
):
    """By ``ngo data`` and by a job."""
    name, _, contents = tiny
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    monkeypatch.setitem(sys.modules, "torchvision.datasets.utils", None)
    root = tmp_path / "target"
    root.mkdir()
    archive = packed(root / "all.tar.gz", contents)
    offered(name, monkeypatch, archive)
    assert len(loading.load(name, root).train_inputs) > 0
    assert {path.name for path in root.iterdir()} == {"MNIST", "all.tar.gz"}
    shutil.rmtree(root / "MNIST")
    archive.write_bytes(archive.read_bytes()[:-1])
    with pytest.raises(UserError, match="all.tar.gz' is corrupt or truncated"):
        loading.load(name, root)


@pytest.mark.parametrize("archive", ["all.zip", "all.tar.gz"])
def test_an_archive_is_unpacked_below_its_folder_only(tiny, served, tmp_path, monkeypatch, archive):
    members = dict.fromkeys(("../outside", f"{tmp_path}/outside"), b"x")
    offered(tiny[0], monkeypatch, packed(served / archive, members))
    with pytest.raises(UserError, match="outside|does not contain MNIST/raw/train-im"):
        download.prepare(tiny[0], tmp_path / "target")
    assert list((tmp_path / "target").iterdir()) == []
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("broken", [None, "absent", "corrupt"])
def test_a_download_is_complete_or_leaves_nothing(tiny, served, tmp_path, monkeypatch, broken):
    name, _, contents = tiny
    files = [
        packed(served / f"{Path(file).name}.gz", {file: content})
        for file, content in contents.items()
    ]
    offered(name, monkeypatch, *files, folder="MNIST/raw")
    sums = {name: ("plain", md5(file)) for name, file in zip(contents, files, strict=True)}
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], files=sums))
    if broken == "absent":
        files[-1].unlink()
    elif broken == "corrupt":
        files[-1].write_bytes(files[-1].read_bytes()[:-1])
    target = tmp_path / "target"
    if broken:
        with pytest.raises(UserError, match=r"can't be downloaded \(.*\). Put"):
            download.prepare(name, target)
        assert list(target.iterdir()) == []
    else:
        download.prepare(name, target)
        assert download.verify(name, target) == []
        assert sorted((target / "MNIST/raw").iterdir()) == sorted(
            target / "MNIST/raw" / file.name for file in files
        )


def test_the_data_root_is_given_or_from_the_environment_or_the_config(monkeypatch, tmp_path):
    monkeypatch.setenv("NGO_DATA", "/environment")
    assert str(download.data_root("/given", "/config")) == "/given"
    assert str(download.data_root(None, "/config")) == "/environment"
    monkeypatch.delenv("NGO_DATA")
    assert str(download.data_root(None, "/config")) == "/config"
    assert str(download.data_root()) == "data"
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="data.root: '.*file' is not a folder"):
        download.data_root(tmp_path / "file")
