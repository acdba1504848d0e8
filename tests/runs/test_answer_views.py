"""An answer laid out as Markdown or as JSON: what is understood, and that nothing in it acts."""

from html.parser import HTMLParser

from django.template.loader import render_to_string

from runs.answers import json_tree, markdown
from runs.answers.json_tree import read_json
from runs.answers.markdown import read_markdown
from runs.word_diff import MOST_WORDS, diff_words
from tests.runs.test_pages_hostile import PAYLOADS

MARKDOWN_PAYLOADS = [
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](\tjavascript:alert(1))",
    "[x](java&#x73;cript:alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/sign-out/)",
    "<javascript:alert(1)>",
    "[a]: javascript:alert(1)\n\n[a]",
    '[x](https://e.example "onmouseover=alert(1)")',
    '[x](https://e.example/"onmouseover="alert(1))',
    "![x](https://evil.example/pixel.png)",
    "![x][a]\n\n[a]: https://evil.example/pixel.png",
    "[![x](https://evil.example/a.png)](javascript:alert(1))",
    "```html onload=alert(1)\n<script>alert(1)</script>\n```",
    '``` "><script>alert(1)</script>\nx\n```',
    "|<script>|b|\n|:-:|-:|\n|<img src=x onerror=alert(1)>|2|",
    "# <script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<https://e.example/<script>>",
    "1. a\n<script>alert(1)</script>",
]
ALLOWED_TAGS = {
    *("a", "blockquote", "br", "code", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p"),
    *("pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    *("b", "details", "summary"),
}
ALLOWED_ATTRIBUTES = {"class", "id", "tabindex", "href", "target", "rel", "open"}


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.open: list[str] = []
        self.links: list[dict[str, str]] = []
        self.words = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED_TAGS
        assert {name for name, _ in attrs} <= ALLOWED_ATTRIBUTES
        if tag == "a":
            self.links.append({name: value or "" for name, value in attrs})
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def as_markdown(text):
    context = {"markdown": read_markdown(text)}
    return Tags(render_to_string("parts/markdown.html", context))


def as_json(text):
    return Tags(render_to_string("parts/json_tree.html", {"json": read_json(text)}))


def test_nothing_of_an_answer_becomes_markup():
    """Only our own tags and attributes, all closed, and links only to the web, as such."""
    for text in [*PAYLOADS, *MARKDOWN_PAYLOADS]:
        for page in (as_markdown(text), as_json(text), as_json(f'{{"a": [{text!r}]}}')):
            for link in page.links:
                assert link["href"].startswith(("http://", "https://"))
                assert link["rel"] == "noopener noreferrer nofollow"
                assert link["href"] in page.words


LONG = ["- a\n" * 6_000, "**a** " * 6_000, "[a](https://e.example) " * 5_000, "> " * 20_000]


def test_markdown_is_laid_out_an_image_is_a_link_and_a_long_answer_is_cut():
    text = (
        "# Head\n\nOne **bold** `code`\n\n- a\n- b\n\n|x|\n|-|\n|1|\n\n```py\nif x:\n    y\n```\n"
    )
    written = render_to_string("parts/markdown.html", {"markdown": read_markdown(text)})
    page = written.replace("\n>", ">")  # line breaks stand inside our tags
    for part in (
        *("<h3>Head</h3>", "<strong>bold</strong>", "<code>code</code>"),
        *("<li>a</li>", "<td>1</td>", "if x:\n    y\n</pre>"),
    ):
        assert part in page
    image = as_markdown("![a cat](https://pics.example/cat.png)")  # a link that says where it leads
    assert [link["href"] for link in image.links] == ["https://pics.example/cat.png"]
    assert "(https://pics.example/cat.png)" in image.words
    for text in LONG:
        read = read_markdown(text)
        assert len(read.parts) <= markdown.MOST_PARTS + 100
        assert "Only the beginning is laid out" in as_markdown(text).words


TREES = {
    '{"a": [1, "x"]}': ["a", "[2]", "1", '"x"'],
    '```json\n{"a": null}\n```': ["a", "null"],
    '"just a text"': ['"just a text"'],
    "The answer is 4.": ["It is not JSON"],
    "[" * 90_000: ["It is not JSON"],  # never closed
    "[" * 900 + "]" * 900: ["nested too deeply"],
    "1" * 300_000: ["longer than 200,000"],
    '"\ud800"': ["It is not JSON"],  # half a character
    f"[{'[1],' * 9_000}1]": ["Only the beginning"],
    f'"{"x" * 9_000}"': ["x…"],
}


def test_json_is_a_tree_of_texts():
    for text, words in TREES.items():
        read = read_json(text)
        page = Tags(render_to_string("parts/json_tree.html", {"json": read}))
        assert [word for word in words if word not in page.words] == [], text[:50]
        assert len(read.parts) <= json_tree.MOST_PARTS + 100


# --- The word diff: what it marks, that nothing of a text is lost, and that it stays small

PHRASE = [("same", "the "), ("gone", "quick brown"), ("new", "slow red"), ("same", " fox")]
CHANGES: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("", ""): [],
    ("a b", "a b"): [("same", "a b")],
    ("", "a b"): [("new", "a b")],
    ("a b c", "a c"): [("same", "a "), ("gone", "b "), ("same", "c")],
    ("the quick brown fox", "the slow red fox"): PHRASE,  # one change
    ("$12.50", "$12.75"): [("same", "$12."), ("gone", "50"), ("new", "75")],  # signs are words
    ("東京都", "東都"): [("same", "東"), ("gone", "京"), ("same", "都")],  # no spaces
}


def test_what_changed_is_marked_in_texts_shown_as_such_and_a_long_one_is_cut():
    assert {texts: diff_words(*texts).parts for texts in CHANGES} == CHANGES
    for before, after in (
        ("a  b\n\nc\td", "b a c\n e"),
        ("p q", "p, (q"),
        ("x" * 250, "x" * 200 + " y"),
        ("один два три", "два один три"),
        ("no end\n", " start no"),
    ):
        parts = diff_words(before, after).parts
        assert "".join(part.text for part in parts if part.change != "new") == before
        assert "".join(part.text for part in parts if part.change != "gone") == after
    for text in ("a b " * 100_000, "x" * 5_000_000, " " * 5_000_000, "." * 100_000):
        diff = diff_words(text, "b a " * 100_000)
        assert diff.is_cut, text[:5]
        assert len(diff.parts) <= 4 * MOST_WORDS
    page = render_to_string("parts/word_diff.html", {"diff": diff})
    assert f"Only the first {MOST_WORDS} words of each text are compared." in page
    diff = diff_words("<b>old</b> {{ x }}", "<script>alert(1)</script> {{ x }}")
    page = render_to_string("parts/word_diff.html", {"diff": diff})
    assert not any(tag in page for tag in ("<script", "<b>"))
    assert all(mark in page for mark in ("<del", "<ins", "[gone: ", "[new: "))
