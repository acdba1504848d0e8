"""Names, prompts, answers, cells and errors are text from outside: pages show them as text."""

from html.parser import HTMLParser

import pytest
from django.urls import reverse
from django.utils.http import urlencode

from runs.models import Dataset, EventLevel, RunEvent
from runs.services.datasets.storing import store_rows
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

PAYLOADS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example></ScRiPt>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x>",
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    '" autofocus onfocus=alert(1) x="',
    "' onmouseover='alert(1)",
    "</textarea><script>alert(1)</script>",
    "</pre><iframe src=javascript:alert(1)>",
    "</title><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
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
    "<details open ontoggle=alert(1)>",
    "<math><mi xlink:href=javascript:alert(1)>",
    "<template><img src=x onerror=alert(1)></template>",
    "<body onload=alert(1)>",
    "<input onfocus=alert(1) autofocus>",
    "<isindex action=javascript:alert(1)>",
    "{{ 7|add:7 }}{% load static %}{# x #}",
    "{{constructor.constructor('alert(1)')()}}",
    "![x](https://evil.example/?q=1)",
    "[x](javascript:alert(1))",
    "\u202e<script>\u202c",
    "\ufeff<script>alert(1)</script>",
    "<\u0000script>alert(1)</script>".replace("\u0000", ""),
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "%3Cscript%3Ealert(1)%3C/script%3E",
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
        if tag in FORBIDDEN or (tag == "script" and not is_our_script(known)):
            self.found.append(self.get_starttag_text() or tag)
        for name, value in known.items():
            if name.startswith("on") or value.strip().lower().startswith("javascript:"):
                self.found.append(self.get_starttag_text() or name)
            if name in ("href", "src", "action") and "evil.example" in value.split("?")[0]:
                self.found.append(self.get_starttag_text() or name)


def is_our_script(attributes):
    source = attributes.get("src", "")
    return source.startswith("/static/") or attributes.get("type") == "application/json"


def batched(size: int) -> list[list[str]]:
    return [PAYLOADS[start : start + size] for start in range(0, len(PAYLOADS), size)]


def foreign_markup(page):
    finder = MarkupFinder()
    finder.feed(page)
    return finder.found


def test_the_finder_finds_what_it_should_and_nothing_in_what_is_typed(ada):
    assert foreign_markup("<p>text</p>") == []
    assert all(foreign_markup(payload) for payload in PAYLOADS[:7])
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
    candidates = [hostile_candidate(run, text) for text in texts]
    position = 0
    for text, case, candidate in zip(texts, dataset.cases.all(), candidates, strict=True):
        judged = [["exact", 0.0, False, text]]
        add_score(run, case, candidate, position, answer=text, details=judged)
        tried = [["call", "server_error", 1.0, 1.0, text]]
        failed = {"error_class": "server_error", "error_message": text[:500], "attempts": tried}
        add_score(run, case, candidate, position + 1, repeat=1, **failed)
        RunEvent.objects.create(run=run, level=EventLevel.ERROR, message=text[:500])
        position += 2
    return run


def hostile_candidate(run, text):
    candidate = add_candidate(run)
    candidate.name = text[:250]
    candidate.document = {
        "prompt": {"name": text[:100], "system": text, "user": text},
        "model": {"endpoint": "simulated", "model": text[:190], "parameters": {}},
    }
    candidate.save()
    return candidate


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
