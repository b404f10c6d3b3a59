import os
from functools import partial

import numpy as np
import pytest
from participants import (
    convex_spec,
    distributed,
    surroundings,  # noqa: F401
)

from ngo.common.registry import UserError
from ngo.data import loading
from ngo.distributed.meeting import disagreement


@pytest.mark.parametrize(
    ("published", "words"),
    [
        ([{"lr": 0.1}] * 4, ""),
        ([{"lr": 1}, {"lr": 2}], "process 1 has lr 2, the others 1"),
        ([{"a": 1}, {"a": 2}, {"a": 1}, {"a": 3}],
         "process 1 has a 2, process 3 has a 3, the others 1"),
        ([dict.fromkeys("abcde", q // 2) for q in range(3)], "process 2 has a 1, the others 0; "
         "process 2 has b 1, the others 0; process 2 has c 1, the others 0"),
        ([{"p": 0.9}, {"p": 0.9}, {}], "process 2 has p None, the others 0.9"),
    ],
)  # fmt: skip
def test_the_words_of_a_disagreement(published, words):
    assert disagreement(published) == words


def odd_one(change, work):
    """Scenario: process 2 takes part otherwise, as ``change`` has it."""
    (partial(change, work) if os.environ["RANK"] == "2" else work)()


def more_processes(work):
    os.environ["WORLD_SIZE"] = "4"
    work()


def other_data(work):
    original = loading.load

    def load(*arguments):
        data = original(*arguments)
        data.test_inputs[3, 0] += 1e-3
        return data

    loading.load = load
    work()


def other_parts(work):
    work(parts=np.array_split(np.arange(800), 3))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (more_processes, "WORLD_SIZE 4, the others 3"),
        (other_data, "data_digest '[0-9a-f]{16}', the others '[0-9a-f]{16}'"),
        (other_parts, "parts '[0-9a-f]{16}', the others '[0-9a-f]{16}'"),
    ],
)
def test_the_odd_one_out_is_named(change, words, tmp_path):
    line = f"^distributed: the processes do not agree: process 2 has {words}.$"
    parts = np.array_split(np.arange(800)[::-1], 3)
    with pytest.raises(UserError, match=line):
        distributed(convex_spec(workers=3), 3, tmp_path, partial(odd_one, change), parts=parts)
