"""Tables of cases, one a line."""

import pytest


def cases(names: str, *rows: object, **how: object) -> pytest.MarkDecorator:
    """The test is run once for each row; ``names`` are those of its values: "value, message"."""
    return pytest.mark.parametrize(names, rows, **how)
