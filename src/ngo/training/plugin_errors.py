"""Errors in the code of a user's entries, as mistakes of one line that name the entry."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from ngo.training.spec import RunSpec, own_entries
from verdicts.registry import UserError, in_a_line


@contextmanager
def named_in_errors(spec: RunSpec) -> Iterator[None]:
    """Turn an error in the code of a user's entry that the run names into a UserError of one line.

    It names the entry, the file and the line. So it does for a ``sys.exit``, which would end the
    command as if it had done its work. Other errors, and a lack of memory, are raised as they are.
    """
    try:
        yield
    except (UserError, MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:
        own = own_entries(spec)
        for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
            code = frame.f_code
            for key, (module, function) in own.items():
                inside = f"{code.co_qualname}.".startswith(f"{function}.")
                if inside and frame.f_globals.get("__name__") == module:
                    place = f"{Path(code.co_filename).name}, line {line}"
                    what = f"{key} {getattr(spec, key)!r} ({place}): {type(error).__name__}"
                    raise UserError(f"{what}: {in_a_line(error)}.") from error
        raise
