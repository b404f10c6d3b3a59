"""The table and figure of the calibration (``config/calibration.yaml``)."""

from ngo.pipeline.artefacts import ARTEFACTS, BEYOND, Artefact

TRIALS = ("mnist", "mnist_confirm", "cifar10", "cifar10_confirm", "cifar10_centralized")

ARTEFACTS.add(
    "calibration",
    Artefact(
        "Calibration: the values that the paper does not state, by trial",
        BEYOND,
        {name: f"calibration_{name}" for name in TRIALS},
        figures=("calibration",),
        tables=("calibration", "calibration_cells"),
        reference="table1_classification",
    ),
)
