"""Files that bring endpoints and rows along, and where their runs go on."""

import json
from pathlib import Path
from zlib import crc32

import pytest
from django.conf import settings

from runs.management import result_files
from runs.management.file_endpoints import take_endpoints
from runs.models import Endpoint, Run
from runs.secrets import decrypt
from tests.commands.conftest import command, refused, write
from tests.harness.table import table
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-canary-71c0d2f49ab35e86"
ROWS = "question,expected\nWhat is 2 + 3?,5\nWhat is 20 + 3?,23\n"


@pytest.fixture
def brought(tmp_path, ada, simulator):
    """A document with an endpoint of its own and rows in a file; nothing of it is stored."""
    (tmp_path / "sums.csv").write_text(ROWS)
    mine = {"kind": "openai", "base_url": f"{simulator.url}/v1", "key_env": "MY_KEY"}
    asked = {"prompts": [{"name": "terse", "user": "{{question}}"}], "models": ["mine/sim-large"]}
    kept = {"name": "brought", "kind": "evaluate", "scorers": ["numeric"], **asked}
    return {**kept, "endpoints": {"mine": mine}, "dataset": {"file": "sums.csv"}}


def test_a_key_of_the_environment_lands_nowhere(tmp_path, brought, simulator, monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", KEY)
    file = write(tmp_path / "brought.yaml", brought)
    out = {name: tmp_path / name for name in ("j.xml", "s.md", "r.html")}
    files = ("--junit", out["j.xml"], "--summary", out["s.md"], "--html", out["r.html"])
    ran = command("run", file, "--here", *files)
    assert (ran.exit_code, ran.done["counts"]["done"]) == (0, 2), ran.err
    results = Path(ran.done["results"])
    assert results.parent == Path(settings.EVALSITE_DATA) / "results"
    assert len(results.read_text().splitlines()) == 2
    mark = f"{crc32(f'Bearer {KEY}'.encode()):08x}"  # as the ledger tells keys apart
    assert {row["key"] for row in simulator.requests()} == {mark}, "it was used"
    assert not Endpoint.objects.exists()
    assert not Run.objects.exists()
    kept = [path for path in Path(settings.EVALSITE_DATA).rglob("*") if path.is_file()]
    assert [path for path in [*kept, *out.values()] if has_key(path)] == []
    assert KEY not in ran.out + caplog.text


def has_key(path):
    try:
        return KEY.encode() in path.read_bytes()
    except FileNotFoundError:
        return False  # a journal of the database or of Redis, gone meanwhile


def test_a_site_without_the_endpoint_says_how_to_get_it(tmp_path, brought, simulator, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    file = write(tmp_path / "brought.yaml", brought)
    ran = command("run", file)
    [told] = [line["text"] for line in ran.lines if line["event"] == "here"]
    assert f"save_endpoint mine --kind openai --base-url {simulator.url}/v1 --key-env" in told
    assert (ran.exit_code, ran.done["run_id"]) == (0, None)
    assert refused("run", file, "--detach", told="save_endpoint mine")
    assert not Run.objects.exists()


def test_a_site_that_has_the_endpoint_takes_the_run_with_its_key(tmp_path, brought, simulator):
    Endpoint.objects.create(name="mine", kind="openai", base_url=f"{simulator.url}/v1")
    ran = command("run", write(tmp_path / "brought.yaml", brought), "--detach")
    assert ran.exit_code == 0, ran.err  # MY_KEY is not set, and nobody asks for it
    run = Run.objects.get()
    assert run.document.keys() & {"endpoints", "rows"} == set()
    assert isinstance(run.document["dataset"], str)
    ran = command("estimate", write(tmp_path / "brought.yaml", brought), "--json")
    assert json.loads(ran.out)["calls_to_send"] == 2


@table(
    ({"a": {"kind": "openai", "api_key": KEY}}, "does not belong"),
    ({"openai": {"key_env": KEY}}, "in capitals"),
    ({"a": {"kind": "opnai"}}, "one of: openai, azure"),
    ({"a": {}}, "Give the kind"),
    ({"a": {"kind": "openai"}}, "needs a base URL"),
    ({"openai": {"speed": 3}}, "Allowed here: kind, base_url"),
    ({"openai": {"max_concurrent": "x"}}, "valid integer"),
    ({"openai": 3}, "Write names with their settings"),
    (["openai"], "Write names with their settings"),
    ({"Mine": {"kind": "ollama"}}, "lower-case"),
    ({"a": {"kind": "openai", "base_url": "http://169.254.169.254/v1"}}, "link-local"),
)
def test_what_is_wrong_with_an_endpoint_is_told_without_a_key(written, told):
    with pytest.raises(ConfigurationError) as wrong:
        take_endpoints({"endpoints": written}, {"OPENAI_API_KEY": KEY})
    messages = [f"{one.path}: {one.message}" for one in wrong.value.problems]
    assert told in messages[0]
    assert messages[0].startswith("endpoints")
    assert KEY not in str(messages)


GROQ, GATE = "https://api.groq.com/openai/v1", "https://gate.example/v1"
ELSEWHERE = "https://elsewhere.example/v1"


@table(
    ({"openai": None}, "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ({"anthropic": {}}, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    ({"ollama": {}}, "http://localhost:11434", ""),
    ({"simulated": {}}, "", ""),
    ({"fast": {"base_url": GROQ}}, GROQ, "GROQ_API_KEY"),
    # The key of a provider goes to nobody else unless the file says so.
    ({"openai": {"base_url": ELSEWHERE}}, ELSEWHERE, ""),
    ({"x": {"kind": "openai", "base_url": GATE, "key_env": "GATE"}}, GATE, "GATE"),
)
def test_a_known_provider_needs_its_name_only(written, url, variable):
    found = take_endpoints({"endpoints": written}, {})
    [endpoint] = found.endpoints.values()
    assert endpoint.base_url == url
    missing = [one.message.split()[5].rstrip(",") for one in found.missing_keys]
    assert missing == ([variable] if variable else [])
    given = take_endpoints({"endpoints": written}, {variable: KEY} if variable else {})
    assert [one.has_key for one in given.with_keys().values()] == [bool(variable)]
    if variable:
        with pytest.raises(ConfigurationError):
            found.with_keys()


def test_a_provider_that_is_known_by_name_need_not_be_written(tmp_path, brought, simulator):
    del brought["endpoints"]
    asked = {**brought, "models": ["simulated/sim-large"]}
    ran = command("run", write(tmp_path / "asked.yaml", asked), "--here")
    assert (ran.exit_code, ran.done["counts"]["done"]) == (0, 2), ran.err
    brought["dataset"] = "sums"
    found = take_endpoints({**brought, "models": ["openai/gpt-4o-mini", "azure/x", "mine/y"]}, {})
    assert list(found.endpoints) == ["openai"]  # azure needs an address, and nobody knows mine
    assert "OPENAI_API_KEY" in found.missing_keys[0].message
    Endpoint.objects.create(name="openai", kind="openai", base_url=ELSEWHERE)
    stored = {**brought, "models": ["openai/gpt-4o-mini"]}
    assert take_endpoints(stored, {}).endpoints == {}, "the site's own is meant"


def test_a_file_of_rows_that_cannot_be_used_is_told(tmp_path, brought):
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "empty.csv").write_text("")
    for dataset, told in [
        ({"file": "absent.csv"}, "absent.csv cannot be read"),
        ({"file": "odd.csv"}, "line 3: This row has 1 field"),
        ({"file": "empty.csv"}, "There are no rows"),
        ({"file": 3}, "Name a .csv"),
        ({"file": "a.csv", "name": "b"}, "one of the three"),
    ]:
        ran = command("run", write(tmp_path / "b.yaml", {**brought, "dataset": dataset}), "--here")
        assert (ran.exit_code, ran.out) == (2, "")
        assert ran.err.startswith("dataset.file: ")
        assert told in ran.err


def test_the_results_of_a_few_runs_are_kept(tmp_path, settings, brought):
    settings.EVALSITE_DATA = tmp_path
    made = []
    for _ in range(result_files.KEPT + 3):
        path = result_files.make_result_file("A name / with [odd] letters")
        path.write_text("")
        made.append(path)
    assert sorted((tmp_path / "results").iterdir()) == made[3:]
    assert made[0].name.endswith("-a-name-with-odd-letters.jsonl")


def test_an_endpoint_is_made_or_changed_or_what_is_wrong_is_told(ada, alice, monkeypatch):
    private = "127.0.0.1:11434 is at a private address (loopback). An admin can allow it"
    wrong = [
        ("main", "--kind:"),
        ("Main --kind simulated", "--name:"),
        ("main --kind openai --base-url http://169.254.169.254/", "--base-url:"),
        ("main --kind ollama --base-url http://127.0.0.1:11434", private),
        ("main --kind simulated --key-env ABSENT", "no such variable"),
        ("main --kind simulated --price a=cheap", "MODEL=IN,OUT"),
        ("main --kind simulated --price a=-1,2", "--prices:"),
        ("main --kind simulated --user alice", "this needs the role operator"),
    ]
    taken = [words for words, told in wrong
             if not refused("save_endpoint", *words.split(), told=told)]  # fmt: skip
    assert taken == []
    assert not Endpoint.objects.exists()
    monkeypatch.setenv("MY_KEY", KEY)
    made = command(
        "save_endpoint", "main", "--kind", "openai", "--base-url", "https://provider.example/v1",
        "--key-env", "MY_KEY", "--models", "a,b", "--price", "a=2.5,10",
    )  # fmt: skip
    assert (made.exit_code, made.out) == (0, "main (OpenAI-compatible).\n")
    assert command("save_endpoint", "main", "--max-concurrent", 7).exit_code == 0
    endpoint = Endpoint.objects.get()
    assert (endpoint.model_names, endpoint.max_concurrent) == (["a", "b"], 7)
    assert endpoint.prices == {"a": {"input": 2.5, "output": 10.0}}
    assert decrypt(endpoint.key_ciphertext) == KEY
