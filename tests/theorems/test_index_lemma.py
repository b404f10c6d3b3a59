from small_theory import asked, holds, small_rows


def test_the_two_forms_of_beta_give_far_apart_bounds():
    spreads = small_rows("spreads")
    assert spreads["T"].min() == 2
    assert (spreads["V"] > 0).all()
    last = spreads[spreads["T"] == 200].set_index(["form", "gamma"])
    small = last["V"] / last["limit"]
    assert small["amended", 0.5] < 0.1 * small["printed", 0.5]
    assert (small["amended"] < 1).all()


def test_a_form_is_judged_by_its_own_rows():
    rows = [
        {"form": form, "gamma": 0.1, "T": 9, "V": 2.0, "limit": limit}
        for form, limit in (("printed", 1.0), ("amended", 100.0))
    ]
    assert not asked("theory_index_lemma", "spreads", rows, form="printed")["met"].any()
    assert asked("theory_index_lemma", "spreads", rows, form="amended")["met"].all()
    assert holds("theory_index_lemma", "spreads", form="printed")
    assert holds("theory_index_lemma", "spreads", form="amended")
