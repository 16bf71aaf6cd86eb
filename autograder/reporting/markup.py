"""The little markup of quizzes and sentences: `code` and *emphasis*, nothing else.

The same rules as in widgets/static/shared.js.
"""

import html
import re

EMPHASIS = re.compile(r"\*(\S(?:[^*]*\S)?)\*")


def as_html(text: str) -> str:
    """HTML of a marked text; everything else in it is shown as it stands."""
    parts = html.escape(text, quote=False).split("`")
    return "".join(
        f"<code>{part}</code>" if i % 2 else EMPHASIS.sub(r"<em>\1</em>", part)
        for i, part in enumerate(parts)
    )
