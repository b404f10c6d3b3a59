"""Names of types, for modules that are read without pandas and torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd
    import torch

Table: TypeAlias = "pd.DataFrame"
Numbers: TypeAlias = "pd.Series"
Tensor: TypeAlias = "torch.Tensor"

#: A run, whose fields are attributes; ``training.spec`` has all of them.
Run: TypeAlias = Any
