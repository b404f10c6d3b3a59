"""The C sources of this folder: compiled and loaded as one library, called with tensors.

The library is compiled on first use, for the local processor, and cached. The compiler, clang,
comes with the package ``ziglang``. The environment variable NGO_MARCH selects another processor
(``x86-64-v3``), or disables compilation (``none``). Without the library, callers use torch.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ngo.common.files import atomic_file, file_lock, hashed, writable_folder
from verdicts.registry import UserError

LOG = logging.getLogger("ngo")

SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))

# Sums may be reordered, but NaN and infinity keep their meaning. -ffast-math would change the
# rounding mode of the whole process. Clang prefers vectors of 256 bits on many processors with 512;
# the flag is a no-op on processors without them.
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
)

# Whoever changes how the kernels round, and nothing else, raises this number. It is in the name of
# the build, so that a run records it and does not go on from a checkpoint of another number.
ROUNDING = 2


def available() -> bool:
    """Whether the library can be used; compiles it if necessary."""
    return library() is not None


def march() -> str:
    """The target processor: NGO_MARCH, with the names of clang's -march."""
    return os.environ.get("NGO_MARCH") or "native"


def build() -> str | None:
    """The name of the build, a hash of rounding, compiler, flags and processor; None without one.

    The sources are not part of it: whoever changes what they compute raises ``ROUNDING``, or a
    number of ``training.results_version``.
    """
    return _build() if available() else None


@cache
def library() -> ctypes.CDLL | None:
    """The loaded library; None, with one warning in the log, if it can't be compiled."""
    if march() == "none":
        return None
    try:
        return ctypes.CDLL(str(_compiled()))
    except (OSError, UserError, ModuleNotFoundError, subprocess.CalledProcessError) as error:
        lines = f"{getattr(error, 'stderr', None) or error}".strip().splitlines()
        reason = next((line for line in lines if "error: " in line), lines[0])
        if "unknown CPU" in reason:
            raise UserError(
                f"NGO_MARCH: {march()!r} is unknown to clang; allowed: 'native', 'none' and "
                "clang's names of processors, such as 'x86-64-v3'."
            ) from None
        LOG.warning("the C kernels could not be compiled; training will be slower: %s", reason)
        return None


def _compiled() -> Path:
    """The path of the shared library, compiled now if it is not in the cache."""
    from platformdirs import user_cache_path

    sources = "\0".join(f"{path.name}\0{path.read_text('utf-8')}" for path in SOURCES)
    path = user_cache_path("ngo", appauthor=False) / f"{_build()}-{hashed(sources)}.so"
    if path.exists():
        return path
    key = "the kernels' cache (set XDG_CACHE_HOME to use another)"
    with file_lock(writable_folder(path.parent, key) / f"{path.name}.lock", lambda: None):
        if not path.exists():
            with atomic_file(path, key) as temporary:
                compile_sources(SOURCES, temporary)
    return path


def compile_sources(sources: Sequence[Path], out: Path) -> None:
    """Run the compiler, with its intermediate files in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        folders = {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        target = f"-march={march().replace('-', '_')}"  # zig writes x86_64_v3
        command = [sys.executable, "-m", "ziglang", "cc", target, *FLAGS]
        command += [*(str(path) for path in sources if path.suffix == ".c"), "-o", str(out)]
        subprocess.run(
            command, env=os.environ | folders, check=True, capture_output=True, text=True
        )


def _build() -> str:
    facts = [
        f"rounding {ROUNDING}",
        *FLAGS,
        march(),
        version("ziglang"),
        sys.platform,
        _processor(),
    ]
    return f"kernels-{hashed(chr(0).join(facts))}"


def _processor() -> str:
    """What ``-march=native`` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    facts = ("model", "cpu family", "flags", "Features")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(facts)))
