"""What ``archive.json`` may say."""

import json

import pytest

from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import described, plugin_code

CONFIG = {"tier": "own", "plugins": ["./a.py", "b.yaml"], "data": {"root": "/anywhere"}}


def members(config=CONFIG, text=None, **changes):
    """An archive with this description, and a config file that has the same config."""
    about = {"tier": "own", "artefacts": ["claims"], "whole": True,
             "configs": ["config/config.yaml"], "config": config, **changes}  # fmt: skip
    own = {"a.py": b"", "b.yaml": b"", "config/config.yaml": text or json.dumps(config).encode()}
    return {**own, "archive.json": json.dumps(about).encode()}


def test_a_description_that_fits_its_archive():
    about = described(members())
    assert about["config"] == CONFIG
    assert plugin_code(about["config"]) == ["a.py"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tier": 1}, "'tier' is 1, which is no str"),
        ({"tier": ["own"]}, "which is no str"),
        ({"tier": "own\0"}, "is not allowed"),
        ({"tier": "../own"}, "is not allowed"),
        ({"tier": "runs", "config": {"tier": "runs"}}, "the tier 'runs' is not allowed"),
        ({"tier": "x" * 101}, "is not allowed"),
        ({"tier": "other"}, "is not that of the config"),
        ({"config": "config"}, "'config' is 'config', which is no dict"),
        ({"whole": "yes"}, "'whole' is 'yes', which is no bool"),
        ({"artefacts": "claims"}, "which is no list"),
        ({"artefacts": [["a"]]}, "is no name of a figure or table"),
        ({"artefacts": ["claims", "claims"]}, "named twice"),
        (
            {"artefacts": ["all", "--snakefile=x", "--allowed-rules", "all"]},
            "is no name of a figure",
        ),
        ({"configs": []}, "the configs must be different files"),
        ({"configs": ["/etc/config.yaml"]}, "is not in the archive"),
        ({"configs": ["b.yaml"]}, "is not in the folder 'config'"),
        ({"configs": ["config/config.yaml"] * 2}, "the configs must be different files"),
    ],
)
def test_a_wrong_value_is_named(change, message):
    with pytest.raises(UserError, match=message) as told:
        described(members(**change))
    assert "\n" not in str(told.value)


def test_the_config_is_that_of_the_config_files():
    with pytest.raises(UserError, match="its config is not that of the config files"):
        described(members(text=b"tier: own\nplugins: []\n"))
    for text in (b"a: [", b"a: 1\na: 2", b"[1]", b"\xff", b"a: !!python/name:os.system ''"):
        with pytest.raises(UserError, match=r"^config: 'config/config.yaml'") as told:
            described(members(text=text))
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../a", "a/../b", "~/a", "C:/a", "\\\\host\\a", "a/.."]
)
def test_a_path_outside_of_the_archive_is_refused_anywhere(path):
    for more in ({"claims": path}, {"defaults": {"graph": path}}, {"plugins": [path]},
                 {"training": {"a": {"compare": [{"graph": [path]}]}}}):  # fmt: skip
        with pytest.raises(UserError, match="its config names a path outside of it"):
            described(members({**CONFIG, **more}))


def test_plugins_are_in_the_archive_and_no_other_code_is():
    with pytest.raises(UserError, match=r"the plugin 'c.py' is not in the archive"):
        described(members({**CONFIG, "plugins": ["a.py", "c.py"]}))
    with pytest.raises(UserError, match=r"'pandas.py' is code, and no plugin of the config"):
        described({**members(), "pandas.py": b""})
    for plugins in ("a.py", [1], [["a.py"]]):
        with pytest.raises(UserError, match="plugins: .* must be a list of files"):
            described(members({**CONFIG, "plugins": plugins}))
