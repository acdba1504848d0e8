"""Many visitors who send large bodies at once cost the web server neither memory nor time."""

from __future__ import annotations

from argparse import Namespace

import pytest

from scripts.flood_bodies import measure

pytestmark = [pytest.mark.alone, pytest.mark.any_database]


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "without"])
def test_a_flood_of_anonymous_bodies_is_refused_and_nobody_else_waits(tmp_path, chunked):
    asked = Namespace(
        server="evalsite.web", clients=100, megabytes=200, chunked=chunked, seconds=60
    )
    found = measure(asked, str(tmp_path))
    assert set(found.answers) == {"413"}
    assert found.peak_mb <= 300
    assert found.health_p95_ms <= max(200, 10 * found.quiet_p95_ms)
