"""Trackio: each evaluation of a run, in a local dashboard (pip install trackio).

ngo.fit(…, on_evaluation=trackio_logger("gossip", method="ngo")); trackio.finish()
"""

import trackio


def trackio_logger(project, **config):
    """Log to a new run of ``project``."""
    trackio.init(project=project, config=config)

    def log(state):
        trackio.log(dict(state.metrics), step=state.step)

    return log
