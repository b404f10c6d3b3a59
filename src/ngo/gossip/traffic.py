"""The messages of a method in a step, known before the run."""

from __future__ import annotations

from ngo.gossip.compression import COMPRESSIONS
from ngo.gossip.method import METHODS
from ngo.gossip.step import Run

# The messages that a method may declare: a row, a number, a row and a number, a compressed row.
NUMBERS = ("d", "1", "d + 1", "C(d)")


def sent(run: Run, d: int, number: int = 4) -> list[int] | None:
    """The bytes of each message that crosses each edge, in each direction, in a step of ``run``.

    ``d`` is the length of a row, ``number`` the bytes of a number. A parameter server has an edge
    to each worker. Methods with H local steps send only in every H-th step. None if the number of
    messages depends on V.
    """
    messages = METHODS[run.method].sends

    def size(numbers: str) -> int:
        if numbers == "C(d)":
            return COMPRESSIONS[run.compression].codec.size(d, run, number)
        return {"d": d, "1": 1, "d + 1": d + 1}[numbers] * number

    return [size(numbers) for numbers in messages] or None
