import pytest
import torch

from ngo.engine.population import WorkerModules, buffers_of, counts_of, fill, parameters_of


def made(n=3):
    """Modules with batch normalization, the numbers of those built so far, and their rows."""
    built = []

    def build(i):
        built.append(i)
        return torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3))

    one = build(None)
    counts = torch.zeros(n, 1, dtype=torch.int64)
    rows = [torch.zeros(n, 33), torch.zeros(n, 33), torch.zeros(n, 6), counts]
    fill(parameters_of(one), rows[0])
    fill(buffers_of(one), rows[2])
    built.clear()
    return WorkerModules(build, *rows), built, rows, one


def test_a_module_is_built_when_it_is_used_and_once():
    modules, built, _, _ = made()
    assert len(modules) == 3
    assert built == []
    assert modules[1] is modules[1] is modules[-2]
    assert built == [1]
    assert [*modules] == modules[:]
    assert sorted(built) == [0, 1, 2]
    with pytest.raises(IndexError):
        modules[3]


def test_its_parameters_gradients_and_buffers_are_its_rows_whatever_they_hold_now():
    modules, _, (X, G, buffers, counts), one = made()
    expected = {**dict(one.named_parameters()), **buffers_of(one)}
    for name, tensor in {**parameters_of(modules[0]), **buffers_of(modules[0])}.items():
        assert torch.equal(tensor, expected[name])
    X[1], G[1], buffers[1], counts[1] = 2.0, 3.0, 4.0, 5
    module = modules[1]
    assert all((each == 2).all() and (each.grad == 3).all() for each in module.parameters())
    assert all((each == 4).all() for each in buffers_of(module).values())
    assert [int(each) for each in counts_of(module).values()] == [5]
    with torch.no_grad():
        module[0].bias.fill_(7)
    assert (X[1] == 7).sum() == 3
