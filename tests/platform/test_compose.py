"""Dockerfile and compose.yaml: they mirror `serve`, and no container has more than it needs."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsite import sign_in_provider
from evalsite.embedded import parts
from evalsite.embedded.parts import Plan, web_part
from evalsite.env import BASE_DIR, EnvironmentProblem, read_environment
from tests.harness.postgres import SUPERUSER, PostgresServer
from tests.harness.table import table
from tests.platform.test_environment import manage

COMPOSE: dict[str, Any] = yaml.safe_load((BASE_DIR / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (BASE_DIR / "Dockerfile").read_text()
FINAL_STAGE = DOCKERFILE.rpartition("\nFROM ")[2]
IMAGE_COMMAND = json.loads(re.findall(r"^CMD (.+)$", FINAL_STAGE, re.MULTILINE)[-1])


def test_the_parts_are_those_of_serve_and_the_stores_on_the_inner_network_alone():
    assert set(SERVICES) == {"web", "worker", "simulator", "migrate", "redis", "postgres"}
    for name in ("redis", "postgres"):
        assert SERVICES[name]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True


@table(*SERVICES)
def test_no_container_has_more_than_it_needs(name):
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]
    assert service["pids_limit"] > 0
    assert service["mem_limit"]
    assert not {"privileged", "cap_add"} & set(service)
    ports = service.get("ports", [])
    assert bool(ports) == (name == "web"), "only the web is published"
    assert all(port.startswith("127.0.0.1:") for port in ports), "and only to this machine"
    variables = service.get("environment", {})
    passwords = [key for key in variables if re.search("PASSWORD|SECRET|URL$", key)]
    assert all(key.endswith("_FILE") or key == "EVALSITE_SIMULATOR_URL" for key in passwords)
    assert "requirepass" not in service.get("command", [])


def test_secrets_are_files_made_by_the_script_which_replaces_none(tmp_path):
    folder = tmp_path / "secrets"
    script = [sys.executable, BASE_DIR / "scripts" / "make_secrets.py", folder]
    subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    declared = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    used = {secret for service in SERVICES.values() for secret in service.get("secrets", [])}
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(before) == declared == used
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    again = subprocess.run(script, capture_output=True, text=True)
    assert again.returncode == 1, "passwords in use must not be replaced"
    assert "nothing was changed" in again.stderr
    # Redis keeps none, so its own may be made anew; the database was made with its own.
    of_redis = {name for name in before if "redis" in name}
    for name in of_redis:
        (folder / name).unlink()
    subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    after = {path.name: path.read_text() for path in folder.iterdir()}
    assert {name for name in after if after[name] != before[name]} == of_redis


def test_web_and_worker_enter_redis_as_themselves():
    for name in ("web", "worker"):
        service = SERVICES[name]
        assert service["environment"]["REDIS_URL_FILE"] == f"/run/secrets/{name}_redis_url"
        assert [one for one in service["secrets"] if "redis" in one] == [f"{name}_redis_url"]


def test_the_sign_in_provider_is_set_for_the_web_alone_and_its_secret_is_a_file():
    passed = {
        name: {key for key in service.get("environment", {}) if "OIDC" in key}
        for name, service in SERVICES.items()
    }
    written = map(str, vars(sign_in_provider).values())
    known = {value for value in written if value.startswith("EVALSITE_OIDC_")}
    file = f"{sign_in_provider.SECRET}_FILE"
    web = SERVICES["web"]["environment"]
    assert {name for name, keys in passed.items() if keys} == {"web"}
    assert passed["web"] == known - {sign_in_provider.SECRET} | {file}
    assert all(web[key] == f"${{{key}:-}}" for key in passed["web"] - {file})
    secret = Path(web[file]).name
    holders = [name for name in SERVICES if secret in SERVICES[name].get("secrets", [])]
    assert holders == ["web"]


def test_without_a_provider_the_web_starts_with_the_empty_secret(tmp_path):
    (tmp_path / "secret").write_text("\n")
    given = {key: "" for key in SERVICES["web"]["environment"] if "OIDC" in key}
    given[f"{sign_in_provider.SECRET}_FILE"] = str(tmp_path / "secret")
    assert read_environment({**given, "EVALSITE_DATA": str(tmp_path)}).sign_in_provider is None
    given |= {sign_in_provider.ISSUER: "https://login.example.com", sign_in_provider.CLIENT: "x"}
    with pytest.raises(EnvironmentProblem, match=sign_in_provider.SECRET):
        read_environment({**given, "EVALSITE_DATA": str(tmp_path)})
    (tmp_path / "secret").write_text("s\n")
    found = read_environment({**given, "EVALSITE_DATA": str(tmp_path)}).sign_in_provider
    assert found is not None
    assert (found.issuer, found.client_secret) == ("https://login.example.com", "s")


def test_redis_keeps_its_messages_migrations_come_first_and_a_worker_has_time():
    command = " ".join(SERVICES["redis"]["command"])
    assert "--appendonly yes" in command
    assert "--appendfsync everysec" in command
    assert "--maxmemory-policy noeviction" in command
    seconds = int(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))
    assert seconds > parts.WORKER_GRACE_SECONDS
    for name in ("web", "worker"):
        assert SERVICES[name]["depends_on"]["migrate"] == {
            "condition": "service_completed_successfully"
        }


def test_the_image_starts_the_web_and_the_simulator_as_serve_does():
    plan = Plan("0.0.0.0", 8000, 8765, workers=2, origins=(), redis=None)
    assert ["python", *web_part(plan, {}).argv[1:]] == IMAGE_COMMAND
    argv = [word for word in SERVICES["simulator"]["command"] if word not in {"--host", "0.0.0.0"}]
    assert argv[2:] == parts.simulator_part(plan, {}).argv[2:]


def test_the_image_runs_unprivileged_from_a_clean_stage():
    assert DOCKERFILE.count("\nFROM ") == 3
    assert re.search(r"^USER 10001:10001$", FINAL_STAGE, re.MULTILINE)
    assert "HEALTHCHECK" in FINAL_STAGE
    assert "apt-get" not in DOCKERFILE
    assert "--require-hashes" in DOCKERFILE


def test_the_build_sees_only_what_it_copies():
    lines = (BASE_DIR / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    assert allowed == {word for line in copied for word in line.split()}


def test_the_role_of_the_site_may_change_rows_but_not_tables(tmp_path):
    with PostgresServer() as server:

        def ask(role, sql):
            psql, socket = str(server.binaries / "psql"), str(server.folder)
            argv = [psql, "-h", socket, "-U", role, "-d", "postgres"]
            return subprocess.run([*argv, "-c", sql], capture_output=True, text=True)

        for name in ("owner", "app"):
            (tmp_path / name).write_text("it's a password")
        subprocess.run(
            [BASE_DIR / "deploy" / "postgres_roles.sh"],
            check=True,
            stdout=subprocess.DEVNULL,
            env={
                "PATH": f"{server.binaries}{os.pathsep}{os.environ['PATH']}",
                "PGHOST": str(server.folder),
                "POSTGRES_DB": "postgres",
                "POSTGRES_USER": SUPERUSER,
                "OWNER_PASSWORD_FILE": str(tmp_path / "owner"),
                "APP_PASSWORD_FILE": str(tmp_path / "app"),
            },
        )
        assert ask("evalsite_owner", "CREATE TABLE runs (id bigserial, name text)").returncode == 0
        assert ask("evalsite", "INSERT INTO runs (name) VALUES ('a')").returncode == 0
        assert ask("evalsite", "DELETE FROM runs").returncode == 0
        assert "permission denied" in ask("evalsite", "CREATE TABLE mine (id int)").stderr
        assert "must be owner" in ask("evalsite", "DROP TABLE runs").stderr
        assert "permission denied" in ask("evalsite_owner", "CREATE ROLE more").stderr
        migrate = manage("migrate", DATABASE_URL=server.url_for("evalsite_owner"))
        assert migrate.returncode == 0, migrate.stderr
        account = {"DJANGO_SUPERUSER_PASSWORD": "a long enough password"}
        options = ["--no-input", "--username", "alice", "--email", "alice@example.com"]
        first = manage(
            "createsuperuser", *options, DATABASE_URL=server.url_for("evalsite"), **account
        )
        assert first.returncode == 0, first.stderr
