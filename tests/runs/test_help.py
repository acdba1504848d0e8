"""The guides on the site: all of docs/ that people need while they work, found where they are."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.urls import Resolver404, resolve, reverse

from runs.selectors.guides import DOCS, anchor_of, guide_files, read_guides
from tests.harness.factories import client_of
from workers.engine.kinds import read_configuration
from workers.engine.spec.documents import read_document

pytestmark = pytest.mark.django_db

GUIDES = sorted(guide_files())
BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
COMMON = sorted(Path(DOCS, "guides").glob("*.md"))


def test_every_guide_of_the_folder_is_offered_and_found_by_the_jump_box(alice):
    assert {f"guides/{path.name}" for path in COMMON} <= set(guide_files().values())
    page = client_of(alice).get(reverse("help")).text
    for name in GUIDES:
        assert f'href="{reverse("help_guide", args=[name])}"' in page
    assert client_of(alice).get("/help/nonsense/").status_code == 404
    for typed, address in (
        ("ollama", "/help/ollama/"),
        ("first run", "/help/first-run/"),
        ("router", "/help/choosing-models/#a-router"),
        ("gate", "/help/ci/#run-it-with-a-gate"),
    ):
        assert f'href="{address}"' in client_of(alice).get(reverse("jump"), {"q": typed}).text


def test_a_guide_is_whole_and_its_picture_links_and_configurations_are_some(alice):
    client, lost = client_of(alice), []
    for name in GUIDES:
        page = client.get(reverse("help_guide", args=[name])).text
        text = page[page.index('class="markdown"') : page.index('class="guide-side"')]
        headings = re.findall(r"^## (.+)$", (DOCS / guide_files()[name]).read_text(), re.MULTILINE)
        assert re.findall(r'<h2 id="([^"]*)"', text) == [anchor_of(one) for one in headings]
        assert "![" not in text
        picture = read_guides()[name].picture
        assert picture is None or finders.find(f"guides/{picture.file}"), name
        for address in re.findall(r'<a href="(/[^"#]*)', text):
            try:
                resolve(address)
            except Resolver404:
                lost.append(f"{name} leads to {address}, which is nowhere.")
    assert lost == []
    for path in COMMON:
        for block in BLOCK.findall(path.read_text()):
            document = read_document(block)
            assert read_configuration(document).kind == document["kind"], path
