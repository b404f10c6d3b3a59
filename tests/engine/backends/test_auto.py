import pytest
import torch
from conftest import apart, batch

from ngo.engine import backends as auto
from ngo.engine.backends import BACKENDS, Stacked, build_backend, fastest
from ngo.engine.population import Population
from ngo.models.model import Model
from ngo.native import build
from ngo.native.layer_chain import Chain


def chosen(model, **how):
    """The backend of the population after its first gradients, and the population."""
    population = apart(model, 6, "auto", **how)
    population.gradients(batch(model, 6))
    return population.backend, population


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
def test_auto_is_compiled_for_chains_on_a_cpu(caplog):
    assert chosen("mnist_cnn")[0] == "compiled"
    assert chosen("cifar10_vae")[0] == "threads"
    assert chosen("mnist_fc", precision="bfloat16")[0] == "threads"
    assert not caplog.records


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        (lambda X, G, losses: G.mul_(1.1), "its gradients are not those of plain autograd"),
        (lambda X, G, losses: losses.mul_(1.1), "its gradients are not those of plain autograd"),
        (lambda X, G, losses: G.fill_(torch.nan), "its gradients are not those of plain autograd"),
        (lambda X, G, losses: torch.ones(2) @ torch.ones(3), "inconsistent tensor size"),
    ],
)
def test_a_wrong_kernel_is_noticed_on_the_first_batch(monkeypatch, caplog, poison, reason):
    right = Chain.gradients

    def wrong(chain, X, G, *given, **how):
        losses = right(chain, X, G, *given, **how)
        poison(X, G, losses)
        return losses

    monkeypatch.setattr(Chain, "gradients", wrong)
    name, population = chosen("mnist_fc")
    assert (name, population.chain) == ("threads", None)
    (message,) = caplog.messages
    assert message.startswith(f"backend: auto skips 'compiled': {reason}")
    expected = apart("mnist_fc", 6, "loop")
    expected.gradients(batch("mnist_fc", 6))
    assert torch.equal(population.G, expected.G)


def tanh(width=8, layer=torch.nn.Tanh):
    def build(generator):
        return torch.nn.Sequential(torch.nn.Linear(3, width), layer(), torch.nn.Linear(width, 2))

    return Model(build, input_shape=(3,), task="classification")


def stepped(model, n, b=4, shape=(3,)):
    """A population after its first gradients."""
    population = Population(model, n, seed=0)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(n, b, *shape, generator=generator)
    targets = torch.randint(2, (n, b), generator=generator)
    population.gradients(Stacked(inputs, targets))
    return population


class Fails(torch.nn.Module):
    def forward(self, x):
        return x * float(x.detach().sum())


def test_auto_is_vmap_for_many_small_models_on_a_cpu():
    population = stepped(tanh(), auto.LEAST_WORKERS)
    assert population.backend == "vmap"
    reference = Population(tanh(), population.n, seed=0, backend="vmap")
    assert torch.equal(population.X, reference.X)


def test_auto_is_threads_where_vmap_is_not_faster(monkeypatch):
    n = auto.LEAST_WORKERS
    assert stepped(tanh(), n - 1).backend == "threads"
    parameters = 6 * 8 + 2
    monkeypatch.setattr(auto, "MOST_WORK", 4 * parameters)
    assert stepped(tanh(), n, b=4).backend == "vmap"
    assert stepped(tanh(), n, b=5).backend == "threads"
    monkeypatch.setattr(auto, "MOST_PARAMETERS", parameters - 1)
    assert stepped(tanh(), n).backend == "threads"

    def convolution(generator):
        return torch.nn.Sequential(torch.nn.Conv1d(1, 2, 3), torch.nn.Flatten())

    model = Model(convolution, input_shape=(1, 3), task="classification")
    monkeypatch.undo()
    assert stepped(model, n, shape=(1, 3)).backend == "threads"


def test_auto_is_threads_where_vmap_fails_or_disagrees(monkeypatch, caplog):
    assert stepped(tanh(layer=Fails), auto.LEAST_WORKERS).backend == "threads"

    def wrong(workers):
        right = build_backend(workers, "loop")
        return lambda batches: right(batches) * 1.1

    monkeypatch.setitem(BACKENDS, "vmap", wrong)
    assert stepped(tanh(), auto.LEAST_WORKERS).backend == "threads"
    assert all(line.startswith("backend: auto skips 'vmap': ") for line in caplog.messages)
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), AttributeError("gone")])
def test_the_choice_skips_what_fails_or_disagrees(monkeypatch, caplog, error):
    def fails(workers):
        raise error

    def wrong(workers):
        right = build_backend(workers, "loop")

        def gradients(batches):
            losses = right(batches)
            workers.G.mul_(1.1)
            return losses

        return gradients

    def stale(workers):
        """Right on the batch and the state that it sees first."""
        right, first = build_backend(workers, "loop"), []

        def gradients(batches):
            first.append((right(batches), workers.G.clone()) if not first else first[0])
            workers.G.copy_(first[0][1])
            return first[0][0]

        return gradients

    monkeypatch.setitem(BACKENDS, "fails", fails)
    monkeypatch.setitem(BACKENDS, "wrong", wrong)
    monkeypatch.setitem(BACKENDS, "stale", stale)
    population = Population("linear", 2, seed=0, backend="loop")
    names = ("threads", "fails", "wrong", "stale")
    assert fastest(population, batch("linear", 2), names) == "threads"
    assert [message.split(": ")[:2] for message in caplog.messages] == [
        ["backend", f"auto skips {name!r}"] for name in names[1:]
    ]
