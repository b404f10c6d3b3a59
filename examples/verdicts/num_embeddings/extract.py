"""python extract.py CHECKOUT: write scores.csv, from yandex-research/rtdl-num-embeddings."""

import json
import sys
from pathlib import Path

import pandas as pd

METHODS = {
    "mlp": "MLP", "mlp-plr": "MLP-PLR", "resnet": "ResNet", "resnet-plr": "ResNet-PLR",
    "transformer-l": "Transformer-L",
}  # fmt: skip
rows = []
for folder, method in METHODS.items():
    for path in Path(sys.argv[1]).glob(f"exp/{folder}/*/0_evaluation/*/report.json"):
        data, seed = path.parts[-4], int(path.parts[-2])
        test = json.loads(path.read_text())["metrics"]["test"]
        # The score is an accuracy, or a root mean square error with a minus sign.
        error = 1 - test["score"] if test["score"] > 0 else -test["score"]
        rows.append({"data": data, "method": method, "seed": seed, "error": float(f"{error:.6g}")})
table = pd.DataFrame(rows).sort_values(["data", "method", "seed"])
table.to_csv(Path(__file__).with_name("scores.csv"), index=False)
