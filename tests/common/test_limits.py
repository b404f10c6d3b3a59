import os

import pytest

from ngo.common import limits
from ngo.common.limits import check_declared, check_names, read_limited
from ngo.common.registry import UserError


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
