"""TensorBoard: each evaluation of a run as scalars (pip install tensorboard, or tensorboardX).

ngo.fit(…, on_evaluation=tensorboard("runs/ring")), then: tensorboard --logdir runs
"""

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:  # a smaller package that writes the same files
    from tensorboardX import SummaryWriter


def tensorboard(folder):
    """Write an event file into ``folder``."""
    writer = SummaryWriter(str(folder))

    def log(state):
        for name, value in state.metrics.items():
            writer.add_scalar(name, value, state.step)
        writer.flush()

    return log
