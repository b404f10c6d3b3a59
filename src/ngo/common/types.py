"""Names of the types of tables and tensors, for modules that are read without pandas and torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pandas as pd
    import torch

Table: TypeAlias = "pd.DataFrame"
Numbers: TypeAlias = "pd.Series"
Tensor: TypeAlias = "torch.Tensor"
