"""Code and emphasis are marked; everything else stays text."""

import pytest

from autograder.reporting.display import as_html

# Also what the browser must make of it: see tests/browser/widgets/test_quiz_player.py.
CASES = [
    ("plain", "plain"),
    ("`x` is *not* saved", "<code>x</code> is <em>not</em> saved"),
    ("`2*x*y` stays code", "<code>2*x*y</code> stays code"),
    ("2 * 3 * 4", "2 * 3 * 4"),
    ("*with respect to* it", "<em>with respect to</em> it"),
    ("<b>&</b> `a<b`", "&lt;b&gt;&amp;&lt;/b&gt; <code>a&lt;b</code>"),
]


@pytest.mark.parametrize(("text", "html"), CASES)
def test_markup_becomes_html(text, html):
    assert as_html(text) == html
