"""Fingerprints of small packages, before and after a change."""

import os
import re
import sys
from pathlib import Path

import pytest

from ngo.common import plugins
from ngo.common.fingerprint import PACKAGE, fingerprint, reached

FILES = {
    "__init__.py": "",
    "registry.py": """
        ENTRIES = {}

        def entry(name):
            def add(function):
                ENTRIES[name] = function
                return function
            return add
        """,
    "methods.py": """
        from box.maths import scaled
        from box.registry import entry

        @entry("linear")
        def linear(x: float) -> float:
            \"\"\"Twice the value.\"\"\"
            doubled = scaled(x, 2)  # a comment
            return doubled

        @entry("other")
        def other(x):
            return x + 1
        """,
    "maths.py": """
        from __future__ import annotations

        import math as m
        from typing import TYPE_CHECKING

        from box import limits

        if TYPE_CHECKING:
            from box.unused import Shape

        FACTOR, OFFSET = 3, 0

        def scaled(x, factor, shape: Shape | None = None):
            y = min(factor * FACTOR * x, limits.MOST)
            for index in range(2):
                y = m.floor(y + index)
            return Rounded(y).value

        class Rounded:
            \"\"\"A rounded number.\"\"\"

            def __init__(self, value):
                self.value = round(value)

        def unrelated():
            return 1

        print("a statement that defines nothing")
        """,
    "limits.py": "MOST: float = 10.0\nLEAST = 0\n",
    "unused.py": "class Shape: ...\n",
    "run.py": """
        from box.registry import ENTRIES

        def run(name, x):
            return ENTRIES[name](x)
        """,
}

LINEAR = ("box.run:run", "box.methods:linear")


def dedented(text: str) -> str:
    lines = text.removeprefix("\n").splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line[margin:] for line in lines) + "\n"


class Box:
    """The package of an installed plugin."""

    def __init__(self, root: Path) -> None:
        self.root = root

        self.seconds = 0

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedented(text))
        self.seconds += 1  # two writes of one moment are still two dates
        os.utime(path, (self.seconds, self.seconds))

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", {})
    box = Box(tmp_path / "box")
    for name, text in FILES.items():
        box.write(name, text)
    information = tmp_path / "box-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: box\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[ngo.plugins]\nbox = box.methods\n")
    plugins.load_installed()
    yield box
    for name in [name for name in sys.modules if name.partition(".")[0] == "box"]:
        del sys.modules[name]


def test_a_definition_reaches_what_it_uses(box):
    assert reached(*LINEAR) == {
        "box.run:run",
        "box.registry:ENTRIES",
        "box.registry:entry",
        "box.methods:linear",
        "box.maths:scaled",
        "box.maths:FACTOR",
        "box.maths:OFFSET",  # assigned by the same statement
        "box.maths:Rounded",
        "box.limits:MOST",
    }


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("methods.py", "Twice the value.", "The value, doubled."),
        ("methods.py", "# a comment", "# another"),
        ("methods.py", "x: float) -> float", "x)"),
        ("methods.py", "doubled", "result"),
        ("methods.py", "return x + 1", "return x + 2"),
        ("methods.py", '@entry("other")', '@entry("third")\ndef third(x): ...\n\n@entry("other")'),
        ("maths.py", "index", "position"),
        ("maths.py", "y", "total"),
        ("maths.py", "shape: Shape | None = None", "shape: int = None"),
        ("maths.py", "A rounded number.", "A whole number."),
        ("maths.py", "return 1", "return 2"),
        ("maths.py", "a statement", "the statement"),
        ("maths.py", "import math as m\n", "import math as m\nimport os\n"),
        ("maths.py", "def unrelated", "def scaled_more(): ...\n\n\ndef unrelated"),
        ("limits.py", "MOST: float", "MOST"),
        ("limits.py", "LEAST = 0", "LEAST = 1"),
        ("unused.py", "...", "x = 1"),
    ],
)
def test_what_changes_no_result_changes_no_fingerprint(box, file, old, new):
    before = fingerprint(*LINEAR)
    box.change(file, old, new)
    assert fingerprint(*LINEAR) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("methods.py", "scaled(x, 2)", "scaled(x, 4)"),
        ("maths.py", "FACTOR, OFFSET = 3, 0", "FACTOR, OFFSET = 4, 0"),
        ("maths.py", "round(value)", "round(value, 1)"),
        ("maths.py", "range(2)", "range(3)"),
        ("maths.py", "scaled(x, factor", "scaled(z, factor"),
        ("maths.py", "import math as m", "import cmath as m"),
        ("limits.py", "10.0", "11.0"),
        ("limits.py", "MOST: float = 10.0", "MOST = 10.0\nMOST += 1"),
        ("registry.py", "ENTRIES[name] = function", "ENTRIES[name, 0] = function"),
        ("run.py", "(x)", "(x) + 0"),
    ],
)
def test_what_can_change_a_result_changes_the_fingerprint(box, file, old, new):
    before = fingerprint(*LINEAR)
    box.change(file, old, new)
    assert fingerprint(*LINEAR) != before


def test_file_dates_change_no_fingerprint(box):
    before = fingerprint(*LINEAR)
    for path in box.root.glob("*.py"):
        path.touch()
    assert fingerprint(*LINEAR) == before


def test_imports_may_be_anywhere_and_have_any_form(box):
    forms = [
        "import box.limits\n\ndef f():\n    return box.limits.MOST\n",
        "import box.limits as bounds\n\ndef f():\n    return bounds.MOST\n",
        "from box import limits\n\ndef f():\n    return limits.MOST\n",
        "from box.limits import MOST as most\n\ndef f():\n    return most\n",
        "from .limits import MOST\n\ndef f():\n    return MOST\n",
        "def f():\n    from box.limits import MOST\n    return MOST\n",
        "def f():\n    from .limits import MOST\n    return MOST\n",
        "def f():\n    import box.limits as bounds\n    return bounds.MOST\n",
        "def f():\n    from box.aliases import MOST as most\n    return most\n",
    ]
    box.write("aliases.py", "from box.limits import MOST\n")
    found = []
    for index, text in enumerate(forms):
        (box.root / f"form{index}.py").write_text(text)
        found.append(reached(f"box.form{index}:f"))
        assert found[-1] == {f"box.form{index}:f", "box.limits:MOST"}, text
    assert reached("box.form0") == found[0]


def test_decorators_defaults_and_bases_are_followed_and_annotations_are_not(box):
    box.write(
        "parts.py",
        """
        from box import limits, maths, registry

        @registry.entry("part")
        class Part(maths.Rounded):
            def most(self, most=limits.MOST, shape: limits.LEAST = 0):
                return most
        """,
    )
    assert reached("box.parts:Part") == {
        "box.parts:Part",
        "box.registry:entry",
        "box.registry:ENTRIES",
        "box.maths:Rounded",
        "box.limits:MOST",
    }
    assert reached("box.parts:Part.most") == {"box.parts:Part.most", "box.limits:MOST"}


def test_a_module_that_is_passed_on_is_reached_as_a_whole(box):
    box.write("whole.py", "from box import limits\n\nALL = vars(limits)\n")
    assert reached("box.whole:ALL") == {"box.whole:ALL", "box.limits:MOST", "box.limits:LEAST"}


def test_a_reached_module_brings_its_c_file(box):
    box.write("maths.c", "int factor = 1;")
    before = fingerprint(*LINEAR)
    other = fingerprint("box.methods:other")
    box.write("maths.c", "int factor = 2;")
    assert fingerprint(*LINEAR) != before
    assert fingerprint("box.methods:other") == other
    (box.root / "maths.c").unlink()
    assert fingerprint(*LINEAR) != before


def test_a_file_is_all_of_its_code(box):
    path = box.root / "figure.py"

    def save(code):
        path.write_text(code)
        return fingerprint(path)

    code = "from box.maths import scaled\n\ndef numbers():\n    return scaled(1, 2)\n"
    before = save(code)
    assert "box.maths:Rounded" in reached(path)
    assert save(f"{code}# a comment\n") == before
    assert save(f"{code}\n\ndef draw():\n    return 1\n") != before
    save(code)
    box.change("maths.py", "round(value)", "round(value, 1)")
    assert fingerprint(path) != before


def test_a_plugins_file_is_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    path = tmp_path / "mine.py"
    path.write_text("RATE = 2\n\ndef f(x):\n    return RATE * x\n")
    (plugin,) = plugins.load([path])
    try:
        root = f"{plugin.module}:f"
        assert reached(root) == {root, f"{plugin.module}:RATE"}
        before = fingerprint(root)
        path.write_text(path.read_text().replace("RATE = 2", "RATE = 30"))
        assert fingerprint(root) != before
    finally:
        del sys.modules[plugin.module]


def test_other_peoples_code_is_not_followed():
    assert reached("json:dumps") == set()
    with pytest.raises(ValueError, match="there is no module ngo.absent"):
        fingerprint("ngo.absent:f")
    with pytest.raises(ValueError, match="module ngo.common.files has no definition"):
        fingerprint("ngo.common.files:absent")
    inner = "ngo.common.files:atomic_file.<locals>.inner"  # a function that a function returns
    assert fingerprint(inner) == fingerprint("ngo.common.files")


def test_the_package_itself_can_be_fingerprinted():
    files = [path.relative_to(PACKAGE.parent).with_suffix("") for path in PACKAGE.rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in files]
    assert re.fullmatch("[0-9a-f]{16}", fingerprint(*names))
    assert "verdicts.registry:UserError" in reached("ngo.common.files")
