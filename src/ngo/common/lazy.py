"""Heavy libraries that are imported when they are first used, and names of their types.

A module that takes them from here is itself imported in a moment: to check a run, and to list what
can be chosen, needs no torch.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from verdicts.lazy import Library

if TYPE_CHECKING:
    import filelock
    import networkx as nx
    import numpy as np
    import pandas as pd
    import torch
    from torch import nn
else:
    nx, np, pd, torch, nn = map(Library, ("networkx", "numpy", "pandas", "torch", "torch.nn"))
    filelock = Library("filelock")

Table: TypeAlias = "pd.DataFrame"
Numbers: TypeAlias = "pd.Series"
Tensor: TypeAlias = "torch.Tensor"

__all__ = ["Numbers", "Run", "Table", "Tensor", "filelock", "nn", "np", "nx", "pd", "torch"]

#: A run, whose fields are attributes; ``training.spec`` has all of them.
Run: TypeAlias = Any
