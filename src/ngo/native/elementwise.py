"""Chains of elementwise operations on a CPU in one pass over memory, by ``elementwise.c``.

The function that describes a chain is called once, with operands that record its operations instead
of tensors. The compiled code then runs them all on one block of columns after another.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ngo.common.lazy import torch
from ngo.native.build import library
from ngo.native.threads import POINTER, SIZE, Map, constant, share

# The order is that of elementwise.c.
ADD, SUBTRACT, MULTIPLY, DIVIDE, MULTIPLY_ADD, SQUARE_ROOT = range(6)

# A function and its tensors, ``(f, *tensors)``.
Chain = tuple[Any, ...]


class _Argument(ctypes.Structure):
    _fields_ = (("data", POINTER), ("stride", SIZE), ("is_matrix", ctypes.c_int32))


def elementwise(*chains: Chain, spread: Map) -> None:
    """Run chains ``(f, *tensors)``, one after another on the threads of ``spread``.

    ``f(*tensors)`` changes matrices ``[n, d]`` in place by elementwise operations. The first tensor
    of a chain is a matrix; others may also be columns ``[n, 1]``, which do not change. On a CPU,
    for float32, all chains together take one pass over memory, and ``f`` may use ``+``, ``-``,
    ``*``, ``/``, ``sqrt``, ``copy_``, ``add_``, ``sub_``, ``mul_``, ``div_``, ``addcmul_``,
    ``addcdiv_`` and ``lerp_``. Elsewhere the operations are torch's.
    """
    tensors = [tensor for _, *matrices in chains for tensor in matrices]
    if not _fit(tensors):
        for f, *matrices in chains:
            f(*matrices)
        return
    n, d = tensors[0].shape
    program, operands, _ = _recorded_chains(chains)
    flat = all(x.shape[1] == d and x.is_contiguous() for x in tensors)
    sizes = len(operands), *((1, n * d) if flat else (n, d))
    work = len(operands) * constant("ngo_elementwise_block")
    arguments = program, len(program), operands, *sizes
    share("ngo_elementwise", *arguments, elements=n * d, work=work, spread=spread)


class HalfStep(ctypes.Structure):
    """Chains that a kernel runs on pieces of contiguous matrices, each once its gradient is there.

    elementwise.c explains the fields.
    """

    _fields_ = (
        *(("program", POINTER), ("length", SIZE), ("operands", POINTER)),
        *(("operand_count", SIZE), ("gradient", SIZE)),
    )

    @classmethod
    def of(cls, chains: Sequence[Chain], gradient: torch.Tensor) -> HalfStep | None:
        """Chains of matrices, among them the ``gradient``; None if compiled code can't run them."""
        tensors = [tensor for _, *matrices in chains for tensor in matrices]
        if not _fit(tensors) or any(
            x.shape != gradient.shape or not x.is_contiguous() for x in tensors
        ):
            return None
        program, operands, kept = _recorded_chains(chains)
        places = [each.data for each in operands]
        if gradient.data_ptr() not in places:
            return None
        place = places.index(gradient.data_ptr())
        at = map(ctypes.addressof, (program, operands))
        made = cls(next(at), len(program), next(at), len(operands), place)
        made.kept = program, operands, kept
        return made


def _recorded_chains(chains: Sequence[Chain]) -> tuple[Any, Any, object]:
    """The program of chains, its operands, and what has to be kept meanwhile."""
    d, recording = chains[0][1].shape[1], _Recording()
    for f, *matrices in chains:
        f(*(recording.operand(x, is_matrix=x.shape[1] == d) for x in matrices))
    program = (ctypes.c_int32 * 5 * len(recording.instructions))(*recording.instructions)
    return program, (_Argument * len(recording.operands))(*recording.operands), recording


def _fit(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether there is compiled code, and it takes these tensors."""
    if not tensors or library() is None:
        return False
    n, d = tensors[0].shape
    return all(
        x.is_cpu and x.dtype == torch.float32 and x.shape in ((n, d), (n, 1)) and x.stride(1) == 1
        for x in tensors
    )


class _Recording:
    """The operations recorded so far, on operands that are known by their places."""

    def __init__(self) -> None:
        self.instructions: list[tuple[int, int, int, int, int]] = []
        self.operands: list[_Argument] = []
        self._numbers: list[ctypes.c_float] = []

    def operand(self, tensor: torch.Tensor | None = None, *, is_matrix: bool = False) -> _Recorded:
        """A tensor as an operand, one in all chains; without one, an intermediate result."""
        address, stride = (None, 0) if tensor is None else (tensor.data_ptr(), tensor.stride(0))
        for place, known in enumerate(self.operands):
            if address and (known.data, known.stride) == (address, stride):
                return _Recorded(self, place)
        self.operands.append(_Argument(address, stride, is_matrix))
        return _Recorded(self, len(self.operands) - 1)

    def record(self, out: _Recorded, operation: int, *values: _Recorded | float) -> _Recorded:
        """Record one operation; the operand ``out``, which takes its result."""
        a, b, c = (*map(self._place, values), 0, 0)[:3]
        self.instructions.append((operation, out.place, a, b, c))
        return out

    def _place(self, value: _Recorded | float) -> int:
        """The place of an operand; a number becomes one."""
        if isinstance(value, _Recorded):
            return value.place
        self._numbers.append(ctypes.c_float(value))
        self.operands.append(_Argument(ctypes.addressof(self._numbers[-1]), 0, False))
        return len(self.operands) - 1


def _recorded(operation: int, *, in_place: bool = False) -> Callable[..., _Recorded]:
    """A method that records the operation; its result is a new operand unless it is in place."""

    def method(self: _Recorded, *values: _Recorded | float) -> _Recorded:
        out = self if in_place else self.recording.operand()
        return self.recording.record(out, operation, self, *values)

    return method


class _Recorded:
    """An operand in place of a tensor. Its operations are those of ``torch.Tensor``, recorded."""

    def __init__(self, recording: _Recording, place: int) -> None:
        self.recording, self.place = recording, place

    __add__, __sub__, __mul__ = map(_recorded, (ADD, SUBTRACT, MULTIPLY))
    __truediv__, sqrt = map(_recorded, (DIVIDE, SQUARE_ROOT))
    mul_, div_ = _recorded(MULTIPLY, in_place=True), _recorded(DIVIDE, in_place=True)
    _multiply_add = _recorded(MULTIPLY_ADD, in_place=True)

    def copy_(self, other: _Recorded) -> _Recorded:
        return self.recording.record(self, MULTIPLY, other, 1.0)

    def add_(self, other: _Recorded | float, *, alpha: float = 1.0) -> _Recorded:
        return self._multiply_add(other, alpha)

    def sub_(self, other: _Recorded | float, *, alpha: float = 1.0) -> _Recorded:
        return self._multiply_add(other, -alpha)

    def addcmul_(self, a: _Recorded, b: _Recorded, *, value: float = 1.0) -> _Recorded:
        return self._multiply_add(a * value, b)

    def addcdiv_(self, a: _Recorded, b: _Recorded, *, value: float = 1.0) -> _Recorded:
        return self._multiply_add(a / b, value)

    def lerp_(self, end: _Recorded, weight: float) -> _Recorded:
        return self._multiply_add(end - self, weight)
