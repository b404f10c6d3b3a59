"""A linear support vector machine: the hinge loss as a task, with a model for it."""

import ngo


def correct(outputs, targets):
    """Whether the largest output is that of the target class."""
    return outputs.argmax(1) == targets


@ngo.task("hinge", score=correct)
def hinge(outputs, targets):
    """Σ_k max(0, 1 + s_k − s_y) over the other classes k, for outputs s (Weston and Watkins)."""
    own = outputs.gather(1, targets[:, None])
    return (1 + outputs - own).clamp(min=0).sum(1) - 1


@ngo.model("linear_svm", input_shape=(4,), task="hinge")
def linear_svm(generator):
    """4 → 3."""
    from torch import nn

    return nn.Linear(4, 3)
