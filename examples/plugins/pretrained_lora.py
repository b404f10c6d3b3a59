"""A model: LoRA on the mean model of an earlier run, read from the file ``base/models.pt``.

ngo train --snapshot final --out base --model gpt_char_small … writes the file.
"""

import ngo


@ngo.model("pretrained_lora", input_shape=(32,), task="next_character")
def pretrained_lora(generator):
    """The trained weights are frozen, and the factors of LoRA, of rank 4, are trained."""
    from ngo.models.transformer import with_lora
    from ngo.training.snapshots import load_snapshots, module

    run, snapshots = load_snapshots("base/models.pt")
    return with_lora(module(run, snapshots[max(snapshots)]), rank=4)
