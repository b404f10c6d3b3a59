import ast

import pytest

from ngo.common.scopes import imported_names
from ngo.common.syntax import canonical


def code(text):
    tree = ast.parse(text)
    imports = {}
    for node in tree.body:
        imports |= imported_names(node, "box")
    return canonical(tree.body, imports, "box")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a):\n    b = a\n    return b", "def f(a):\n    c = a\n    return c"),
        ("def f():\n    return [x for x in g()]", "def f():\n    return [y for y in g()]"),
        (
            "def f():\n    def h(): return 1\n    return h",
            "def f():\n    def k(): return 1\n    return k",
        ),
        (
            "def f():\n    x = 0\n    def h():\n        nonlocal x\n        x = 1\n    return h, x",
            "def f():\n    y = 0\n    def g():\n        nonlocal y\n        y = 1\n    return g, y",
        ),
        (
            "def f():\n    try: g()\n    except E as e: print(e)",
            "def f():\n    try: g()\n    except E as error: print(error)",
        ),
        (
            "def f(a):\n    match a:\n        case [x, *y]: return x, y",
            "def f(a):\n    match a:\n        case [u, *v]: return u, v",
        ),
        ("def f():\n    with g() as x: return x", "def f():\n    with g() as y: return y"),
        ("def f():\n    if (x := g()): return x", "def f():\n    if (y := g()): return y"),
        ("def f():\n    x: int = 1\n    return x", "def f():\n    x = 1\n    return x"),
        ("x: int = 1", "x = 1"),
        (
            "import torch.nn.functional as F\nx = F.relu",
            "from torch.nn import functional\nx = functional.relu",
        ),
        (
            "import torch\ndef f(): return torch.pi",
            "def f():\n    import torch\n    return torch.pi",
        ),
        ('class A:\n    "A."\n    x: int = 1\n    "One."', "class A:\n    x: int = 1"),
    ],
)
def test_the_same_code_has_one_text(one, other):
    assert code(one).text == code(other).text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a): return a", "def f(b): return b"),
        ("def f(a, b): ...", "def f(a, *, b): ..."),
        ("def f(a, b): ...", "def f(a, *b): ..."),
        ("def f(a, /, b): ...", "def f(a, b): ..."),
        ("def f(*a): ...", "def f(**a): ..."),
        ("def f(*, a, b=1): ...", "def f(*, a=1, b): ..."),
        ("def f(a=1): ...", "def f(a=1.0): ..."),
        ("def f():\n    x = 1\n    return x", "def f():\n    x = 1\n    return y"),
        ("def f():\n    a = b = 1\n    return a", "def f():\n    a = b = 1\n    return b"),
        ("class A:\n    x: int", "class A:\n    x: float"),
        ("class A:\n    x = 1", "class A:\n    y = 1"),
        ("def f():\n    global x\n    x = 1", "def f():\n    x = 1"),
        ("from a import g\nx = g", "from b import g\nx = g"),
        ("x = True", "x = 1"),
        ("def f(x): return x.a", "def f(x): return x.b"),
        ("async def f(): ...", "def f(): ..."),
    ],
)
def test_different_code_has_different_texts(one, other):
    assert code(one).text != code(other).text


def test_names_from_outside_are_listed():
    found = code(
        "from a.b import c\n"
        "import d\n"
        "def f(x: Hint, y=DEFAULT) -> Hint:\n"
        "    z = [c.e for model in model.parts]\n"
        "    return d.g.h(z, other, x)\n"
    )
    assert found.globals == {"DEFAULT", "model", "other"}
    assert found.imports == {"a.b.c.e", "d.g.h"}


def test_a_methods_names_are_not_those_of_its_class():
    found = code("class A:\n    x = 1\n    y = x\n    def f(self): return x")
    assert found.globals == {"x"}
