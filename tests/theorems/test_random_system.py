import pytest
from small_theory import asked, holds, small_rows

from ngo.common.registry import UserError


def test_two_workers_swap_with_weights_of_one():
    rows = small_rows("random")
    printed = rows[(rows["form"] == "printed") & (rows["p"] == 1)]
    assert (printed[printed["n"] == 2]["residual"] - 1).abs().max() < 1e-9
    assert printed[printed["n"] == 5]["residual"].min() > 1e3
    amended = rows[(rows["form"] == "amended") & (rows["p"] == 1)]
    assert amended["residual"].max() < 1e-6
    assert len(rows) == 2 * 2 * 2 * 2  # n, draws, forms, exponents


def test_each_form_of_the_random_system_has_its_own_cases():
    rows = [
        {"form": form, "p": 1, "seed": 0, "residual": residual}
        for form, residual in (("printed", 10.0), ("amended", 1e-9))
    ]
    assert asked("theory_random_system", "random", rows, form="printed")["met"].tolist() == [False]
    assert asked("theory_random_system", "random", rows, form="amended")["met"].tolist() == [True]
    with pytest.raises(UserError, match="^form: 'x' is unknown; allowed: amended, printed"):
        asked("theory_random_system", "random", rows, form="x")


def test_only_the_amended_system_reaches_consensus():
    assert not holds("theory_random_system", "random", form="printed")
    assert holds("theory_random_system", "random", form="amended")
