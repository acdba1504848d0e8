"""The environment: what is missing has a default, what is wrong is named."""

import os
import stat
import subprocess
import sys

import pytest
from django.test import override_settings

from evalsite.commit import find_commit
from evalsite.data_folder import close_to_others
from evalsite.database import database_settings
from evalsite.env import (
    BASE_DIR,
    EnvironmentProblem,
    read_environment,
    redis_url_file,
    simulator_url_file,
)
from evalsite.mail import read_mail
from runs.checks import check_cookies, check_proxies
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table


def read(tmp_path, **variables):
    return read_environment({"EVALSITE_DATA": str(tmp_path / "data"), **variables})


@table(
    row("EVALSITE_DEBUG", "maybe", "one of: 1, true", id="switch"),
    row("EVALSITE_PRIVATE_ENDPOINTS", "never", "to ask or refuse", id="choice"),
    row("EVALSITE_WORKERS", "two", "whole number from 1 to 256", id="number"),
    row("EVALSITE_WORKERS", "0", "whole number from 1 to 256", id="too few"),
    row("EVALSITE_ALLOWED_HOSTS", "*", "List the host names", id="any host"),
    row("EVALSITE_ALLOWED_HOSTS", "a.example,*.b", "List the host", id="wild host"),
    row("EVALSITE_ORIGINS", "eval.example.com", "scheme://host:port", id="no scheme"),
    row("EVALSITE_ORIGINS", "https://*.b.com", "without path or wildcard", id="wild"),
    row("EVALSITE_ORIGINS", "http://a.b/c", "without path", id="with a path"),
    row("EVALSITE_SECRET_KEY", "short", "at least 50", id="short key"),
    row("EVALSITE_SECRET_KEY", "a" * 60, "random ones", id="key of one letter"),
    row("EVALSITE_SECRET_KEY_FILE", "/nowhere/key", "readable file", id="lost file"),
    row("EVALSITE_DATA", "/dev/null/data", "--data DIR", id="a folder that cannot be made"),
)
def test_a_wrong_value_is_refused_with_its_name_and_what_is_allowed(tmp_path, name, value, advice):
    with pytest.raises(EnvironmentProblem) as problem:
        read(tmp_path, **{name: value})
    assert name in str(problem.value)
    assert advice in str(problem.value)


def test_a_folder_that_was_there_before_is_closed_to_others(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    for _ in range(2):  # empty, and with what an earlier start left
        read(tmp_path)
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        (data / "keys" / "endpoint_keys").touch()
        for path in (data, data / "keys"):
            path.chmod(0o755)
        for name in ("secret_key", "endpoint_keys"):
            (data / "keys" / name).chmod(0o644)
    read(tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [data, *data.rglob("*")]}
    assert modes == {"data": 0o700, "keys": 0o700, "secret_key": 0o600, "endpoint_keys": 0o600}


@table(0o755, 0o1777)
def test_a_folder_of_others_is_warned_about_and_left_as_it_is(tmp_path, caplog, mode):
    """Nobody else could use /tmp any more."""
    data = tmp_path / f"{mode}"
    data.mkdir()
    (data / "notes.txt").touch()
    data.chmod(mode)
    close_to_others(data)
    assert stat.S_IMODE(data.stat().st_mode) == mode
    assert f"Other accounts of this machine can read {data}" in caplog.text


def test_the_secret_key_is_made_once_closed_to_others_and_a_secret_may_be_a_file(tmp_path):
    environment = read(tmp_path)
    assert stat.S_IMODE(environment.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((environment.data / "keys" / "secret_key").stat().st_mode) == 0o600
    assert len(environment.secret_key) >= 50
    assert read(tmp_path).secret_key == environment.secret_key
    path = tmp_path / "url"
    path.write_text("redis://:password@somewhere:6379/0\n")
    environment = read(tmp_path, REDIS_URL_FILE=str(path))
    assert environment.redis_url == "redis://:password@somewhere:6379/0"


def test_commands_find_the_redis_and_the_simulated_provider_of_a_running_serve(tmp_path):
    data = read(tmp_path).data
    assert read(tmp_path).simulator_url == "http://127.0.0.1:8765"
    redis_url_file(data).parent.mkdir()
    redis_url_file(data).write_text("redis://:secret@127.0.0.1:5555/0")
    simulator_url_file(data).write_text("http://127.0.0.1:5556")
    found = read(tmp_path)
    assert found.redis_url == "redis://:secret@127.0.0.1:5555/0"
    assert found.simulator_url == "http://127.0.0.1:5556"
    named = read(tmp_path, REDIS_URL="redis://named:1/0", EVALSITE_SIMULATOR_URL="http://named:1")
    assert (named.redis_url, named.simulator_url) == ("redis://named:1/0", "http://named:1")


def test_hosts_follow_from_the_origins_and_always_include_loopback(tmp_path):
    environment = read(tmp_path, EVALSITE_ORIGINS="https://eval.example.com,https://[::2]:8443")
    named, loopback = ("eval.example.com", "[::2]"), ("127.0.0.1", "localhost", "[::1]")
    assert environment.allowed_hosts == named + loopback
    assert environment.is_https


@table(
    row(None, "sqlite3", "DATA/evalsite.sqlite3", None, id="default"),
    row("sqlite:////x/y.sqlite3", "sqlite3", "/x/y.sqlite3", None, id="a file"),
    row("postgres://u:p%40@h:5/d", "postgresql", "d", "h", id="tcp"),
    row("postgresql://u@/d?host=/run/pg", "postgresql", "d", "/run/pg", id="socket"),
)
def test_database_urls(tmp_path, url, engine, name, host):
    settings = database_settings(url, tmp_path)
    assert settings["ENGINE"].endswith(engine)
    assert str(settings["NAME"]) == name.replace("DATA", str(tmp_path))
    assert settings.get("HOST") == host
    assert settings.get("PASSWORD", "") in {"", "p@"}


@table("mysql://u@h/d", "postgresql://u@h", "nonsense")
def test_an_unknown_database_is_refused_without_showing_its_password(tmp_path, url):
    with pytest.raises(EnvironmentProblem, match=r"DATABASE_URL .* postgresql://USER"):
        database_settings(url, tmp_path)


def manage(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE_DIR,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@table(
    ("EVALSITE_ALLOWED_HOSTS", "*", " contains '*'"),
    ("EVALSITE_PLUGINS", "no_such.agent", " names 'no_such.agent', which is not there."),
)
def test_a_command_stops_with_the_message_alone_and_exit_code_2(tmp_path, name, value, told):
    done = manage("check", **{name: value, "EVALSITE_DATA": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr.startswith(name + told)
    assert "Traceback" not in done.stderr


BEHIND_TLS = {"EVALSITE_ORIGINS": "https://eval.example.com", "EVALSITE_TRUSTED_PROXIES": "1"}


@table(
    row("--data {folder}/plain", {}, id="plain http"),
    row("--data={folder}/tls", BEHIND_TLS, id="behind TLS"),
)
def test_the_deployment_check_is_clean_and_takes_the_data_option(tmp_path, option, variables):
    """As every command does, in either spelling."""
    given = option.format(folder=tmp_path).split()
    done = manage("check", "--deploy", "--fail-level", "WARNING", *given, **variables)
    assert done.returncode == 0, done.stderr
    name = option.rpartition("/")[2]
    assert (tmp_path / name / "keys" / "secret_key").exists()


@table(
    row({}, ["runs.I001"], id="plain http on this machine"),
    row({"EVALSITE_ORIGINS": "http://eval.lan"}, ["runs.W002"], id="plain http"),
    row({"EVALSITE_ORIGINS": "https://eval.example,http://eval.lan"}, ["runs.W002"], id="both"),
    row({"EVALSITE_ORIGINS": "https://eval.example"}, ["runs.W003"], id="no proxy"),
    row(BEHIND_TLS, [], id="https behind a trusted proxy"),
)
def test_the_deployment_check_tells_of_open_cookies_and_unknown_proxies(tmp_path, variables, found):
    environment = read(tmp_path, **variables)
    with override_settings(
        ENVIRONMENT=environment,
        ORIGINS=environment.origins,
        TRUSTED_PROXIES=environment.trusted_proxies,
    ):
        messages = [*check_cookies(), *check_proxies()]
    assert [message.id for message in messages] == found


def git_folder(folder, head, **files):
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    for name, text in files.items():
        (folder / ".git" / name.replace("__", "/").replace("_", "-")).write_text(text)
    return folder


MAIN = "ref: refs/heads/main\n"
PACKED = "# pack-refs\nfff refs/heads/other\nabc123 refs/heads/main\n"


@table(
    row("abc123\n", {}, id="detached"),
    row(MAIN, {"refs__heads__main": "abc123\n"}, id="branch"),
    row(MAIN, {"packed_refs": PACKED}, id="packed"),
)
def test_the_commit_is_read_from_the_checkout(tmp_path_factory, head, files):
    assert find_commit(git_folder(tmp_path_factory.mktemp("it"), head, **files)) == "abc123"


def test_the_commit_of_an_image_or_of_another_worktree_is_found(tmp_path):
    assert find_commit(tmp_path) == ""
    assert read(tmp_path, EVALSITE_COMMIT="def456").commit == "def456"
    main = git_folder(tmp_path / "main", MAIN, refs__heads__main="abc123\n")
    own = main / ".git" / "worktrees" / "second"
    own.mkdir(parents=True)
    (own / "HEAD").write_text(MAIN)
    (own / "commondir").write_text("../..\n")
    second = tmp_path / "second"
    second.mkdir()
    (second / ".git").write_text(f"gitdir: {own}\n")
    assert find_commit(second) == "abc123"


@table(
    ("smtp://mail.example", ("mail.example", 25, "", "", False, False)),
    ("smtp+starttls://ada:p%40ss@mail.example", ("mail.example", 587, "ada", "p@ss", True, False)),
    ("smtps://mail.example:2465", ("mail.example", 2465, "", "", False, True)),
)
def test_a_mail_server_is_one_address(url, expected):
    assert read_mail(url, "evalsite@example.org")[:-1] == expected


@table("http://mail.example", "smtp://", "smtp://mail.example:x", "smtp://m.example/path")
def test_a_mail_server_that_cannot_be_read_is_refused_without_its_password(tmp_path, url):
    with_secret = url.replace("://", "://ada:secret@")
    environ = {"EVALSITE_DATA": str(tmp_path), "EVALSITE_MAIL_URL": with_secret}
    with pytest.raises(EnvironmentProblem, match="EVALSITE_MAIL_FROM must say"):
        read_environment(environ)
    with pytest.raises(EnvironmentProblem, match="EVALSITE_MAIL_URL cannot be read") as caught:
        read_environment({**environ, "EVALSITE_MAIL_FROM": "evalsite@example.org"})
    assert "secret" not in str(caught.value)
