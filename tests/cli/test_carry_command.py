from command_line import mistake, ngo


def test_a_wrong_value_is_one_line(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"")
    assert "seed: 'two' is not a number" in mistake("carry", tmp_path / "a.tar", "--seed", "two")
    assert "is refused: " in mistake("carry", tmp_path / "a.tar")
    assert "'b.tar'" in mistake("carry", "b.tar")


def test_its_help_says_when_nothing_is_written():
    help = " ".join(ngo("carry", "--help").split())
    assert "the exit status is 1, and nothing is written unless --partial is given" in help
