import pytest
from command_line import mistake


def test_a_seed_is_chosen_by_the_verifier(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"")
    assert "seed: it is missing; name one" in mistake("verify", tmp_path / "a.tar")
    assert "is refused: " in mistake("verify", tmp_path / "a.tar", "--sample", 0)
    assert "is refused: " in mistake("verify", tmp_path / "a.tar", "--seed", 1)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--sample", -1, "sample: -1 "),
        ("--seed", "two", "seed: 'two' is not a number"),
    ],
)
def test_a_wrong_value_is_one_line(tmp_path, option, value, message):
    (tmp_path / "a.tar").write_bytes(b"")
    assert message in mistake("verify", tmp_path / "a.tar", "--seed", 1, option, value)
