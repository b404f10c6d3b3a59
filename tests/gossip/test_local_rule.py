import pytest
import torch
from stepping import Stepping, states
from torch import optim

from ngo.common.fields import below, number
from ngo.common.options import DECLARED
from ngo.gossip.local_rule import LOCAL_RULES, local_rule

# The rules, and the optimizers of torch that they are.
OPTIMIZERS = {
    "sgd": optim.SGD,
    "momentum": lambda rows, **how: optim.SGD(rows, momentum=0.8, **how),
    "nesterov": lambda rows, **how: optim.SGD(rows, momentum=0.8, nesterov=True, **how),
    "adam": optim.Adam,
    "adamw": optim.AdamW,
}


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("rule", OPTIMIZERS)
def test_each_worker_moves_as_with_torchs_optimizer(rule, decay):
    X, G = states()
    found = Stepping("ngo", X, rule=rule, lr=0.1, momentum=0.8, weight_decay=decay)
    rows = [torch.nn.Parameter(row.clone()) for row in X]
    optimizers = [OPTIMIZERS[rule]([row], lr=0.1, weight_decay=decay) for row in rows]
    for k in range(50):
        gradients = G * (-1) ** k + 0.1 * k
        found.step(gradients).descend()
        found.t += 1
        for row, gradient, optimizer in zip(rows, gradients, optimizers, strict=True):
            row.grad = gradient.clone()
            optimizer.step()
    assert torch.allclose(found.X, torch.stack([row.data for row in rows]), rtol=0, atol=1e-11)


def test_a_rule_has_memory_and_options(own_entries):
    mass = number("share of the momentum kept", 0.9, below(0, 1))

    @local_rule("heavy", options={"mass": mass})
    def heavy(step):
        velocity = step.matrix("velocity")
        velocity.mul_(step.run.mass).add_(step.G)
        step.X.sub_(velocity, alpha=step.lr)

    assert LOCAL_RULES["heavy"].fields == ("mass",)
    assert DECLARED["mass"].owners == ("local_rule",)
    X, G = states()
    found, torchs = (
        Stepping("ngo", X, rule=rule, mass=0.5, momentum=0.5) for rule in ("heavy", "momentum")
    )
    for stepping in (found, torchs):
        for _ in range(4):
            stepping.step(G).descend()
    assert torch.equal(found.X, torchs.X)
    assert found.matrices.keys() == {"velocity"}
