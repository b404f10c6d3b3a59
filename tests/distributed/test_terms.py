import os
from functools import partial

import numpy as np
import pytest
from participants import (
    convex_spec,
    distributed,
    spec_of,
    surroundings,  # noqa: F401
)

from ngo.common.registry import UserError
from ngo.data import loading
from ngo.distributed import terms
from ngo.distributed.terms import disagreement, run_terms


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


def test_long_values_are_compared_in_full_and_shown_in_short():
    words = disagreement([{"graph": "a" * 500}, {"graph": "a" * 500}, {"graph": "a" * 501}])
    assert words.startswith("process 2 has graph 'aaa")
    assert len(words) < 300


def test_the_terms_of_a_run_are_its_fields_and_code(monkeypatch):
    spec = spec_of(workers=3)
    ours = run_terms(spec, WORLD_SIZE=3)
    assert next(iter(ours)) == "WORLD_SIZE"
    assert {name: ours[name] for name in spec.values()} == spec.values()
    monkeypatch.setattr(terms, "results_version", lambda spec: "another")
    assert run_terms(spec)["code"] != ours["code"]


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
        (other_data, "data '[0-9a-f]{16}', the others '[0-9a-f]{16}'"),
        (other_parts, "partition '[0-9a-f]{16}', the others '[0-9a-f]{16}'"),
    ],
)
def test_the_odd_one_out_is_named(change, words, tmp_path):
    line = f"^distributed: the processes do not agree: process 2 has {words}.$"
    parts = np.array_split(np.arange(800)[::-1], 3)
    with pytest.raises(UserError, match=line):
        distributed(convex_spec(workers=3), 3, tmp_path, partial(odd_one, change), parts=parts)
