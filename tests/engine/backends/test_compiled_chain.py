import pytest
import torch
from conftest import apart, batch

from ngo.common.registry import UserError
from ngo.engine.population import Population
from ngo.native import build

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


@pytest.mark.parametrize("model", ["mnist_cnn", "mnist_vae"])
def test_steps_are_those_of_the_loop(model):
    """With the dropout masks or the noise of each worker's stream, which end in the same state."""
    ours, theirs = apart(model, 3, "compiled"), apart(model, 3, "loop")
    for step, b in enumerate((4, 9, 4)):
        ours.X.copy_(theirs.X)
        given = batch(model, 3, b=b, seed=step)
        assert torch.allclose(ours.gradients(given), theirs.gradients(given), rtol=1e-5)
        assert (ours.G - theirs.G).norm() < 1e-5 * theirs.G.norm()
        theirs.X.sub_(theirs.G, alpha=0.01)
    for mine, other in zip(ours.generators, theirs.generators, strict=True):
        assert torch.equal(mine.get_state(), other.get_state())


def test_other_models_are_refused():
    with pytest.raises(UserError, match="backend: 'compiled' takes chains of known layers"):
        Population("cifar10_vae", 2, seed=0, backend="compiled")
