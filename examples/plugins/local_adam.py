"""Adam on each worker, with a cosine schedule of the learning rate."""

import math

import ngo

DECAY = {
    "beta1": ngo.number("decay of Adam's first moment", 0.9, ngo.below(0, 1)),
    "beta2": ngo.number("decay of Adam's second moment", 0.999, ngo.below(0, 1)),
}


@ngo.local_rule("adam_cosine", options=DECAY)
def adam_cosine(step):
    """Kingma and Ba (2015); η falls from ``lr`` to 0 along half a cosine."""
    m, v = step.matrix("m"), step.matrix("v")
    beta1, beta2, k = step.run.beta1, step.run.beta2, step.t + 1
    m.lerp_(step.G, 1 - beta1)
    v.lerp_(step.G.square(), 1 - beta2)
    lr = step.lr * (1 + math.cos(math.pi * step.t / step.steps)) / 2
    step.X.addcdiv_(m / (1 - beta1**k), (v / (1 - beta2**k)).sqrt().add_(1e-8), value=-lr)
