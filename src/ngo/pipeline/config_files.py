"""Reading config files: a base, and overlays that replace some of its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from logging import getLogger
from pathlib import Path

from ngo.common import plugins
from ngo.common.fields import LARGEST
from ngo.common.registry import UserError, shown
from verdicts.files import read_mapping

LOG = getLogger("ngo")

CONFIG = Path("config/config.yaml")
#: The folders of papers other than that of ``CONFIG``, each with a ``config.yaml``.
PAPERS = Path("papers")

# Levels of a config; the package's own have 5.
DEEPEST = 20

#: How the names of overlays with added seeds start: ``decide-TIER.yaml``, beside the tier's.
SEEDS = "decide-"


def tiers(folder: str | Path = CONFIG.parent) -> list[list[Path]]:
    """The config files of each tier: the base alone, and the base with each overlay.

    Overlays are the other files in ``folder`` but those of added seeds, and the configs of the
    papers next to it.
    """
    base = Path(folder, CONFIG.name)
    others = (path for path in base.parent.glob("*.yaml") if path != base)
    overlays = sorted(path for path in others if not path.name.startswith(SEEDS))
    overlays += sorted((base.parent.parent / PAPERS).glob(f"*/{CONFIG.name}"))
    return [[base], *([base, path] for path in overlays)]


def place(path: Path) -> str:
    """How a config file is named in archives and on pages, wherever it is here.

    ``papers/NAME/FILE`` for a file in the folder of a paper, and ``config/FILE`` for all others,
    also in a clone whose folder is named papers.
    """
    folder = path.absolute().parent
    if folder.parent.name == PAPERS.name and folder.name != CONFIG.parent.name:
        return f"{PAPERS}/{folder.name}/{path.name}"
    return f"{CONFIG.parent}/{path.name}"


def read_config(paths: Iterable[str | Path]) -> dict:
    """The config in ``paths``: mappings of later files are merged into those of earlier ones.

    Raises a UserError for a file that is not a config.
    """
    config: dict = {}
    for path in paths:
        if Path(path) == CONFIG and not CONFIG.exists():
            raise UserError(
                f"config: {str(CONFIG)!r} is not in this folder; it is in the repository of ngo. "
                "Go to a clone of it, or name your own with --config."
            )
        overlay = read_mapping(path, "config")
        if config and config.keys() - {"only"} < overlay.keys():
            raise UserError(f"config: {str(path)!r} is a base; name it before its overlays.")
        config = _overlaid(config, overlay)
    return config


def _overlaid(base: Mapping, overlay: Mapping) -> dict:
    """``base`` with the values of ``overlay``; mappings are merged, all else is replaced."""
    merged = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _overlaid(merged[key], value) if both else value
    return merged


#: Keys of earlier releases, and what stands in their place.
GONE = {
    "warm": "runs that take seconds share a job",
    "runs_per_gpu": "snakemake --resources gpu=N says how many jobs run on GPUs at a time",
    "mixed_versions": "runs that other versions of the libraries made are trained again",
}


def without_gone(config: Mapping) -> dict:
    """The config without the keys of earlier releases; a line says what replaces each."""
    for key in GONE.keys() & config.keys():
        LOG.warning("note: config: %s is no key any more: %s", key, GONE[key])
    return {key: value for key, value in config.items() if key not in GONE}


def check_size(config: Mapping) -> None:
    """Raise a UserError for a whole number or a depth that no check and no message could handle.

    A number of thousands of digits can't be printed, and a list may hold itself, by an alias.
    """
    for key, depth, value in values_in(config):
        if depth > DEEPEST:
            raise UserError(
                f"{key}: it is nested more than {DEEPEST} levels deep, or holds itself."
            )
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UserError(
                f"{key or 'config'}: {shown(value)} is too large; whole numbers are below 2^63."
            )


def values_in(config: object) -> Iterator[tuple[str, int, object]]:
    """The key, the level and the value of everything in a config, names in mappings included.

    The levels of a list that holds itself have no end.
    """
    waiting = [("", 0, config)]
    while waiting:
        key, depth, value = waiting.pop()
        yield key, depth, value
        if isinstance(value, Mapping):
            for name, each in value.items():
                own = name if isinstance(name, str) else shown(name)
                waiting += [(f"{key}.{own}".lstrip("."), depth + 1, each), (key, depth + 1, name)]
        elif isinstance(value, list):
            waiting += [(f"{key}[{k}]", depth + 1, each) for k, each in enumerate(value)]


def load_plugins(config: Mapping) -> None:
    """Import the plugins of installed packages and the plugins that a config names."""
    plugins.load_installed()
    plugins.load(plugin_files(config))


def plugin_files(config: Mapping) -> list[str]:
    """The plugins that a config names; a UserError if that is no list of files."""
    paths = config.get("plugins", [])
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise UserError(f"plugins: {shown(paths)} is not allowed; it must be a list of files.")
    return paths
