import contextlib
import io
import os
import pickle
import zipfile

import pytest
import torch

from ngo.training.snapshots import UNREADABLE, load_tensors


def saved(content, **how):
    file = io.BytesIO()
    torch.save(content, file, **how)
    return file


class Harm:
    def __reduce__(self):
        return os.system, ("touch ran",)


def test_what_was_saved_is_loaded():
    content = {"X": torch.arange(6.0).view(2, 3).t(), "more": [1, (torch.ones(1),), None]}
    found = load_tensors(saved(content))
    assert torch.equal(found["X"], content["X"])
    assert found["more"][2] is None


def compressed(file):
    packed = io.BytesIO()
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for each in whole.infolist():
            out.writestr(each.filename, whole.read(each))
    return packed


@pytest.mark.parametrize(
    "file",
    [
        compressed(saved({"X": torch.zeros(10**6)})),
        saved({"X": torch.zeros(1).expand(10**6, 10**6)}),
        saved([{"X": (torch.zeros(1).expand(10**6, 10**6),)}]),
        saved(Harm()),
        saved(Harm(), _use_new_zipfile_serialization=False),
        io.BytesIO(pickle.dumps(Harm())),
        io.BytesIO(b"PK\3\4"),
        io.BytesIO(b""),
    ],
)
def test_a_strangers_file_neither_runs_nor_grows(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UNREADABLE):
        load_tensors(file)
    assert not (tmp_path / "ran").exists()


def test_a_damaged_file_raises_what_is_expected_of_it():
    file = saved({"spec": {"lr": 0.1}, "X": torch.arange(4)})
    whole, noise = file.getvalue(), torch.Generator().manual_seed(0)
    for _ in range(300):
        content = bytearray(whole)
        for place in torch.randint(len(content), (4,), generator=noise).tolist():
            content[place] = int(torch.randint(256, (1,), generator=noise))
        with contextlib.suppress(*UNREADABLE):
            assert isinstance(load_tensors(io.BytesIO(content)), dict)
