import math

import numpy as np
import pandas as pd
import pytest

from ngo.analysis.quantities.models import (
    alignment_rank,
    alignment_slope,
    change_with_scale,
    log_image_variance_ratio,
)
from ngo.common.registry import UserError

COSINES = {0: 1.0, 1: 0.9, 10: 0.7}
ACCURACIES = {0: 90.0, 1: 80.0, 10: 20.0}


def alignment(*, diverged=()):
    """V is 100 times the squared scale; two workers around the mean cosine, and their mean."""
    return pd.DataFrame(
        {"seed": seed, "scale": float(scale), "worker": worker, "V": 100.0 * scale**2,
         "cosine": cosine + 0.1 * (worker - 0.5), "accuracy": ACCURACIES[scale] - seed,
         "diverged": seed in diverged}
        for seed in (0, 1) for scale, cosine in COSINES.items() for worker in (-1, 0, 1)
    )  # fmt: skip


def test_the_slope_of_the_mean_cosine_on_log_V():
    # From V = 100 to 10,000, two factors of ten, the cosine falls by 0.2.
    assert alignment_slope(alignment()).to_dict() == pytest.approx({0: -0.1, 1: -0.1})


def test_the_rank_correlation_of_cosine_and_V():
    assert alignment_rank(alignment()).to_dict() == pytest.approx({0: -1, 1: -1})


def test_a_change_from_one_scale_to_another():
    found = change_with_scale(alignment(), "accuracy", of=1, minus=0)
    assert found.to_dict() == {0: -10, 1: -10}
    with pytest.raises(UserError, match="scale: 3 was not measured; allowed: 0, 1, 10"):
        change_with_scale(alignment(), "accuracy", of=3, minus=0)
    with pytest.raises(UserError, match="column: 'loss' was not measured"):
        change_with_scale(alignment(), "loss", of=1, minus=0)


def test_a_diverged_run_has_no_alignment():
    found = alignment_slope(alignment(diverged=(1,)))
    assert found[0] == pytest.approx(-0.1)
    assert math.isnan(found[1])


def images(spread, *, diverged=False):
    """Two images of two pixels of three workers at two steps; ``spread`` at each step."""
    rows = []
    for step, apart in spread.items():
        for worker in (-1, 0, 1, 2):
            for image in (0, 1):
                for column in (0, 1):
                    value = 100 + image + (0 if worker < 0 else apart * (worker - 1))
                    rows.append(
                        {"seed": 0, "step": step, "kind": "generation", "worker": worker,
                         "image": image, "channel": 0, "row": 0, "column": column,
                         "value": value, "diverged": diverged and step == 200}
                    )  # fmt: skip
    return pd.DataFrame(rows)


def test_the_variance_between_workers_images():
    found = log_image_variance_ratio(images({2: 10, 200: 5}), of=200, to=2)
    assert found[0] == pytest.approx(np.log(0.25))
    assert log_image_variance_ratio(images({2: 10, 200: 0}), of=200, to=2)[0] == -math.inf
    lost = images({2: 10, 200: 0}, diverged=True)
    assert log_image_variance_ratio(lost, of=200, to=2)[0] == math.inf
    with pytest.raises(UserError, match="step: 7 has no images; allowed: 2, 200"):
        log_image_variance_ratio(images({2: 10, 200: 5}), of=7, to=2)


def test_as_a_share_of_all_variance_contrast_does_not_count():
    early, late = images({2: 10}), images({200: 10})
    for table, contrast in ((early, 1), (late, 3)):
        table["value"] = 100 + contrast * (table["value"] - 100)
    pair = pd.concat([early, late])
    assert log_image_variance_ratio(pair, of=200, to=2)[0] == pytest.approx(np.log(9))
    assert log_image_variance_ratio(pair, of=200, to=2, share=True)[0] == pytest.approx(0)
    late["value"] += 50 * late["image"]  # the codes' images differ, those of workers do not
    assert log_image_variance_ratio(pd.concat([early, late]), of=200, to=2, share=True)[0] < -0.5
