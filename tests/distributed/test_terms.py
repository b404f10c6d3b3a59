import os
import threading
from functools import partial

import numpy as np
import pytest
import torch
from participants import (
    convex_spec,
    distributed,
    meeting_of,
    spec_of,
    store_here,
    surroundings,  # noqa: F401
)

import ngo
from ngo.common.registry import UserError
from ngo.data import loading
from ngo.data.partition import parts_digest
from ngo.distributed import terms
from ngo.distributed.terms import agree, data_terms, disagreement, run_terms
from ngo.training.inputs import data_digest
from ngo.training.problem import make_problem
from ngo.training.record import make_origin
from ngo.training.results_version import results_version


def said(published):
    """What each process says after publishing its terms; None if it agrees."""
    store, heard = store_here(), {}

    def take_part(me, terms):
        try:
            agree(meeting_of(store, me, len(published)), "run", terms, 20.0)
            heard[me] = None
        except UserError as error:
            heard[me] = str(error)

    threads = [threading.Thread(target=take_part, args=each) for each in enumerate(published)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [heard[me] for me in range(len(published))]


def test_processes_with_equal_terms_agree():
    assert said([run_terms(spec_of(workers=3), mode="synchronous")] * 3) == [None] * 3


def test_all_processes_say_who_differs():
    spec = spec_of(workers=3)
    published = [run_terms(each) for each in (spec, spec, spec_of(workers=3, lr=0.5))]
    line = "distributed: the processes do not agree: process 2 has lr 0.5, the others 0.1."
    assert said(published) == [line] * 3


@pytest.mark.parametrize(
    ("published", "words"),
    [
        ([{"lr": 0.1}] * 4, ""),
        ([{"lr": 1}, {"lr": 2}], "process 0 has lr 1, process 1 has lr 2"),
        ([{"a": 1}, {"a": 2}, {"a": 1}, {"a": 3}],
         "process 1 has a 2, process 3 has a 3, the others 1"),
        ([{"a": 1}, {"a": 2}, {"a": 2}, {"a": 1}], "processes 0, 3 have a 1, processes 1, 2 have a"
         " 2"),
        ([{"a": 1}] * 9 + [{"a": 2}] * 7,
         "processes 9, 10, 11, 12, 13, and 2 more have a 2, the others 1"),
        ([{"a": q} for q in range(6)], "process 0 has a 0, process 1 has a 1, process 2 has a 2, "
         "process 3 has a 3, and 2 more"),
        ([dict.fromkeys("abcde", q // 2) for q in range(3)], "process 2 has a 1, the others 0; "
         "process 2 has b 1, the others 0; process 2 has c 1, the others 0; and 2 more"),
        ([{"p": 0.9}, {"p": 0.9}, {}], "process 2 has p None, the others 0.9"),
        ([{}, {}, {"\x1b[2J": "\n\x1b[2J"}],
         "process 2 has '\\x1b[2J' '\\n\\x1b[2J', the others None"),
    ],
)  # fmt: skip
def test_the_words_of_a_disagreement(published, words):
    assert disagreement(published) == words


def test_long_values_are_compared_in_full_and_shown_in_short():
    words = disagreement([{"graph": "a" * 500}, {"graph": "a" * 500}, {"graph": "a" * 501}])
    assert words.startswith("process 2 has graph 'aaa")
    assert len(words) < 300


def test_what_a_stranger_publishes_is_neither_run_nor_shown_at_length():
    store = store_here()
    store.set("run/1", '{"lr": [[[[1]]]], "code": {"__reduce__": 1}, "x": ' + "[" * 10**5)
    store.set("run/2", '["no", "terms"]')
    with pytest.raises(UserError) as error:
        agree(meeting_of(store, 0, 3), "run", {"lr": 0.1}, 20.0)
    assert str(error.value) == (
        "distributed: the processes do not agree: process 0 has lr 0.1, the others None."
    )


def test_the_terms_of_a_run_are_its_fields_and_its_numbers():
    spec = convex_spec(workers=3)
    ours = run_terms(spec, WORLD_SIZE=3)
    assert next(iter(ours)) == "WORLD_SIZE"
    assert ours["version"] == ngo.__version__
    assert ours["torch"] == torch.__version__
    assert {name: ours[name] for name in spec.values()} == spec.values()
    assert ours["code"] == results_version(spec)


def test_the_terms_of_the_data(tmp_path):
    spec = convex_spec(workers=3)
    data = loading.load(spec.dataset, tmp_path)
    problem = make_problem(spec, data)
    ours = data_terms(make_origin(spec, problem, "cpu").about)
    assert ours == {
        "train_samples": len(data.train_inputs),
        "test_samples": len(data.test_inputs),
        "data": data_digest(data),
        "partition": parts_digest(problem.parts),
    }


def odd_one(change, work):
    """Scenario: process 2 takes part otherwise, as ``change`` has it."""
    (partial(change, work) if os.environ["RANK"] == "2" else work)()


def other_mode(work):
    work(asynchronous=True)


def more_processes(work):
    os.environ["WORLD_SIZE"] = "4"
    work()


def other_model(work):
    work.args[0].__dict__["model"] = "mnist_cnn"
    work()


def other_version(work):
    terms.results_version = lambda spec: "2"
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
        (other_mode, "mode 'asynchronous', the others 'synchronous'"),
        (more_processes, "WORLD_SIZE 4, the others 3"),
        (other_model, "model 'mnist_cnn', the others 'linear'"),
        (other_version, "code '2', the others '1'"),
        (other_data, "data '[0-9a-f]{16}', the others '[0-9a-f]{16}'"),
        (other_parts, "partition '[0-9a-f]{16}', the others '[0-9a-f]{16}'"),
    ],
)
def test_the_odd_one_out_is_named(change, words, tmp_path):
    line = f"^distributed: the processes do not agree: process 2 has {words}.$"
    parts = np.array_split(np.arange(800)[::-1], 3)
    with pytest.raises(UserError, match=line):
        distributed(convex_spec(workers=3), 3, tmp_path, partial(odd_one, change), parts=parts)
