"""Weights & Biases: each evaluation of a run, and the loss of each step (pip install wandb).

with wandb.init(project="gossip", config={"method": "ngo"}) as run:
    ngo.fit(…, on_evaluation=wandb_logger(run), on_step=wandb_logger(run))
"""


def wandb_logger(run):
    """Log to ``run``, what wandb.init returned."""

    def log(state):
        row = state.metrics or {"step_loss": state.train_loss}
        run.log({"step": state.step, **row})

    return log
