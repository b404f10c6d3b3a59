"""Heavy libraries that are imported when they are first used, and the type of a picture.

Claims are read without them.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

loaded = cache(import_module)  # an attribute is asked for in each step of a run


class Library:
    """A library by its name, imported with the first attribute; an OSError if it is missing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        try:
            return getattr(loaded(self._name), attribute)
        except ImportError:  # pyarrow is optional
            raise OSError(
                f"it needs {self._name.partition('.')[0]}, which is not installed"
            ) from None


if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure
    from pyarrow import compute, parquet, types
    from scipy import optimize, special, stats
else:
    names = ("pandas", "scipy.optimize", "scipy.special", "scipy.stats")
    pd, optimize, special, stats = map(Library, names)
    names = ("pyarrow", "pyarrow.compute", "pyarrow.parquet", "pyarrow.types")
    pa, compute, parquet, types = map(Library, names)
    Figure = Any

__all__ = ["Figure", "Library", "compute", "optimize", "pa", "parquet", "pd", "special", "stats"]
__all__ += ["types"]
