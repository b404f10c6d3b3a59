"""The experiment: what one run does, and the command that writes its rows."""

import json
import sys
from datetime import UTC, datetime

import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

MODELS = {
    "forest": RandomForestClassifier(random_state=0),
    "logistic": LogisticRegression(max_iter=1000),
    "neighbours": KNeighborsClassifier(),
}


def run(seed: int, model: str, **options: float) -> list[dict[str, float]]:
    """Train a model on 100, 300 and 900 images of digits: a row for each, with the accuracy in
    percent on 500 others. Models with the same seed see the same images.
    """
    images, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(
        images / 16, labels, test_size=500, stratify=labels, random_state=seed
    )
    rows = []
    for size in (100, 300, 900):
        fitted = clone(MODELS[model]).set_params(**options).fit(x[:size], y[:size])
        rows.append({"step": size, "accuracy": 100 * fitted.score(x_test, y_test)})
    return rows


if __name__ == "__main__":  # experiment.py SEED SETTING OUT, where the setting is JSON
    seed, setting, out = sys.argv[1:]
    started = datetime.now(UTC).isoformat(timespec="seconds")
    rows = pd.DataFrame(run(int(seed), **json.loads(setting))).assign(started=started)
    rows.to_csv(out, index=False)
