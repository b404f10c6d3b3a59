"""Config files: read, checked, and explained in one line where they are wrong."""

import pytest
from cases import cases, refused
from conftest import REPOSITORY
from shipped_plans import changed, config_of, of_a_tier, plan_of

from ngo.pipeline.config import read_config
from verdicts.registry import UserError

MEMORY = {"mem_mb": 1, "runtime": 1, "mem_mb_of": {"mnst": 2}}


def test_overlays_come_after_a_base_merge_mappings_and_replace_lists(tmp_path):
    (tmp_path / "a.yaml").write_text("x: {y: 1, z: [1, 2]}\nw: 3\n")
    (tmp_path / "b.yaml").write_text("x: {z: [9]}\n")
    config = read_config([tmp_path / "a.yaml", tmp_path / "b.yaml"])
    assert config == {"x": {"y": 1, "z": [9]}, "w": 3}
    base, overlay = (REPOSITORY / "config" / name for name in ("config.yaml", "demo.yaml"))
    assert read_config([base, overlay])["tier"] == "demo"
    refused("config.yaml' is a base; name it before its overlays", read_config, [overlay, base])


@cases(
    "path, value, message",
    ("seeds", 0, "^seeds: 0 is not allowed; it must be a list of seeds, or their number.$"),
    ("seeds", [True], r"^seeds\[0\]: True is not allowed; it must be a whole number, 0 or mor"),
    ("tier", "x\n", r"^tier: 'x\\n' is not allowed; it must be a name of a-z, 0-9, _ and -.$"),
    ("defaults", [], r"^defaults: \[\] is not allowed; it must be a mapping of keys to values"),
    ("training.fig2.snapshots", ["last"], r"snapshots\[0\]: 'last' .* 0 or more, or 'final'.$"),
    ("training", {"a b": {}}, "^training: the name 'a b' .* must be of letters, digits and _"),
    ("device", "DELETE", "'device' is missing. An overlay goes after its base, config/config."),
    ("artefacts.fig3.consensus_share", 2, "consensus_share: 2 .* above 0 and at most 1.$"),
    ("device", "gpu", "^device: 'gpu' is unknown; allowed: auto, cpu, cuda. .* 'cuda'?"),
    ("tier", "runs", "tier: 'runs' is a folder of results/ that all tiers share"),
    ("sede", [0], "config: 'sede' is unknown; allowed: .*Did you mean 'seeds'"),
    ("settings.digits_iid.learning_rate", 0.1, "^settings.digits_iid: 'learning_rate' is unkn"),
    ("resources.train", MEMORY, "resources.train.mem_mb_of: 'mnst' is unknown.*'mnist'"),
    ("seeds", [0, 1, 0], r"seeds: \[0, 1, 0\] repeats 0"),
    ("seeds", [], "seeds: .* is not allowed"),
    ("seeds", [-1], r"seeds\[0\]: -1 is not allowed; it must be a whole number, 0 or more"),
    ("seeds", "01", "seeds: '01' is not allowed; .* It was read as text: write 1[.]$"),
    ("defaults.seed", "3", "defaults: seed: '3' is not a number; .* write 3[.]$"),
    ("defaults.p", 1.5, "defaults: p: 1.5 is out of range; it must be a number, 0.5 to 1"),
    ("training.table1.compare.1.method", ["gosip"], r"compare\[1\]: method: 'gosip'"),
    ("training.table1.compare.1.p", 0.9, r"p: 0.9 has no effect with method 'gossip'"),
    ("consensus.fig3.p", [0], r"consensus.fig3.p\[0\]: 0 is out of range; .* above 0, at most"),
    ("training.fig2.snapshots", "DELETE", "alignment.fig2: it needs training.fig2, with snaps"),
    ("throughput.throughput.method", ["gosip"], r"throughput.throughput.method\[0\]: 'gosip'"),
    ("training.figA1.snapshots", [2, 5000], "5000 is not allowed; .* 54 or less, or 'fin"),
    ("training.fig4.compare.1.p", [], r"training.fig4.compare\[1\].p: \[\] is empty"),
    ("tier", 10**5000, r"^tier: this int is too large; whole numbers are below 2\^63\.$"),
    ("training", {10**5000: 1}, "^training: this int is too large"),
    ("only", [[]], r"^only: \[\] is unknown; allowed: "),
    ("plugins", ["x" * 5000 + ".py"], "^plugins: 'xxx.*… does not exist"),
    ("settings", {"a\nb": {}}, r"^settings: the name 'a\\nb' is not allowed; it must be of"),
    ("claims", "a\0b", r"^claims: 'a\\x00b' is not allowed; it must be a path"),
    ("training.fig2", {"x" * 5000: 1}, "^training.fig2: 'xxx.*… is unknown; allowed: sett"),
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "value",
)
def test_a_mistake_is_one_printable_line_with_key_value_and_what_is_allowed(path, value, message):
    with pytest.raises(UserError, match=message) as told:
        plan_of(changed(path, value))
    assert str(told.value).isprintable()
    assert len(str(told.value)) < 1500  # the names of all fields, and a value cut short


@pytest.mark.parametrize("name", ["fig2", "fig4"])
def test_runs_that_an_artefact_would_take_for_seeds_are_refused(name):
    """Two runs of one experiment that differ in what its table or figure does not show."""
    config = config_of()
    entry = config["training"][name]
    entry["compare"] = [*entry["compare"], {**entry["compare"][0], "lr": 0.123}]
    apart = ", ".join(of_a_tier()[name].apart)
    message = rf"^training\.{name}: runs are distinguished here by {apart} and seed alone, but .* "
    message += r"(\S+)-[0-9a-f]{8}, \1-[0-9a-f]{8}; put runs that differ in .* experiment\.$"
    refused(message, plan_of, config)


def test_an_experiment_that_is_left_out_takes_along_what_is_made_from_it():
    plan = plan_of(changed("training.fig2", None))
    assert of_a_tier().keys() - set(plan.artefacts) == {"fig2"}
    assert "fig2" not in plan.training | plan.measures["alignment"]
    plan = plan_of(changed("partitions.figS2", None))
    assert of_a_tier().keys() - set(plan.artefacts) == {"figS2"}
    plan = plan_of(changed("theory.theory", None))
    assert of_a_tier().keys() - set(plan.artefacts) == {"theory"}
    assert "theory_theory" not in plan.tables("claims")


def test_only_names_the_experiments_of_a_tier():
    plan = plan_of({**config_of("demo"), "only": ["table1", "tableS1", "figS2"]})
    assert set(plan.training) == {"table1"}
    assert set(plan.partitions) == {"figS2"}
    assert {kind for kind, entries in plan.measures.items() if entries} == {"spectra"}
    assert set(plan.artefacts) == {"claims", "table1", "tableS1", "figS2"}
    with pytest.raises(UserError, match="only: 'tabel1' is unknown; .*Did you mean 'table1'"):
        plan_of({**config_of("demo"), "only": ["tabel1"]})
