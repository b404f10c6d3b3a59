import numpy as np
import pytest
from runs import digits_run

from ngo.gossip.method import METHODS
from ngo.training.virtual.schedule import Arrangement, Graphs, Schedule


def schedule(**values):
    spec = digits_run(**{"clock": "asynchronous", "workers": 7, "speed": "log_normal", **values})
    return Schedule(spec, Graphs(spec, 9), METHODS[spec.method].arrivals, 100)


@pytest.mark.parametrize(
    "fields",
    [
        {"latency": 0.8},
        {"topology": "random", "message_loss": 0.2},
        {"method": "async_push_sum", "topology": "directed_ring", "latency": 3.0},
        {"speed": "constant"},
    ],
)
def test_each_step_finds_the_models_that_it_uses_in_their_slots(fields):
    """Slots are written and read as batches come, over several windows."""
    each = schedule(**fields)
    slots, kept = {}, {}
    for until in (7, 49, 56, 120):
        window = each.window(until)
        arranged = Arrangement(window, slots, each.live())
        known, ended = set(), []
        for batch in arranged.batches():
            known |= set(batch.gradients.tolist())
            assert set(batch.steps.tolist()) <= known
            assert (np.diff(arranged.worker[batch.steps]) > 0).all()
            for k in batch.steps[arranged.slot[batch.steps] >= 0].tolist():
                kept[arranged.slot[k]] = window.first + k
            for e in batch.used.tolist():
                assert arranged.user[e] in batch.steps
                if arranged.whole[arranged.user[e]] < 0:
                    assert kept[arranged.source[e]] == window.source[e]
            ended += batch.steps.tolist()
        assert sorted(ended) == list(range(len(window)))
        assert known == set(ended)
        slots = arranged.slots_at_end
        assert max([*kept, -1]) < max(arranged.slots, 1)
        assert all(kept[slot] == step for step, slot in slots.items())
        assert set(slots) <= each.live()


def test_slots_are_used_again():
    each = schedule(latency=0.5)
    slots, most = {}, 0
    for until in range(56, 2000, 56):
        window = each.window(until)
        arranged = Arrangement(window, slots, each.live())
        slots, most = arranged.slots_at_end, max(most, arranged.slots)
    assert most <= 7 * 7


def test_steps_together_keep_no_models_but_the_last():
    each = schedule(speed="constant")
    arranged = Arrangement(each.window(70), {}, each.live())
    assert (arranged.slot[:63] == -1).all()
    assert len(arranged.matrices) == 10
