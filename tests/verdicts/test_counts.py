"""How many claims have each verdict."""

from made_up_page import ROWS, row

from verdicts.counts import MARKED, counted, counts

APART = [
    row("copy", mark="trivial", mark_reason="a copy"),
    row("fit", mark="circular", mark_reason="fitted", verdict="fails"),
]
NONE = dict.fromkeys(("holds", "fails", "equivalent", "undecided", "not run"), 0)


def test_every_verdict_is_counted_and_cells_are_not():
    cell = row("order", cell="ring", verdict="fails")
    assert counts([*ROWS, cell]) == {**dict.fromkeys(NONE, 1), MARKED: 0}
    assert counts([]) == {**NONE, MARKED: 0}


def test_trivial_and_circular_claims_are_counted_apart():
    assert counts(APART) == {**NONE, MARKED: 2}
    assert counts([*ROWS, *APART])["holds"] == 1


def test_the_counts_in_a_sentence():
    assert counted(counts(ROWS)) == (
        "Of 5 claims, 1 holds, 1 fails, 1 shows no difference (equivalent), 1 is undecided, and 1 "
        "is not run."
    )
    assert counted(counts([*ROWS, *ROWS, *APART])) == (
        "Of 10 claims, 2 hold, 2 fail, 2 show no difference (equivalent), 2 are undecided, and 2 "
        "are not run; 2 more are trivial, circular or alternative."
    )
    assert counted(counts(APART[:1])).endswith(f"; 1 more is {MARKED}.")
    assert counted(counts([row("a")])).startswith("Of 1 claim, 1 holds, 0 fail")
