"""Draw docs/images/consensus.gif, the moving picture of README.md: gossip and NGO, no learning."""

import torch
from matplotlib.animation import FuncAnimation, PillowWriter

from ngo import plots
from ngo.gossip.consensus_dynamics import simulate
from ngo.gossip.topology import TOPOLOGIES
from ngo.pipeline.paths import REPOSITORY
from ngo.plots.style import COLOURS

WORKERS, ROUNDS, EACH = 10, 400, 8


def main() -> None:
    """Draw the states of ten workers on a ring, which start apart, for three seconds."""
    order = torch.randperm(WORKERS, generator=torch.Generator().manual_seed(0))
    start = torch.linspace(-2, 2, WORKERS, dtype=torch.float64)[order, None]
    ring, drawn, figure = TOPOLOGIES["ring"].matrix(WORKERS), [], plots.new_figure(2.6)
    for k, (p, name) in enumerate({1.0: "gossip", 0.6: "NGO"}.items()):
        axes = figure.add_subplot(1, 2, k + 1)
        run = simulate(start, ring, p=p, gamma=0.02, rounds=ROUNDS)
        axes.set(title=f"{name}, p = {p:g}", xlabel="round", xlim=(0, ROUNDS))
        axes.set_ylabel("states of the workers")
        lines = axes.plot(run.states[:, :, 0], color=COLOURS[k], linewidth=1.2)
        drawn.append((run, lines, axes.text(0.97, 0.93, "", transform=axes.transAxes, ha="right")))

    def frame(k: int) -> None:
        last = min(ROUNDS, EACH * k)
        for run, lines, told in drawn:
            for i, line in enumerate(lines):
                line.set_data(range(last + 1), run.states[: last + 1, i, 0])
            told.set_text(f"V = {run.V[last]:.1g}")

    made = FuncAnimation(figure, frame, frames=ROUNDS // EACH + 12)
    made.save(REPOSITORY / "docs/images/consensus.gif", PillowWriter(fps=20), dpi=110)


if __name__ == "__main__":
    main()
