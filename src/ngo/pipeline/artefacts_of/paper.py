"""The tables and figures of the paper, in its order, and of what it leaves open."""

from ngo.analysis.apart import CELL
from ngo.pipeline.artefacts import ARTEFACTS, BEYOND, CLAIMS, Artefact

VERDICTS = "Claims"
SETUP = "2 Problem setup"
METHOD = "3 Nonlinear gossiping"
COMPARISON = "5.1 Experimental setup"
NONLINEARITY = "5.2 Impact of nonlinearity"
RANDOM = "5.3 Random graph"
COMMUNICATION = "5.4 Communication and convergence"
SCALING = "5.5 Scaling to large number of workers"
STABILITY = "5.6 Synchronization rate and stability"
SUPPLEMENT = "Supplement"
ORIGINAL = "Supplement, original appendix"


def _figure(
    name: str,
    section: str,
    title: str,
    *,
    kind: str | None = None,
    apart: tuple[str, ...] | None = None,
    **more: object,
) -> None:
    """Add a figure of a measurement (``kind``), or else of the experiment of the same name."""
    metrics = {"metrics": f"{kind}_{name}" if kind else name, **more}
    ARTEFACTS.add(name, Artefact(title, section, metrics, figures=(name,), apart=apart))


def _table(
    name: str,
    section: str,
    title: str,
    reference: str,
    *,
    kind: str | None = None,
    apart: tuple[str, ...] = CELL,
    **more: object,
) -> None:
    """Add a table beside the paper's numbers in ``reference``."""
    metrics = {"metrics": f"{kind}_{name}" if kind else name, **more}
    ARTEFACTS.add(
        name,
        Artefact(title, section, metrics, tables=(name,), reference=reference, apart=apart),
    )


ARTEFACTS.add(
    CLAIMS,
    Artefact(
        "Every claim, with its verdict",
        VERDICTS,
        {},
        tables=(CLAIMS, f"{CLAIMS}_cells"),
        priced=True,
    ),
)
_figure(
    "fig1",
    SETUP,
    "Figure 1: gossip until V ≤ V_th on least squares",
    apart=("dataset", "method", "v_threshold"),
)
_figure(
    "fig2",
    SETUP,
    "Figure 2: alignment of the workers' gradients with the gradient at their mean, against V",
    kind="alignment",
    apart=("dataset", "method", "topology"),
)
_figure(
    "fig3",
    METHOD,
    "Figure 3: consensus with sublinear, linear and superlinear coupling",
    kind="consensus",
)
_figure(
    "theory",
    METHOD,
    "Theory: consensus times, delays and convergence against the paper's bounds",
    kind="theory",
)
_figure(
    "delay",
    METHOD,
    "Delay: accuracy and V of gossip and NGO with late messages",
    apart=("dataset", "partition", "topology", "p", "delay"),
)
_table(
    "table1",
    COMPARISON,
    "Table 1: test accuracy by topology and method",
    "table1_classification",
)
_figure(
    "fig4",
    NONLINEARITY,
    "Figure 4: accuracy and V against p, for several synchronization rates γ",
    apart=("method", "p", "gamma"),
)
_figure(
    "fig5",
    RANDOM,
    "Figure 5: accuracy and V on random graphs, beside the ring",
    apart=("method", "topology", "u"),
)
_figure(
    "fig6",
    COMMUNICATION,
    "Figure 6: consensus every 1, 2 and 5 steps, and accuracy at equal bytes",
    apart=("dataset", "partition", "method", "p", "gamma", "local_steps"),
)
_figure(
    "fig7",
    SCALING,
    "Figure 7: scaling, the same data for each worker",
    apart=("method", "workers"),
)
_figure(
    "fig8",
    STABILITY,
    "Figure 8: V against loss; stability against the synchronization rate γ",
    apart=("method", "topology", "gamma"),
    course="fig8_course",
)
_figure("figS1", SUPPLEMENT, "Figure S1: consensus with and without delay", kind="consensus")
_figure(
    "figS2",
    SUPPLEMENT,
    "Figure S2: samples per class and worker of each non-iid partition",
    kind="classes",
    apart=("dataset", "partition"),
)
_table(
    "tableS1",
    SUPPLEMENT,
    "Table S1: degree and spectral gap of the topologies",
    "tableS1_spectral_gap",
    kind="spectra",
)
_figure(
    "figS3",
    SUPPLEMENT,
    "Figure S3: scaling, the whole data set split evenly",
    apart=("method", "topology", "workers"),
)
_figure("figS4", SUPPLEMENT, "Figure S4: correlation of V and test accuracy", apart=CELL)
_figure(
    "figS5",
    SUPPLEMENT,
    "Figure S5: reconstructions by the consensus model, generations by each worker",
    kind="samples",
)
_table(
    "tableS2",
    SUPPLEMENT,
    "Table S2: negative ELBO of the variational autoencoder, with 2 codes and with 20",
    "tableS2_vae_elbo",
    codes="tableS2_codes",
)
_figure(
    "figS6",
    SUPPLEMENT,
    "Figure S6: a noisy sine learned by five workers",
    apart=("method",),
    samples="samples_figS6",
)
_table(
    "tableA1",
    ORIGINAL,
    "Table A1: fully connected networks, final accuracy and loss, and first hitting time",
    "tableA1_mnist_hitting_time",
)
_table("tableA2", ORIGINAL, "Table A2: convolutional networks, final loss", "tableA2_cifar10_loss")
_figure(
    "figA1",
    ORIGINAL,
    "Figure A1: generations on each worker after 2 and 200 iterations, non-iid",
    kind="samples",
)
_figure(
    "figA2",
    ORIGINAL,
    "Figure A2: steps to an early and to a late target by the number of workers",
    apart=("method", "workers"),
)
ARTEFACTS.add(
    "table1_tuned",
    Artefact(
        "Table 1 with each method at its own best p and γ",
        BEYOND,
        {"metrics": "table1_tuned"},
        tables=("table1_tuned", "table1_tuned_grid"),
        reference="table1_classification",
        apart=(*CELL, "p", "gamma"),
    ),
)
_figure(
    "throughput",
    BEYOND,
    "Throughput of the engine, and its speed-up, by the number of workers",
    kind="throughput",
)
