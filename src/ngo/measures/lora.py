"""The mean of low-rank updates: of their factors, as gossip takes it, and of their products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.common.lazy import Table, pd
from ngo.common.registry import UserError
from ngo.measures.measurement import kept, measurement
from ngo.models.model import MODELS

if TYPE_CHECKING:
    from ngo.engine.population import Population


@dataclass(frozen=True)
class LoraOptions:
    """``lora_table`` has no options."""


COLUMNS = (
    *("run", "train_samples", "step", "diverged"),
    *("mean_of", "loss", "accuracy", "product_distance"),
)


@measurement("lora", LoraOptions, on_models=True, columns=COLUMNS)
def lora_table(options: LoraOptions, models: Sequence[Path], data_root: Path) -> Table:
    r"""Compare the mean of LoRA's factors with the mean of their products.

    MODELS are files models.pt of runs of a model with LoRA, written by ngo train --snapshot.
    Workers average the factors B and A. The mean of the models that they stand for has the mean of
    BA instead, which no such factors need have (Sun et al. 2024, "Improving LoRA in
    privacy-preserving federated learning").

    The table has the fields of the run, and two rows for each snapshot: the loss and the accuracy
    on the test set of the model with mean(B)·mean(A), the consensus model (mean_of "factors"), and
    of the model with mean(B·A) (mean_of "products"). The product_distance is
    ‖mean(B·A) − mean(B)·mean(A)‖ / ‖mean(B·A)‖ over all layers: 0 if the workers agree.

    Train a small language model with LoRA and keep it, then measure it:
      ngo train --dataset markov_text --model gpt_char_lora --workers 4 \
        --epochs 0.02 --snapshot final --out kept/
      ngo lora kept/models.pt --out lora.parquet
    """
    from ngo.training.snapshots import restored

    rows = []
    for spec, snapshots, data, facts in kept(models, data_root):
        for step, snapshot in sorted(snapshots.items()):
            population = restored(spec, snapshot)
            tested = population.task.batch(data, data.test_inputs, data.test_targets)
            chunks = [tensor.split(MODELS[spec.model].chunk) for tensor in tested]
            facts |= {"step": step, "diverged": not bool(population.X.isfinite().all())}
            of_factors = population.evaluate(*chunks, workers=[])
            distance = merge_products(population)
            of_products = population.evaluate(*chunks, workers=[])
            for mean_of, scores in (("factors", of_factors), ("products", of_products)):
                values = {"mean_of": mean_of, "product_distance": distance}
                values |= {"loss": scores.consensus_loss, "accuracy": scores.consensus_accuracy}
                rows.append({**facts, **values})
    return pd.DataFrame(rows)


def merge_products(population: Population) -> float:
    """Add the mean of the workers' products to the frozen weights of all, and set the factors B to
    0; return the relative distance of that mean to the product of the factors' means.

    The distance is 0 where all products are 0. A UserError for a model without LoRA.
    """
    from ngo.models.transformer import SCALE, LoRALinear

    parameters, _, buffers, _ = population.stacked()
    layers = population.models()[0].named_modules()
    names = [name for name, layer in layers if isinstance(layer, LoRALinear)]
    if not names:
        raise UserError("models: this model has no LoRA; use those of a model like gpt_char_lora.")
    apart = length = 0.0
    for name in names:
        A, B = (parameters[f"{name}.{factor}"] for factor in "AB")
        mean = (B.double() @ A.double()).mean(0)
        apart += float((mean - B.double().mean(0) @ A.double().mean(0)).square().sum())
        length += float(mean.square().sum())
        buffers[f"{name}.weight"] += SCALE * mean
        B.zero_()
    return (apart / length) ** 0.5 if length else 0.0
