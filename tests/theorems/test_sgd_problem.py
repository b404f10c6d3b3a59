from small_theory import OPTIONS

from ngo.theorems.sgd_problem import problem, spaced


def test_the_problem_has_the_sizes_of_the_settings():
    assert problem(OPTIONS, 0).A.shape == (5, 50, 3)


def test_the_numbers_of_steps_have_both_ends_and_no_repeats():
    assert spaced(1, 1000, 4) == [1, 10, 100, 1000]
    assert spaced(1, 3, 10) == [1, 2, 3]
