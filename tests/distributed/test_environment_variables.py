import pytest

from ngo.common.registry import UserError
from ngo.distributed.environment import Place, read_place

GIVEN = {"RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "host", "MASTER_PORT": "29500"}
OTHERS = ("LOCAL_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE")


def place_of(monkeypatch, **changed):
    for name in (*GIVEN, *OTHERS):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**GIVEN, **changed}.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    return read_place()


def test_the_starter_holds_the_store_or_process_0(monkeypatch):
    assert place_of(monkeypatch) == Place(1, 3, "host", 29500, local=1, holds_store=False)
    first = place_of(monkeypatch, RANK="0", LOCAL_WORLD_SIZE="2")
    assert first == Place(0, 3, "host", 29500, local=2, holds_store=True)
    agent = place_of(monkeypatch, RANK="0", TORCHELASTIC_USE_AGENT_STORE="True")
    assert not agent.holds_store


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"WORLD_SIZE": None, "MASTER_ADDR": ""}, "distributed: WORLD_SIZE, MASTER_ADDR not set; "),
        ({"RANK": "x"}, "RANK: 'x' is not a whole number; it must be 0 to 2."),
        ({"RANK": "5"}, "RANK: 5 is out of range; it must be a whole number, 0 to 2."),
        ({"RANK": "-1"}, "RANK: -1 is out of range"),
        ({"RANK": "1.0"}, "RANK: '1.0' is not a whole number"),
        ({"RANK": "9" * 5000}, "RANK: '999"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE: 0 is out of range; it must be a whole number, 1 to"),
        ({"WORLD_SIZE": "99999"}, "WORLD_SIZE: 99999 is out of range"),
        ({"MASTER_PORT": "0"}, "MASTER_PORT: 0 is out of range"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT: 'http' is not a whole number"),
        ({"LOCAL_WORLD_SIZE": "0"}, "LOCAL_WORLD_SIZE: 0 is out of range"),
        ({"LOCAL_WORLD_SIZE": "x"}, "LOCAL_WORLD_SIZE: 'x' is not a whole number"),
    ],
)
def test_a_wrong_variable_is_one_line(changed, line, monkeypatch):
    with pytest.raises(UserError) as error:
        place_of(monkeypatch, **changed)
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)
