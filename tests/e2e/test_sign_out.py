"""Signing out in one tab ends the live updates of the others, and leaves no draft behind."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import open_context
from tests.e2e.doors import document, launch, sign_in
from tests.e2e.run_page import diary, run_number

pytestmark = pytest.mark.late

SIGNED_OUT = 4401


def test_signing_out_in_another_tab_closes_the_socket_and_asks_to_sign_in(browser, site, demo):
    site.simulator.hold(after=20)
    context = open_context(browser, site)  # a session of its own: it is signed out for good
    page, other_tab = context.new_page(), context.new_page()
    sign_in(page)
    launch(page, document("is watched by nobody", repeats=5))
    expect(page.locator("[data-live-state=live]")).to_be_visible()

    other_tab.goto("/runs/new/")
    other_tab.locator("#id_name").fill("half a run")
    other_tab.get_by_role("button", name="Sign out").first.click()
    other_tab.wait_for_url("**/sign-in/")
    assert other_tab.evaluate("localStorage.length") == 0

    banner = page.locator("[data-banner]")
    expect(banner).to_contain_text("You are signed out.")
    assert diary(page)["closes"][-1] == SIGNED_OUT  # before it, slow sockets may have been given up
    site.simulator.let_go()

    back_here = quote(f"/runs/{run_number(page)}/", safe="")
    link = banner.get_by_role("link", name="Sign in again")
    expect(link).to_have_attribute("href", f"/sign-in/?next={back_here}")
    context.close()
