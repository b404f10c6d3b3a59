"""MLflow: each evaluation of a run as metrics (pip install mlflow).

with mlflow.start_run():
    ngo.fit(…, on_evaluation=mlflow_logger(method="ngo", p=0.95))
"""

import math

import mlflow


def mlflow_logger(**parameters):
    """Log to the active run; ``parameters`` describe it."""
    mlflow.log_params(parameters)

    def log(state):
        finite = {name: v for name, v in state.metrics.items() if math.isfinite(v)}
        mlflow.log_metrics({name: float(v) for name, v in finite.items()}, step=state.step)

    return log
