"""What takes work is limited by the minute over REST as on pages, and counted with them."""

from tests.api.asking import Asker

WORKING = """
    post /runs, post /runs/estimate, post /runs/dry, get /compare,
    post /datasets, post /dataset-splits/sums, get /dataset-reports/sums, get /dataset-changes/sums,
    post /configurations, put /configurations/nightly, post /prompts, patch /prompts/triage,
    post /promptfoo, post /endpoints/simulated/models, post /endpoints/simulated/try
"""


def test_what_takes_work_is_limited_and_looking_is_not(ada, settings):
    settings.WORK_REQUESTS_PER_MINUTE = 0
    asker = Asker(ada)
    answers = {
        (method, path): asker.ask(method, path)
        for method, path in (route.split() for route in WORKING.strip().split(","))
    }
    for route, answer in answers.items():
        assert answer.status_code == 429, route
        assert 1 <= int(answer["Retry-After"]) <= 60
    assert asker.get("/runs").status_code == 200
