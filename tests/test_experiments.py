import copy
import math
import re
import shutil
from functools import cache
from pathlib import Path

import pytest
import yaml
from conftest import CONFIGS, REPOSITORY

from ngo import experiments
from ngo.artefacts import ARTEFACTS
from ngo.registry import UserError
from ngo.spec import FIELDS

SCHEMA = REPOSITORY / experiments.SCHEMA
TIERS = {"paper": [], "laptop": ["laptop.yaml"], "demo": ["demo.yaml"]}


SINE_SHARDS = {
    **{"dataset": "sine", "model": "toy_net", "task": "regression", "workers": 5},
    **{"partition": "shards", "shards": 40, "shards_per_worker": 4},
}


@cache
def read(tier):
    names = ["config.yaml", *TIERS[tier]]
    return experiments.read_config(REPOSITORY / "config" / name for name in names)


def config_of(tier="demo"):
    return copy.deepcopy(read(tier))


def plan_of(config):
    return experiments.plan(config, SCHEMA)


def changed(path, value):
    """The demo's config with one value at a dotted path; ``DELETE`` removes the key."""
    config = config_of()
    *parents, last = path.split(".")
    place = config
    for key in parents:
        place = place[int(key)] if isinstance(place, list) else place[key]
    if value == "DELETE":
        del place[last]
    else:
        place[last] = value
    return config


@pytest.mark.parametrize("tier", TIERS)
def test_table1_has_every_cell_of_the_paper_for_each_seed(tier):
    config = config_of(tier)
    plan = plan_of(config)
    assert plan.tier == tier
    runs = plan.training["table1"]
    seeds = set(config["seeds"])
    cells = {(r.dataset, r.partition == "iid", r.topology, r.protocol, r.seed) for r in runs}
    data = {
        "paper": ["mnist", "cifar10", "tinyimagenet"],
        "laptop": ["mnist"],
        "demo": ["digits"],
    }
    protocols = [(None, "centralized")] + [
        (topology, protocol)
        for topology in ("ring", "random", "complete")
        for protocol in ("gossip", "ngo")
    ]
    assert cells == {
        (d, iid, t, q, s)
        for d in data[tier]
        for iid in (True, False)
        for t, q in protocols
        for s in seeds
    }
    assert len(runs) == len(cells) == len({r.id for r in runs})


@pytest.mark.parametrize("tier", TIERS)
def test_every_artefact_has_its_data(tier):
    plan = plan_of(config_of(tier))
    for name, entry in ARTEFACTS.items():
        for table in entry.metrics.values():
            kind, _, of = table.partition("_")
            planned = {**plan.measures, "classes": plan.partitions}
            assert table in plan.training or of in planned[kind], (name, table)


def test_the_papers_partitions():
    """Supplement C.1: 300 shards, 2 a worker; 40 and 4; Dirichlet 0.5."""
    plan = plan_of(config_of("paper"))
    runs = {(r.dataset, r.partition): r for r in plan.training["table1"]}
    mnist, cifar = runs["mnist", "shards"], runs["cifar10", "shards"]
    assert (mnist.shards, mnist.shards_per_worker) == (300, 2)
    assert (cifar.shards, cifar.shards_per_worker) == (40, 4)
    assert runs["tinyimagenet", "dirichlet"].beta == 0.5
    assert {r.workers for r in plan.training["fig7"]} == {4, 16, 36, 64}
    assert len({r.samples // r.workers for r in plan.training["fig7"]}) == 1
    assert len({r.samples for r in plan.training["figS3"]}) == 1


@pytest.mark.parametrize("tier", TIERS)
def test_runs_of_a_seed_share_their_partition(tier):
    """What differs in the protocol alone has the same data on each worker."""
    shared = {}
    for spec in plan_of(config_of(tier)).runs.values():
        key = tuple(spec.partition_fields.items())
        shared.setdefault(key, set()).add(spec.partition_id)
    assert all(len(ids) == 1 for ids in shared.values())
    table1 = plan_of(config_of(tier)).training["table1"]
    tasks = {(spec.dataset, spec.partition, spec.seed) for spec in table1}
    assert len({spec.partition_id for spec in table1}) == len(tasks)


def test_a_run_in_two_experiments_exists_once():
    config = config_of()
    before = plan_of(config).runs
    config["training"]["again"] = {
        "settings": ["digits_iid"],
        "compare": [{"protocol": "ngo", "p": [0.8, 0.9]}],
    }
    plan = plan_of(config)
    assert len(plan.runs) == len(before) + 2  # p = 0.8, two seeds
    assert len(plan.training["again"]) == 4


def test_models_are_kept_where_an_experiment_asks_for_them():
    config = config_of()
    plan = plan_of(config)
    (figA1,) = plan.training["figA1"]
    assert plan.snapshots[figA1.id] == [2, 200]
    config["training"]["again"] = {**config["training"]["figA1"], "snapshots": ["final", 3, 2]}
    assert plan_of(config).snapshots[figA1.id] == [2, 3, 200, "final"]
    assert not any(run in plan.snapshots for run in (r.id for r in plan.training["table1_tuned"]))


def test_lists_are_crossed_and_a_seed_list_is_an_experiments_own():
    config = config_of()
    config["training"] |= {
        "sweep": {
            "settings": ["digits_iid"],
            "seeds": [7],
            "compare": [{"protocol": "ngo", "p": [0.5, 0.75], "gamma": [0.1, 0.2, 0.3]}],
        }
    }
    runs = plan_of(config).training["sweep"]
    assert {(r.p, r.gamma, r.seed) for r in runs} == {
        (p, gamma, 7) for p in (0.5, 0.75) for gamma in (0.1, 0.2, 0.3)
    }


def test_overlays_merge_mappings_and_replace_lists(tmp_path):
    (tmp_path / "a.yaml").write_text("x: {y: 1, z: [1, 2]}\nw: 3\n")
    (tmp_path / "b.yaml").write_text("x: {z: [9]}\n")
    config = experiments.read_config([tmp_path / "a.yaml", tmp_path / "b.yaml"])
    assert config == {"x": {"y": 1, "z": [9]}, "w": 3}


def test_the_schema_knows_the_fields_of_a_run():
    schema = yaml.safe_load(SCHEMA.read_text())
    assert list(schema["$defs"]["run"]["properties"]) == list(FIELDS)


def test_every_key_is_explained():
    text = (REPOSITORY / "config/README.md").read_text()
    schema = yaml.safe_load(SCHEMA.read_text())
    sections = {"settings", "training", "partitions", "artefacts", *experiments.MEASURES}
    for key in schema["properties"]:
        name = f"{key}.NAME" if key in sections else f"{key}.root" if key == "data" else key
        assert f"`{name}`" in text
    for name, field in FIELDS.items():
        assert f"`{name}`" in text
        for known in field.names or ():
            assert f"`{known}`" in text


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("sede", [0], "config: 'sede' is unknown; allowed: .*Did you mean 'seeds'"),
        ("training.table1.compar", [], "training.table1: 'compar' is unknown.*'compare'"),
        ("settings.digits_iid.learning_rate", 0.1, "settings.digits_iid: 'learning_rate'"),
        ("settings.digits_iid.batchsize", 4, "Did you mean 'batch_size'"),
        ("tier", "DELETE", "config: 'tier' is missing"),
        ("device", "gpu", "device: 'gpu' is unknown; allowed: auto, cpu, cuda"),
        (
            "threads",
            0,
            "threads: 0 is not allowed; it must be a whole number, 1 or more, 1024 or less",
        ),
        ("runs_per_gpu", 0, "runs_per_gpu: 0 is not allowed; it must be a whole number, 1 or more"),
        ("seeds", [0, 1, 0], r"seeds: \[0, 1, 0\] repeats 0"),
        ("seeds", [], "seeds: .* is not allowed"),
        ("seeds", ["a"], r"seeds\[0\]: 'a' is not allowed; it must be a whole number, 0 or more"),
        ("seeds", [-1], r"seeds\[0\]: -1 is not allowed; it must be a whole number, 0 or more"),
        ("defaults.topology", "rin", "defaults: topology: 'rin'.*Did you mean 'ring'"),
        ("defaults.gamma", "1e-3", "defaults: gamma: '1e-3' is not a number.*write 0.001"),
        ("defaults.lr", float("nan"), "defaults: lr: nan is not finite"),
        ("defaults.p", 1.5, "defaults: p: 1.5 is out of range; it must be a number, 0.5 to 1"),
        ("settings.digits_iid.dataset", "digit", "settings.digits_iid: dataset: 'digit'"),
        ("settings.digits_noniid.partition", "shard", "partition: 'shard'.*'shards'"),
        ("settings.digits_noniid.shards", 15, "20 shards, but there are 15; at most 1 each"),
        ("settings.digits_noniid.batch_size", 500, "batch_size: 500 is larger than .* 70 samples"),
        ("settings.digits_iid.workers", 1438, "workers: 1438 is more than digits's 1437 samples"),
        ("training.table1.settings", ["mnist"], r"training.table1.settings: 'mnist' is unknown"),
        ("training.table1.compare.1.protocol", ["gosip"], r"compare\[1\]: protocol: 'gosip'"),
        ("training.table1.compare.1.p", 0.9, r"p: 0.9 has no effect with protocol 'gossip'"),
        ("training.table1.compare.1.u", 0.4, r"u: 0.4 has no effect with topology 'ring'"),
        (
            "settings.digits_noniid.shards",
            "DELETE",
            "shards has no value; it must be a whole number, 1 or more",
        ),
        (
            "defaults.lr",
            "DELETE",
            "lr has no value; it must be a number, above 0",
        ),
        ("settings.digits_iid.workers", 1, "workers: 1 is too few for protocol 'gossip'"),
        (
            "consensus.fig3.p",
            [0],
            r"consensus.fig3.p\[0\]: 0 is out of range; .* above 0, at most 10",
        ),
        ("consensus.fig3.gamma", "1e-3", "consensus.fig3.gamma: '1e-3'.*write 0.001"),
        ("consensus.fig3.topology", "star", "consensus.fig3.topology: 'star' is unknown"),
        (
            "spectra.tableS1.u",
            0,
            "spectra.tableS1.u: 0 is out of range; it must be a number, above 0, at most 1",
        ),
        ("spectra.tableS1.topology", ["ring", "hub"], r"spectra.tableS1.topology\[1\]: 'hub'"),
        ("training.fig2.snapshots", "DELETE", "alignment.fig2: training.fig2 must be there"),
        ("training.fig2.snapshots", ["last"], r"training.fig2.snapshots\[0\]: 'last' is not"),
        ("settings.digits_equal.samples_per_worker", 800, "3200, more than digits's 1437 samples"),
        (
            "settings.sine",
            SINE_SHARDS,
            "partition: 'shards' needs classes",
        ),
        ("settings.digits_vae_iid.task", "classification", "model: 'mnist_vae' serves task 'vae'"),
        (
            "throughput.figA2.protocol",
            ["gosip"],
            r"throughput.figA2.protocol\[0\]: 'gosip' is unknown",
        ),
        ("throughput.figA2.setting", "digits", "throughput.figA2.settings: 'digits' is unknown"),
        ("partitions.figS2.settings", ["digits"], "partitions.figS2.settings: 'digits'.*digits_"),
        (
            "training.figA1.snapshots",
            [2, 5000],
            r"training.figA1.snapshots: step 5000 is after the last step of digits-shards-ring-ngo-"
            r"\S+, 202; it must be 202 or less, or 'final'",
        ),
        ("training.fig4.compare.1.p", [], r"training.fig4.compare\[1\].p: \[\] is empty"),
        ("settings.digits_iid.lr", [], r"settings.digits_iid.lr: \[\] is empty"),
        ("defaults.topology", [], r"defaults.topology: \[\] is empty"),
    ],
)
def test_a_mistake_is_one_line_with_key_value_and_what_is_allowed(path, value, message):
    with pytest.raises(UserError, match=message) as error:
        plan_of(changed(path, value))
    assert "\n" not in str(error.value)


TRAINED = [
    name for name, entry in ARTEFACTS.items() if entry.apart and name in entry.metrics.values()
]


@pytest.mark.parametrize("name", ["fig2", *TRAINED])
def test_runs_that_an_artefact_would_take_for_seeds_are_refused(name):
    """Two runs of one experiment that differ in what its table or figure does not show."""
    config = config_of()
    plan_of(config)
    entry = config["training"][name]
    entry["compare"] = [*entry["compare"], {**entry["compare"][0], "lr": 0.123}]
    apart = ", ".join(ARTEFACTS[name].apart)
    message = (
        rf"^training\.{name}: runs are told apart here by {apart} and seed alone, but there are "
        r"(\S+)-[0-9a-f]{8}, \1-[0-9a-f]{8}; give runs that differ otherwise an experiment of "
        r"their own\.$"
    )
    with pytest.raises(UserError, match=message):
        plan_of(config)


def test_what_an_artefact_shows_may_vary_and_an_own_experiment_may_vary_in_all():
    config = config_of()
    training = config["training"]
    training["fig4"]["compare"][1]["p"] = [0.6, 0.7, 0.8, 0.9, 1]
    training["fig8"]["compare"][1] |= {"topology": "complete", "gamma": [0.1, 0.3]}
    training["figA1"]["compare"][0]["gamma"] = [0.1, 0.2]  # a row of pictures for each run
    settings = training["fig4"]["settings"]
    training["own"] = {"settings": settings, "compare": [{"lr": [0.1, 0.2], "gamma": [0.1, 0.2]}]}
    assert len(plan_of(config).training["own"]) == 4 * len(config["seeds"])


def test_partitions_that_figS2_cannot_tell_apart_are_refused():
    config = config_of()
    config["settings"]["more"] = {**config["settings"]["digits_noniid"], "shards": 60}
    config["partitions"]["figS2"]["settings"] = ["digits_noniid", "more"]
    with pytest.raises(
        UserError, match="partitions.figS2: .* by dataset, partition and seed alone"
    ):
        plan_of(config)


@pytest.mark.parametrize(
    "paths", experiments.tiers(REPOSITORY / "config"), ids=lambda p: p[-1].stem
)
def test_every_tier_is_valid(paths):
    assert plan_of(experiments.read_config(paths)).runs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [1", "is no YAML"),
        (b"a: \xe9", "is no YAML: 'utf-8' codec can't decode"),
        (b"PAR1\x15\xcc", "is no YAML: "),
        (b"a: 1" + b"0" * 5000, "is no YAML: "),
        (b"[" * 1_000, "is no YAML: "),
        (b"- 1\n", "must be a mapping"),
        (b"", "must be a mapping"),
        (None, "can't be read"),
    ],
)
def test_a_file_that_is_no_config_is_named(tmp_path, content, message):
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        experiments.read_config([path])
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=f"schema: .*{message}"):
        experiments.check_schema(config_of(), path)


def test_a_schema_that_is_none_is_named(tmp_path):
    (tmp_path / "s.yaml").write_text("type: nosuch\n")
    with pytest.raises(UserError, match="schema: .* is no JSON Schema: 'nosuch' is not valid"):
        experiments.check_schema(config_of(), tmp_path / "s.yaml")


def test_what_is_laid_over_a_config_comes_after_it():
    base, overlay = (REPOSITORY / "config" / name for name in ("config.yaml", "demo.yaml"))
    assert experiments.read_config([base, overlay])["tier"] == "demo"
    with pytest.raises(UserError, match="config.yaml' goes first, and what is laid over it after"):
        experiments.read_config([overlay, base])


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("seeds", 3, "seeds: 3 is not allowed; it must be a list, of 1 or more."),
        ("seeds", [True], "seeds[0]: True is not allowed; it must be a whole number, 0 or more."),
        ("seeds", [1.0], "seeds[0]: 1.0 is not allowed; it must be a whole number, 0 or more."),
        ("tier", None, "tier: None is not allowed; it must be a name of a-z, 0-9, _ and -."),
        ("tier", "x\n", "tier: 'x\\n' is not allowed; it must be a name of a-z, 0-9, _ and -."),
        ("warm", "yes", "warm: 'yes' is not allowed; it must be true or false."),
        ("defaults", [], "defaults: [] is not allowed; it must be a mapping of keys to values."),
        (
            "training.fig2.snapshots",
            ["last"],
            "training.fig2.snapshots[0]: 'last' is not allowed; it must be a whole number, 0 or "
            "more, or 'final'.",
        ),
        (
            "training.fig2.snapshots",
            [1, 1],
            "training.fig2.snapshots: [1, 1] repeats a value; each may be there once.",
        ),
        (
            "training",
            {"a b": {}},
            "training: the name 'a b' is not allowed; it must be of letters, digits and _.",
        ),
        ("training.fig2.compare", "DELETE", "training.fig2: 'compare' is missing."),
        (
            "artefacts.fig3.consensus_share",
            float("nan"),
            "artefacts.fig3.consensus_share: nan is not allowed; it must be a number, above 0, "
            "below 1.",
        ),
        (
            "artefacts.fig3.consensus_share",
            1,
            "artefacts.fig3.consensus_share: 1 is not allowed; it must be a number, above 0, "
            "below 1.",
        ),
        ("threads", 10**6, "threads: 1000000 is not allowed; it must be a whole number, 1 or more, "
         "1024 or less."),
        ("runs_per_gpu", 10**6, "runs_per_gpu: 1000000 is not allowed; it must be a whole number, "
         "1 or more, 1024 or less."),
        ("device", "gpu", "device: 'gpu' is unknown; allowed: auto, cpu, cuda. Did you mean "
         "'cuda'?"),
    ],
)  # fmt: skip
def test_what_the_schema_wants_is_told_in_plain_words(path, value, words):
    with pytest.raises(UserError) as error:
        plan_of(changed(path, value))
    assert str(error.value) == words


PLACES = (
    *("tier", "seeds", "data.root", "defaults", "defaults.lr", "defaults.topology", "training"),
    *("training.fig2.compare", "training.fig2.settings", "consensus.fig3.p", "theory.theory"),
)


@pytest.mark.parametrize("value", [None, {1: 2}, [[1]], math.nan, pytest.param(10**400, id="huge")])
def test_whatever_stands_in_a_config_is_told_in_a_line(value):
    for place in PLACES:
        with pytest.raises(UserError) as error:
            plan_of(changed(place, value))
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("text", "line", "first", "key"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "a"),
        ("x:\n  fig4:\n    p: [1]\n    q: 2\n    p: [2]\n", 5, 3, "p"),
        ("a: [{b: 1, b: 1}]\n", 1, 1, "b"),
    ],
)
def test_a_key_twice_is_named_with_its_lines(tmp_path, text, line, first, key):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(UserError) as told:
        experiments.read_config([tmp_path / "c.yaml"])
    assert str(told.value) == (
        f"config: {str(tmp_path / 'c.yaml')!r}, line {line}: {key!r} is there already, in line "
        f"{first}."
    )


def test_what_is_laid_over_a_merged_mapping_is_no_repetition(tmp_path):
    """Also where the mapping that merges is itself merged, above it in the file's tree."""
    (tmp_path / "c.yaml").write_text(
        "a: &a {x: 1, y: 1}\ndeep: {b: &b {<<: *a, x: 2}}\nc: {<<: *b, y: 3}\n"
    )
    config = experiments.read_config([tmp_path / "c.yaml"])
    assert config["deep"]["b"] == {"x": 2, "y": 1}
    assert config["c"] == {"x": 2, "y": 3}


def test_summary_counts_runs_and_samples():
    plan = plan_of(config_of("laptop"))
    table1 = {spec.id: spec for spec in plan.training["table1"]}
    assert sum(r.samples for r in table1.values()) == 3 * 7 * (4 * 60_000 + 20 * 4_000)
    samples = sum(r.samples for r in plan.runs.values())
    assert experiments.summary(plan) == (
        f"{len(plan.runs)} runs of 17 experiments on {len(plan.partition_runs)} partitions train "
        f"{samples:,} samples"
    )


@pytest.fixture
def folder(tmp_path):
    """A folder with the shipped configs."""
    for path in CONFIGS:
        shutil.copy(path, tmp_path)
    return tmp_path


def test_every_tier_is_found(folder):
    lines = list(experiments.overview(folder, SCHEMA))
    assert [line.partition(":")[0] for line in lines] == ["paper", "cifar10", "demo", "laptop"]
    assert all(re.search(r": \d+ runs of 17 experiments on \d+ part", line) for line in lines)


def test_a_file_that_is_no_tier_is_told_in_its_line(folder):
    """One of a user's own that is none, one that is wrong, one over another tier."""
    (folder / "compose.yaml").write_text("services: {}\n")
    (folder / "fast.yaml").write_text("device: cpu\n")
    (folder / "half.yaml").write_text("tier: [")
    (folder / "mine.yaml").write_text("tier: mine\n")
    lines = list(experiments.overview(folder, SCHEMA))
    assert not any("\n" in line for line in lines)
    others = {Path(line.split()[0]).name: line for line in lines if "is no tier by itself" in line}
    assert "config: 'services' is unknown" in others["compose.yaml"]
    assert f"tier: 'paper' is that of {folder}/config.yaml" in others["fast.yaml"]
    assert "is no YAML" in others["half.yaml"]
    listed = [line.partition(":")[0] for line in lines if line not in others.values()]
    assert listed == ["paper", "cifar10", "demo", "laptop", "mine"]


@pytest.mark.parametrize("name", experiments.SHARED)
def test_no_tier_has_the_name_of_a_folder_that_all_share(name):
    with pytest.raises(UserError, match=f"tier: '{name}' is a folder of results/ that all"):
        plan_of(changed("tier", name))
