"""What training on a CPU spends its time on, in C: small convolutions, gossip, and waiting.

``kernels.c`` is compiled when it is first needed, for the processor at hand, and kept in the user's
cache. The compiler, clang, is a package like any other (``ziglang``). Where that can't be had,
:func:`available` says so, and torch's own operations take the place of the kernels. The variable
NGO_MARCH compiles for another processor (``x86-64-v3``), or not at all (``none``).

All tensors are float32 on the CPU, contiguous, and of the shapes that are told; others raise
ValueError. The calls give back Python's lock, so that threads work side by side.
"""

import ctypes
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from ngo.files import held, whole_file, writable_folder
from ngo.registry import UserError

SOURCE = Path(__file__).with_suffix(".c")
KERNEL_SIZES = (3, 5)  # of the convolutions that are compiled

# Numbers of a row that a tile of the convolution's output takes: with its neighbours, it stays in
# a core's first cache.
TILE = 512

WIDTH = 256  # columns of a state that gossip does at once, to stay in a core's second cache

# Sums may be taken in any order, but NaN and infinity count. -ffast-math would change how the
# whole process rounds. For many processors with vectors of 512 bits clang takes 256 if it isn't
# told; where there are no such vectors, the flag changes nothing.
FLAGS = (
    "-O3",
    "-mprefer-vector-width=512",
    "-ffp-contract=fast",
    "-fassociative-math",
    "-fno-math-errno",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-fno-sanitize=undefined",
    "-fPIC",
    "-shared",
    f"-DWIDTH={WIDTH}",
)

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_int64
ARGUMENTS = {
    "ngo_conv_pool_relu": [*[_POINTER] * 6, *[_SIZE] * 7],
    "ngo_conv_pool_relu_backward": [*[_POINTER] * 8, *[_SIZE] * 6],
    "ngo_gossip": [*[_POINTER] * 4, *[ctypes.c_double] * 2, *[_SIZE] * 2, *[_POINTER] * 2],
    "ngo_wait": [_POINTER, _SIZE],
}


def available() -> bool:
    """Whether the kernels are there; they are compiled if need be."""
    return _library() is not None


def march() -> str:
    """What the kernels are compiled for: NGO_MARCH, a processor as clang's -march names it."""
    return os.environ.get("NGO_MARCH") or "native"


def build() -> str | None:
    """The name of the compiled file, which stands for source, flags, compiler and processor; None
    without one.
    """
    library = _library()
    return library and Path(library._name).stem


def conv_pool_relu(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A convolution without padding, the largest of every 2 × 2 outputs, and ReLU.

    Images have the batch last: ``x`` is ``[in, h, w, b]``, ``weight`` ``[out, in, k, k]`` with k in
    KERNEL_SIZES, all contiguous. Returns ``[out, (h − k + 1) // 2, (w − k + 1) // 2, b]`` and,
    as uint8, which of each four was the largest, or 4 where that is not above 0.
    """
    channels, h, w, b, out, k = _sizes(x, weight)
    _check("bias", bias, (out,))
    y = x.new_empty(out, (h - k + 1) // 2, (w - k + 1) // 2, b)
    which = y.new_empty(y.shape, dtype=torch.uint8)
    tile = max(1, TILE // max(1, b))
    room = x.new_empty(16 * tile * b)
    pointers = _pointers(x, weight, bias, y, which, room)
    _library().ngo_conv_pool_relu(*pointers, tile, b, channels, h, w, out, k)
    return y, which


def conv_pool_relu_backward(
    x: torch.Tensor,
    weight: torch.Tensor,
    which: torch.Tensor,
    slope: torch.Tensor,
    *,
    of_input: bool,
) -> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]:
    """The slopes of :func:`conv_pool_relu`'s input (if asked for), weight and bias, from that of
    its output.
    """
    channels, h, w, b, out, k = _sizes(x, weight)
    pooled = (out, (h - k + 1) // 2, (w - k + 1) // 2, b)
    _check("which", which, pooled, torch.uint8)
    _check("slope", slope, pooled)
    dx = x.new_empty(x.shape) if of_input else None
    dw, db = x.new_empty(weight.shape), x.new_empty(out)
    room = x.new_empty(4 * slope.numel())
    pointers = _pointers(x, weight, which, slope, dx, dw, db, room)
    _library().ngo_conv_pool_relu_backward(*pointers, b, channels, h, w, out, k)
    return dx, dw, db


def gossip(
    seen: torch.Tensor,
    X: torch.Tensor,
    new: torch.Tensor,
    W: torch.Tensor,
    gamma: float,
    e: float,
    taken: ctypes.c_int64,
) -> None:
    """new_i ← X_i + γ Σ_j W_ij sign(z)|z|^e, z the difference of rows j and i of ``seen``.

    The states are ``[n, d]``, contiguous, and ``new`` may be one of the others; ``W`` ``[n, n]`` is
    float64, contiguous and symmetric. ``taken`` counts the columns that some thread has taken:
    threads that call this with the same one, 0 at first, share the work.
    """
    n, d = X.shape
    for name, state in {"seen": seen, "X": X, "new": new}.items():
        _check(name, state, (n, d))
    _check("W", W, (n, n), torch.float64)
    room = X.new_empty(n * WIDTH)
    _library().ngo_gossip(
        *_pointers(seen, X, new, W), gamma, e, n, d, ctypes.byref(taken), room.data_ptr()
    )


def wait(count: ctypes.c_int64, seen: int) -> None:
    """Look at ``count`` until it is no longer ``seen``, some tenths of a millisecond at most."""
    if available():
        _library().ngo_wait(ctypes.byref(count), seen)


def _sizes(x: torch.Tensor, weight: torch.Tensor) -> tuple[int, ...]:
    """Input channels, height, width, batch, output channels and kernel size of a convolution."""
    channels, h, w, b = x.shape
    out, _, k, _ = weight.shape
    _check("x", x, (channels, h, w, b))
    _check("weight", weight, (out, channels, k, k))
    if k not in KERNEL_SIZES or min(h, w) < k:
        raise ValueError(f"kernel size {k} is not in {KERNEL_SIZES}, or above {h} × {w} pixels")
    return channels, h, w, b, out, k


def _check(
    name: str, x: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> None:
    if x.shape != shape or x.dtype != dtype or not (x.is_cpu and x.is_contiguous()):
        raise ValueError(
            f"{name} must be a contiguous {dtype} {list(shape)} on the CPU; it is a "
            f"{'' if x.is_contiguous() else 'strided '}{x.dtype} {list(x.shape)} on {x.device}"
        )


def _pointers(*tensors: torch.Tensor | None) -> list[int | None]:
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]


@cache
def _library() -> ctypes.CDLL | None:
    if march() == "none":
        return None
    try:
        library = ctypes.CDLL(str(_compiled()))
    except (OSError, UserError, PackageNotFoundError, subprocess.CalledProcessError) as error:
        lines = f"{getattr(error, 'stderr', None) or error}".strip().splitlines()
        said = next((line for line in lines if "error: " in line), lines[0])
        if "unknown CPU" in said:
            raise UserError(
                f"NGO_MARCH: {march()!r} is no processor that clang knows; it must be 'native', "
                "'none', or one that it knows, such as 'x86-64-v3'."
            ) from None
        print(f"ngo: {SOURCE.name} was not compiled, all will be slower: {said}", file=sys.stderr)
        return None
    for name, types in ARGUMENTS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, None
    return library


def _compiled() -> Path:
    """The compiled file of this source, these flags, this compiler and this processor."""
    facts = [SOURCE.read_text("utf-8"), *FLAGS, march(), version("ziglang"), sys.platform]
    key = hashlib.sha256("\0".join([*facts, _processor()]).encode()).hexdigest()[:16]
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(cache_home) / "ngo" / f"kernels-{key}.so"
    if path.exists():
        return path
    key = "the kernels' cache (XDG_CACHE_HOME names another)"
    with held(writable_folder(path.parent, key) / f"{path.name}.lock", lambda: None):
        if not path.exists():
            with whole_file(path, key) as temporary:
                _compile(temporary)
    return path


def _compile(path: Path) -> None:
    """Run the compiler, which keeps what it needs on the way in a folder that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        folders = {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        target = f"-march={march().replace('-', '_')}"  # zig's clang has x86_64_v3
        command = [sys.executable, "-m", "ziglang", "cc", target, *FLAGS]
        command += [str(SOURCE), "-o", str(path)]
        subprocess.run(
            command, env=os.environ | folders, check=True, capture_output=True, text=True
        )


def _processor() -> str:
    """What ``-march=native`` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    facts = ("model", "cpu family", "flags", "Features")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(facts)))
