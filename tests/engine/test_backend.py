import pytest
import torch
from conftest import apart, batch

from ngo.common.registry import UserError
from ngo.engine.backend import Stacked, backend, build_backend, restored
from ngo.engine.population import Population


def test_an_unknown_backend_lists_the_known():
    message = (
        r"backend: 'thread' is unknown.*auto, compiled, graphs, loop, threads, vmap.*'threads'"
    )
    with pytest.raises(UserError, match=message):
        build_backend(None, "thread")


def test_a_backend_of_ones_own(own_entries):
    @backend("halved")
    def halved(workers):
        loop = build_backend(workers, "loop")

        def gradients(batches):
            losses = loop(batches)
            workers.G.div_(2)
            return losses

        return gradients

    found, reference = apart("linear", 2, "halved"), apart("linear", 2, "loop")
    given = batch("linear", 2)
    assert torch.equal(found.gradients(given), reference.gradients(given))
    assert torch.equal(2 * found.G, reference.G)


@pytest.mark.parametrize("backend", ["auto", "compiled", "loop", "threads", "vmap"])
def test_a_backend_takes_the_batches_once(backend):
    class Counted(Stacked):
        taken = 0

        def all(self):
            type(self).taken += 1
            return super().all()

        def rows(self):
            type(self).taken += 1
            return super().rows()

    population = Population("linear", 3, seed=0, backend=backend, threads=2)
    given = batch("linear", 3)
    population.gradients(Counted(given.inputs, given.targets))
    assert Counted.taken == 1


def test_bfloat16_is_near_float32_and_leaves_the_parameters_in_it():
    given = batch("mnist_fc", 2)
    reference = apart("mnist_fc", 2, "loop")
    expected = reference.gradients(given)
    for name in ("loop", "vmap"):
        population = apart("mnist_fc", 2, name, precision="bfloat16")
        losses = population.gradients(given)
        assert population.X.dtype == population.G.dtype == torch.float32
        assert not torch.equal(losses, expected)
        assert torch.allclose(losses, expected, rtol=0.01)
        assert (population.G - reference.G).norm() < 0.05 * reference.G.norm()


def test_state_is_restored_after_an_error():
    population = apart("mnist_cnn", 2, "loop")
    before = {key: value.clone() for key, value in population.state_dict().items()}

    def fail():
        with restored(population):
            population.gradients(batch("mnist_cnn", 2))
            population.X.zero_()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    for key, value in population.state_dict().items():
        assert torch.equal(value, before[key])
