"""Tables of cases, one a line, and mistakes that are refused."""

import pytest

from verdicts.registry import UserError


def cases(names: str, *rows: object, **how: object) -> pytest.MarkDecorator:
    """The test is run once for each row; ``names`` are those of its values: "value, message"."""
    return pytest.mark.parametrize(names, rows, **how)


def refused(message: str, call: object, *given: object, **named: object) -> None:
    """Assert that the call raises a ``UserError``, always one line, which matches ``message``."""
    with pytest.raises(UserError, match=message):
        call(*given, **named)


def mistake_of(call: object, *given: object, **named: object) -> str:
    """The line of the ``UserError`` that the call raises."""
    with pytest.raises(UserError) as told:
        call(*given, **named)
    return str(told.value)
