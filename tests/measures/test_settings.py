from dataclasses import dataclass

import pytest

from ngo.common.fields import above, at_least, within
from ngo.common.registry import Registry, UserError
from ngo.measures.measurement import measurement
from ngo.measures.settings import limit_product, setting, settings_of

SHAPES = Registry("shape")
SHAPES.update(round=1, square=2)


@dataclass(frozen=True)
class Settings:
    shape: str = setting("shape of a thing", "round", names=SHAPES)
    size: tuple[int, ...] = setting("sizes", (1, 2), **within(1, 1000))
    rate: float = setting("rate", 0.5, **above(0, 1))
    rounds: int = setting("rounds", 3, **at_least(0), required=False)

    def __post_init__(self) -> None:
        limit_product(self, "size", "rounds")


def test_types_come_from_annotations():
    known = settings_of(Settings)
    assert list(known) == ["shape", "size", "rate", "rounds"]
    assert [each.field.kind for each in known.values()] == [str, int, float, int]
    assert [each.many for each in known.values()] == [False, True, False, False]
    assert [each.required for each in known.values()] == [True, True, True, False]
    assert known["size"].shown_default == "1, 2"


def test_the_largest_value_of_a_list_counts_in_a_product():
    Settings(size=(1, 1000), rounds=10_000)
    with pytest.raises(UserError, match="^rounds: size × rounds is 10,001,000; it must be 10,000,"):
        Settings(size=(1, 1000), rounds=10_001)


@pytest.mark.parametrize(
    ("annotation", "declared", "message"),
    [
        (tuple[str, ...], setting("topology", ("ring",)), "'each' is text and has no names; name"),
        (str, setting("topology", "ring"), "'each' is text and has no names; name the registry of"),
        (tuple[float, ...], setting("rates", (1.0,)), "'each' is a number and has no range; add"),
        (list[str], setting("topology", ("ring",), names=SHAPES), "has the annotation list"),
    ],
)
def test_a_setting_without_allowed_values_is_refused_where_it_is_declared(
    annotation, declared, message
):
    """Text was read as a number before: the error came with the first config that used it."""
    cls = dataclass(frozen=True)(type("S", (), {"__annotations__": {"each": annotation},
                                                "each": declared}))  # fmt: skip
    with pytest.raises(UserError, match=f"^setting: .*{message}") as caught:
        measurement("ofsettings", cls)
    assert "\n" not in str(caught.value)
