"""Reading what ``torch.save`` wrote, in files that a stranger may have made."""

from __future__ import annotations

import pickle
import zipfile
from typing import Any, BinaryIO

import torch

# What torch raises for files of other kinds, and for damaged ones.
UNREADABLE = (
    *(RuntimeError, LookupError, TypeError, ValueError, AttributeError, EOFError, MemoryError),
    *(pickle.UnpicklingError, zipfile.BadZipFile),
)


def load_tensors(file: BinaryIO) -> Any:
    """The content of a file, with its tensors on the CPU; one of ``UNREADABLE`` for another file.

    Nothing in the file is executed. torch stores tensors as they are, so none is larger than the
    file: compressed ones, and views that repeat values, are refused.
    """
    with zipfile.ZipFile(file) as archive:
        if any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist()):
            raise ValueError("it is compressed")
    file.seek(0)
    content = torch.load(file, map_location="cpu", weights_only=True)
    waiting = [content]
    while waiting:
        each = waiting.pop()
        if isinstance(each, torch.Tensor):
            if each.numel() * each.element_size() > each.untyped_storage().nbytes():
                raise ValueError("a tensor is larger than what is stored of it")
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
    return content
