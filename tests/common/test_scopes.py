import ast

import pytest

from ngo.common.scopes import Imported, bound_names, imported_names, is_type_checking


def bound(text):
    return list(bound_names(ast.parse(text).body, "box"))


def test_every_statement_that_binds_a_name_is_known():
    text = """
a = b, *c = g()
d += 1
e: int
for f, x.attribute in h: pass
with i as j: pass
try: pass
except E as k: pass
def l(inner=1): inner_local = 1
class M: attribute = 1
import n.o, p as q
from r import s
if (t := u): pass
[v for w in (y := z)]
match aa:
    case {"k": bb, **cc} | [*dd]: pass
    case E() as ee: pass
lambda ff: ff
del gg
"""
    names = "a b c d e f j k l M n q s t y cc bb dd ee gg"
    assert set(bound(text)) == set(names.split())


def test_global_names_are_not_local():
    assert bound("global x\nx = 1\ny = 2") == ["y"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b", {"a": "a"}),
        ("import a.b as c", {"c": "a.b"}),
        ("from a import b as c", {"c": "a.b"}),
        ("from . import b", {"b": "box.inner.b"}),
        ("from ..a import b", {"b": "box.a.b"}),
        ("x = 1", {}),
    ],
)
def test_an_import_names_its_target(text, names):
    (node,) = ast.parse(text).body
    expected = {name: Imported(target) for name, target in names.items()}
    assert imported_names(node, "box.inner") == expected


def test_imports_for_type_checkers_bind_nothing():
    text = "if TYPE_CHECKING:\n    from a import b\nelse:\n    c = 1"
    assert bound(text) == ["c"]
    assert is_type_checking(ast.parse("if typing.TYPE_CHECKING: pass").body[0])
    assert not is_type_checking(ast.parse("if x: pass").body[0])
