"""Global state of torch, NumPy and Python, isolated for a block of code."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch

from ngo.common.devices import float32_parts, set_float32
from ngo.native.threads import one_intra_op_thread, quick_switching

#: Held by the one thread that uses the state, which all threads of a process share.
ALONE = threading.RLock()


@contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Run the block with global random streams seeded by ``seed``, and restore the caller's.

    Within the block, the default dtype is float32, the default device is the CPU, gradients are
    enabled and autocast is not, operations use one thread each, and Python switches threads
    quickly. All of this, and what ``deterministic`` sets, is restored at the end, also after an
    error. A block in another thread waits until then.
    """
    with ALONE, ExitStack() as stack:
        stack.enter_context(restored_streams())
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        stack.callback(set_float32, *(part.fp32_precision for part in float32_parts()))
        stack.callback(_set_deterministic, torch.get_deterministic_debug_mode())
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for device in ("cpu", "cuda") if torch.cuda.is_initialized() else ("cpu",):
            # A user's within would keep converted weights to the end of this one.
            stack.enter_context(torch.autocast(device, enabled=False, cache_enabled=False))
        stack.enter_context(one_intra_op_thread())
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        quick_switching()
        torch.set_default_dtype(torch.float32)
        seed_streams(seed)
        yield


def _set_deterministic(mode: int) -> None:
    """Choose torch's algorithms: 0 is any, 1 warns of those that are not deterministic, 2 refuses.

    Does nothing where this is so: torch imports its compiler for it, which takes seconds.
    """
    if torch.get_deterministic_debug_mode() != mode:
        torch.use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


@contextmanager
def restored_streams() -> Iterator[None]:
    """Restore the global random streams of torch, NumPy and Python at the end of the block."""
    states = stream_states()
    try:
        yield
    finally:
        set_stream_states(states)


def seed_streams(seed: int) -> None:
    """Seed the global random streams of torch, NumPy and Python."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed would also seed unused GPUs
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def stream_states() -> dict[str, object]:
    """The state of the global random streams, as a checkpoint holds it: tensors and numbers.

    Before CUDA is initialized, its streams have no state.
    """
    numpy: Any = np.random.get_state()
    kind, keys, *rest = numpy
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {
        "python": random.getstate(),
        "numpy": [kind, torch.from_numpy(keys.astype(np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "gpus": gpus,
    }


def comparable(states: dict[str, Any]) -> dict[str, Any]:
    """The same states, to be compared."""
    return {name: _compared(state) for name, state in states.items()}


def _compared(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.cpu().numpy().tobytes()
    return [*map(_compared, state)] if isinstance(state, list) else state


def set_stream_states(states: dict[str, Any]) -> None:
    """Restore what ``stream_states`` returned."""
    kind, keys, *rest = states["numpy"]
    random.setstate(states["python"])
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    if states["gpus"]:
        torch.cuda.set_rng_state_all(states["gpus"])
