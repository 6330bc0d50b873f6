import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alice.reports import page


@given(st.text())
def test_json_in_a_page_cannot_contain_a_tag(text):
    written = page.script_json({"text": text})
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written)["text"] == re.sub("[\ud800-\udfff]", "\ufffd", text)


@given(st.text(alphabet=st.sampled_from(list("<>/abrsuipn =\"'&;:#")), max_size=40))
def test_only_formatting_tags_are_left(text):
    tags = re.findall(r"<[^<>]*>", page.safe_text(text))
    assert all(
        re.fullmatch(r"</?(b|i|u|s|em|sup|sub|extra|span|br)( ?/)?>|<span style=[^<>()]*>", tag, re.I) for tag in tags
    )


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("%{y}<br><b>x</b><extra></extra>", "%{y}<br><b>x</b><extra></extra>"),
        ("p < 0.05", "p &lt; 0.05"),
        ('<a href="javascript:x">y</a>', '&lt;a href="javascript:x">y&lt;/a>'),
        ('<span style="color: red">y</span>', '<span style="color: red">y</span>'),
        ('<span style="background:url(http://x)">y</span>', '&lt;span style="background:url(http://x)">y</span>'),
        ("<b onclick=x>", "&lt;b onclick=x>"),
        ("<<a>b>", "&lt;&lt;a>b>"),
    ],
)
def test_text_of_figures(given_text, kept):
    assert page.safe_text(given_text) == kept
