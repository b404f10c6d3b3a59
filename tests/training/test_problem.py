from itertools import islice

import numpy as np
import pytest
import torch
from runs import digits_run

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.training.partition_file import held_out
from ngo.training.problem import BatchStream, make_problem


def test_held_out_samples_are_evaluated_and_not_owned(digits):
    spec = digits_run(holdout=0.25)
    m = len(digits.train_targets)
    problem, held = make_problem(spec, digits), held_out(spec, m)
    assert len(held) == round(0.25 * m)
    assert not set(held) & set(np.concatenate(problem.parts))
    assert len(held) + sum(map(len, problem.parts)) == m == problem.owned + len(held)
    assert torch.equal(torch.cat(problem.holdout[1]), digits.train_targets[held])


def test_a_data_set_without_classes_covers_none(least_squares):
    spec = digits_run(dataset="least_squares", model="linear", task="regression")
    assert make_problem(spec, least_squares).classes_covered is None


def test_a_share_smaller_than_a_batch_is_refused(digits):
    spec = digits_run(partition="dirichlet", beta=0.01)
    parts = [np.arange(1000), np.arange(1000, 1400), np.arange(1400, 1410), np.arange(1410, 1437)]
    with pytest.raises(UserError, match="batch_size: 16 is larger than worker 2's share of 10"):
        make_problem(spec, digits, parts)


def test_a_part_of_the_test_set_serves_before_the_last_step(digits):
    spec = digits_run(epochs=2, eval_images=50)
    problem = make_problem(spec, digits)
    last = spec.steps(problem.owned)
    assert sum(len(chunk) for chunk in problem.test_at(0)[1]) == 50
    assert sum(len(chunk) for chunk in problem.test_at(last - 1)[1]) == 50
    assert sum(len(chunk) for chunk in problem.test_at(last)[1]) == len(digits.test_targets)
    whole = make_problem(digits_run(), digits)
    assert whole.test_at(0) is whole.test


def test_a_problem_of_some_workers_gives_them_the_same_batches(digits):
    problem = make_problem(digits_run(), digits)
    mine = problem.restricted_to([1, 2])
    assert len(mine.data.train_inputs) == len(problem.parts[1]) + len(problem.parts[2])
    for own, part, i in zip(mine.parts, problem.parts[1:3], (1, 2), strict=True):
        streams = [
            BatchStream(samples, 16, torch_stream(0, "batches", i)) for samples in (own, part)
        ]
        for local, everywhere in islice(zip(*streams, strict=True), 60):
            assert torch.equal(mine.data.train_inputs[local], problem.data.train_inputs[everywhere])
