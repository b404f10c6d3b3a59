import pytest
import torch
from stepping import Stepping, ring_matrix, states

from ngo.common.fields import Field, below
from ngo.common.registry import UserError
from ngo.common.settings import DECLARED, Setting
from ngo.gossip.local_rule import LOCAL_RULES, local_rule


def test_definitions_name_the_functions():
    names = ("sgd", "momentum", "adam")
    definitions = {name: f"ngo.gossip.local_rules.{name}:{name}" for name in names}
    assert dict(LOCAL_RULES.definitions) == definitions
    with pytest.raises(UserError, match=r"local_rule: 'sdg' is unknown.*Did you mean 'sgd'"):
        LOCAL_RULES["sdg"]


def test_a_rule_has_memory_and_settings_of_its_own(own_entries):
    mass = Setting(Field(float, "share of the momentum kept", **below(0, 1)), 0.9)

    @local_rule("heavy", settings={"mass": mass})
    def heavy(step):
        velocity = step.matrix("velocity")
        velocity.mul_(step.run.mass).add_(step.G)
        step.X.sub_(velocity, alpha=step.lr)

    assert LOCAL_RULES["heavy"].fields == ("mass",)
    assert DECLARED["mass"].field.owners == ("local_rule",)
    X, G = states()
    found = Stepping("ngo", X, ring_matrix(), rule="heavy", mass=0.5, gamma=1e-30)
    rows = [torch.nn.Parameter(row.clone()) for row in X]
    optimizer = torch.optim.SGD(rows, lr=0.1, momentum=0.5)
    for _ in range(4):
        found.advance(G)
        for row, gradient in zip(rows, G, strict=True):
            row.grad = gradient
        optimizer.step()
    assert torch.allclose(found.X, torch.stack([row.data for row in rows]))
