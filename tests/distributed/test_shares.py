from itertools import islice

import torch
from participants import (
    spec_of,
    surroundings,  # noqa: F401
)

from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.distributed.shares import shares
from ngo.training.batches import BatchStream
from ngo.training.problem import make_problem


def test_every_worker_is_in_one_process():
    for workers, processes in [(5, 2), (4, 4), (10, 3)]:
        own = shares(workers, processes)
        assert [i for part in own for i in part] == list(range(workers))
        assert max(map(len, own)) - min(map(len, own)) <= 1


def test_a_process_has_the_samples_of_its_workers_only(tmp_path):
    problem = make_problem(spec_of(workers=4), loading.load("digits", tmp_path))
    mine = problem.restricted_to([1, 2])
    assert len(mine.data.train_inputs) == len(problem.parts[1]) + len(problem.parts[2])
    assert mine.owned == problem.owned
    for own, part, i in zip(mine.parts, problem.parts[1:3], (1, 2), strict=True):
        streams = [
            BatchStream(samples, 16, torch_stream(0, "batches", i)) for samples in (own, part)
        ]
        for local, everywhere in islice(zip(*streams, strict=True), 60):
            assert torch.equal(mine.data.train_inputs[local], problem.data.train_inputs[everywhere])
