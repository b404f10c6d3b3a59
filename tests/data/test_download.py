import functools
import gzip
import hashlib
import http.server
import io
import logging
import os
import tarfile
import threading
import urllib.error
import zipfile
from dataclasses import replace

import pytest
from tiny_mnist import tiny_mnist

from ngo.common.registry import UserError
from ngo.data import download, loading
from ngo.data.dataset import DATASETS, Download


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
        ("cifar10", "cifar-10-batches-py/test_batch, cifar-10-batches-py/batches.meta there"),
        ("tinyimagenet", "Put tiny-imagenet-200 there"),
    ):
        with pytest.raises(UserError) as error:
            download.check(name, tmp_path)
        assert wanted in str(error.value)
        assert "make demo" in str(error.value)


def test_absent_files_without_a_url(tiny, tmp_path, monkeypatch):
    name, _, _ = tiny
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], downloads=()))
    with pytest.raises(UserError, match=r"can't be downloaded \(it has no URL\). Put MNIST/raw"):
        download.prepare(name, tmp_path / "empty")


def test_files_without_checksums_only_have_to_exist(tiny, monkeypatch):
    name, root, contents = tiny
    source = replace(DATASETS[name], files=dict.fromkeys(contents, ()))
    monkeypatch.setitem(DATASETS, name, source)
    path = root / "MNIST/raw/t10k-labels-idx1-ubyte"
    path.write_bytes(b"another version")
    assert download.verify(name, root) == []
    path.unlink()
    assert download.verify(name, root) == ["MNIST/raw/t10k-labels-idx1-ubyte"]


def test_a_checksum_is_computed_once_until_the_file_changes(tiny, monkeypatch):
    name, root, _ = tiny
    download.check(name, root)
    path = root / "MNIST/raw/t10k-labels-idx1-ubyte"
    opened = []
    original = hashlib.file_digest

    def counted(file, algorithm):
        opened.append(file.name)
        return original(file, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    loading.load(name, root)
    assert opened == []
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(UserError, match="t10k-labels-idx1-ubyte' is corrupt"):
        download.check(name, root)
    assert opened == [str(path)]


def test_a_missing_part_is_logged_once(tiny, monkeypatch, caplog):
    name, root, _ = tiny
    download._warn_once.cache_clear()
    source = replace(DATASETS[name], note=lambda root: "tiny: only 2 of 3 images are present")
    monkeypatch.setitem(DATASETS, name, source)
    for _ in range(2):
        assert download.check(name, root) == []
    assert caplog.record_tuples == [
        ("ngo", logging.WARNING, "tiny: only 2 of 3 images are present")
    ]


@pytest.fixture
def server(tmp_path):
    """A folder, and the URL at which a local server serves it."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def md5(content):
    return hashlib.md5(content).hexdigest()


@pytest.mark.parametrize("unpack", [None, "gzip", "tar", "zip"])
def test_a_download_is_unpacked(server, tmp_path, unpack):
    folder, url = server
    content = b"x" * 5000
    name = {None: "a.txt", "gzip": "a.txt.gz", "tar": "all.tar.gz", "zip": "all.zip"}[unpack]
    if unpack == "tar":
        with tarfile.open(folder / name, "w:gz") as archive:
            member = tarfile.TarInfo("a.txt")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    elif unpack == "zip":
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("a.txt", content)
    else:
        (folder / name).write_bytes(gzip.compress(content) if unpack else content)
    wanted = Download(f"{url}/{name}", md5((folder / name).read_bytes()), "below/it", unpack)
    download.fetch(wanted, tmp_path / "target")
    assert (tmp_path / "target/below/it/a.txt").read_bytes() == content


@pytest.mark.parametrize("unpack", ["tar", "zip"])
def test_an_archive_is_unpacked_below_its_folder_only(tiny, server, tmp_path, monkeypatch, unpack):
    (name, _, _), (folder, url) = tiny, server
    packed = folder / f"all.{unpack}"
    if unpack == "tar":
        with tarfile.open(packed, "w") as archive:
            link = tarfile.TarInfo("up")
            link.type, link.linkname = tarfile.SYMTYPE, ".."
            archive.addfile(link)
            archive.addfile(tarfile.TarInfo("up/outside"))
            archive.addfile(tarfile.TarInfo("../outside"))
            archive.addfile(tarfile.TarInfo(f"{tmp_path}/outside"))
    else:
        with zipfile.ZipFile(packed, "w") as archive:
            for member in ("../outside", f"{tmp_path}/outside"):
                archive.writestr(member, b"x")
    downloads = (Download(f"{url}/{packed.name}", md5(packed.read_bytes()), unpack=unpack),)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], downloads=downloads))
    target = tmp_path / "target"
    message = "would link to|outside" if unpack == "tar" else "does not contain MNIST/raw"
    with pytest.raises(UserError, match=message):
        download.prepare(name, target)
    assert list(target.iterdir()) == []
    assert not (tmp_path / "outside").exists()


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_a_file_is_named(tiny):
    name, root, _ = tiny
    path = root / "MNIST/raw/t10k-labels-idx1-ubyte"
    path.unlink()
    os.mkfifo(path)
    for call in (loading.load, download.check, download.prepare, loading.train_labels):
        with pytest.raises(UserError, match="t10k-labels-idx1-ubyte' can't be read: it is not a"):
            call(name, root)


@pytest.mark.parametrize("broken", [None, "absent", "corrupt"])
def test_a_download_is_complete_or_leaves_nothing(
    tiny,
    server,
    tmp_path,
    monkeypatch,
    broken,
):
    (name, _, contents), (folder, url) = tiny, server
    downloads = []
    for file, content in contents.items():
        packed = gzip.compress(content)
        base = file.rpartition("/")[2]
        (folder / f"{base}.gz").write_bytes(packed)
        downloads.append(Download(f"{url}/{base}.gz", md5(packed), "MNIST/raw", "gzip"))
    last = folder / "t10k-labels-idx1-ubyte.gz"
    if broken == "absent":
        last.unlink()
    elif broken == "corrupt":
        last.write_bytes(last.read_bytes()[:-1])
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], downloads=tuple(downloads)))
    target = tmp_path / "target"
    if broken:
        with pytest.raises(UserError, match=r"can't be downloaded \(.*\). Put"):
            download.prepare(name, target)
        assert list(target.iterdir()) == []
    else:
        download.prepare(name, target)
        assert download.verify(name, target) == []
        assert [path.name for path in target.iterdir()] == ["MNIST"]
        assert {path.name for path in (target / "MNIST/raw").iterdir()} == {
            file.rpartition("/")[2] for file in contents
        }


def test_a_download_without_the_files_is_named(tiny, server, tmp_path, monkeypatch):
    (name, _, _), (folder, url) = tiny, server
    (folder / "other").write_bytes(b"other")
    downloads = (Download(f"{url}/other", md5(b"other")),)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], downloads=downloads))
    with pytest.raises(UserError, match="the download of tiny does not contain MNIST/raw/train-im"):
        download.prepare(name, tmp_path / "target")


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
