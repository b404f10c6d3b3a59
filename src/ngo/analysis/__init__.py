import ngo.theorems  # noqa: F401 (its quantities)
from ngo import entries

entries.load(__name__)
