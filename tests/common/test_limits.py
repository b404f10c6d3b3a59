import os
import socket
from functools import partial

import pytest

from ngo.common import limits
from ngo.common.limits import check_declared, check_names, read_limited
from ngo.common.registry import UserError
from verdicts.files import regular_file


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as each:
        each.bind(str(path))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_pipe, "can't be read: it is not a regular file"),
        (make_socket, "can't be read: it is not a regular file"),
        (os.mkdir, "can't be read: it is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "can't be read: it is not a regular file"),
        (lambda path: path.symlink_to(path), "can't be read: Too many levels of symbolic links"),
        (lambda path: path.symlink_to("nowhere"), "does not exist"),
    ],
)
def test_what_is_not_a_regular_file_is_not_opened(tmp_path, monkeypatch, make, reason):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "x")
    for call in (regular_file, partial(read_limited, limit=9)):
        with pytest.raises(UserError) as told:
            call(tmp_path / "x", "k")
        assert str(told.value) == f"k: {str(tmp_path / 'x')!r} {reason}."


def test_a_link_to_a_file_is_one_and_a_path_with_nul_is_none(tmp_path):
    (tmp_path / "x").write_text("x")
    (tmp_path / "link").symlink_to("x")
    assert regular_file(tmp_path / "link", "k") == tmp_path / "link"
    with pytest.raises(UserError, match=r"^k: .* can't be read: embedded null byte\.$"):
        regular_file(tmp_path / "a\0b", "k")


def test_a_text_has_a_limit_and_is_utf8(tmp_path):
    (tmp_path / "x").write_bytes("ä".encode())
    assert read_limited(tmp_path / "x", "k", 2) == "ä"
    with pytest.raises(UserError, match="^k: .* has more than 1 bytes"):
        read_limited(tmp_path / "x", "k", 1)
    (tmp_path / "x").write_bytes(b"\xff")
    with pytest.raises(UserError, match="^k: .* can't be read: it is not text in UTF-8"):
        read_limited(tmp_path / "x", "k", 2)


def test_a_declared_size_is_bounded_by_the_files(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(bytes(10))
    check_declared(tmp_path / "x", "k", limits.ALWAYS)
    with pytest.raises(UserError, match="^k: .* 10 bytes and declares a content of 1073741825"):
        check_declared(tmp_path / "x", "k", limits.ALWAYS + 1)
    monkeypatch.setattr(limits, "ALWAYS", 100)
    check_declared(tmp_path / "x", "k", 2000)
    for size in (2001, 10**5000):
        with pytest.raises(UserError, match="at most 2000 are allowed") as told:
            check_declared(tmp_path / "x", "k", size)
        assert len(str(told.value)) < 300
    monkeypatch.setattr(limits, "RATIO", 10**30)
    with pytest.raises(UserError, match="has 10 bytes and declares"):  # the machine's memory
        check_declared(tmp_path / "x", "k", 10**20)


@pytest.mark.parametrize("name", ["a\nb", os.fsdecode(b"\xff"), "a\u202eb"])
def test_names_are_printable(tmp_path, name):
    check_names(tmp_path, "k", ["a b", "ä.png"])
    with pytest.raises(UserError, match="^k: .* has a file with the name ") as told:
        check_names(tmp_path, "k", ["a", name])
    assert str(told.value).isprintable()
