"""config/scale.yaml: Figure 7's experiment with up to 1,024 workers."""

from conftest import REPOSITORY

from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan as plan_of
from ngo.training.evaluation import evaluated_workers

FILES = ("config", "scale")


def test_it_plans_figure_7_alone_with_1024_workers_on_all_images():
    plan = plan_of(read_config(REPOSITORY / "config" / f"{name}.yaml" for name in FILES))
    assert set(plan.training) == {"fig7"}
    assert set(plan.artefacts) == {"fig7", "claims"}
    runs = plan.training["fig7"]
    assert {(spec.method, spec.workers) for spec in runs} == {
        (method, n) for method in ("centralized", "gossip", "ngo") for n in (64, 256, 1024)
    }
    assert {spec.owned / spec.workers for spec in runs} == {58}
    assert {len(evaluated_workers(spec)) for spec in runs} == {64}
