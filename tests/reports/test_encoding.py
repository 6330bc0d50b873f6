from hypothesis import given
from hypothesis import strategies as st

from alice.files import parse_json
from alice.reports import encoding

CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
KEYS = st.text(max_size=3) | st.just("$float")
TREES = st.recursive(
    CELLS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


def same(one, other):
    """Compare exactly: types, signs of zero, NaN."""
    if isinstance(one, float):
        return type(other) is float and repr(one) == repr(other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@given(TREES)
def test_any_tree_survives_json(tree):
    text = encoding.write_json({"tree": encoding.encode(tree, "a tree")})
    text.encode()
    assert same(encoding.decode(parse_json(text)["tree"]), tree)
