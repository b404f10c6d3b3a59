"""Data as users have it: a folder of images, a file of arrays."""

import numpy as np
from PIL import Image


def image_folder(root, part="test"):
    """A folder ``birds`` below ``root``: grey and coloured images of two classes."""
    rng = np.random.default_rng(0)
    for folder, count in (("train", 3), (part, 1)):
        for name in ("wren", "robin"):
            (root / "birds" / folder / name).mkdir(parents=True)
            for k in range(count):
                pixels = rng.integers(0, 256, (9, 12, 3) if k else (10, 8), dtype=np.uint8)
                path = root / "birds" / folder / name / f"{k}.{'png' if k else 'JPG'}"
                Image.fromarray(pixels).save(path, format="PNG" if k else "JPEG")
    (root / "birds/train/wren/notes.txt").write_text("no image")
    return root / "birds"


def array_file(root, **more):
    """A file ``marks.npz`` below ``root``: grey images of 28 × 28 pixels of three classes."""
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.integers(0, 256, (60, 28, 28), dtype=np.uint8),
        "y_train": np.arange(60) % 3,
        "x_test": rng.integers(0, 256, (9, 28, 28), dtype=np.uint8),
        "y_test": np.arange(9) % 3,
        "owner_train": np.array(["eve", "adam", "bob", "kim"])[np.arange(60) // 15],
    }
    np.savez(root / "marks.npz", **{**arrays, **more})
    return arrays
