"""Test accuracy of each method (momentum, D², gradient tracking, …) with linear gossip, NGO, its
capped and its implicit form, each at its own best p, γ and learning rate by held-out accuracy.
Right: the gain over linear gossip with the same method.

*The question:* where does nonlinear gossip still help when there is momentum or a correction for
heterogeneous data, and when linear gossip may choose its γ too?
"""

from __future__ import annotations

import pandas as pd

from ngo.analysis.combinations import combination_table
from ngo.plots.combinations import caption, note  # noqa: F401
from ngo.plots.combinations import draw_combinations as draw  # noqa: F401
from ngo.plots.combinations import print_combinations as show  # noqa: F401
from ngo.plots.declaration import figure


@figure(
    "methods",
    section="Any method with any coupling",
    title="Methods with linear and with nonlinear gossip, each at its own best values",
    reads={"mnist": "methods", "cifar10": "methods_cifar10"},
    tables=("methods",),
)
def numbers(mnist: pd.DataFrame, cifar10: pd.DataFrame) -> pd.DataFrame:
    """Each method with each way to mix, on both data sets, see ``combination_table``."""
    return combination_table(pd.concat([mnist, cifar10], ignore_index=True))
