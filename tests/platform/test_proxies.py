"""The client's address behind proxies: from the right, and only from proxies that are trusted."""

import pytest
from django.test import Client, override_settings

from evalsite.env import EnvironmentProblem
from evalsite.proxies import TrustedProxies, client_address, neighbourhood, parse_proxies
from tests.harness.table import row, table
from tests.platform.test_environment import read

NOBODY = TrustedProxies()
ONE, TWO = parse_proxies(("1",)), parse_proxies(("2",))
LIST = parse_proxies(("10.0.0.0/24", "2001:db8::1"))


@table(
    row(NOBODY, "10.0.0.1", "9.9.9.9", "10.0.0.1", id="nobody is trusted by default"),
    row(ONE, "10.0.0.1", "", "10.0.0.1", id="no header"),
    row(ONE, "10.0.0.1", "5.5.5.5", "5.5.5.5", id="one proxy"),
    row(ONE, "10.0.0.1", "9.9.9.9, 5.5.5.5", "5.5.5.5", id="forged in front"),
    row(TWO, "10.0.0.1", "9.9.9.9,5.5.5.5,10.0.0.2", "5.5.5.5", id="two proxies"),
    row(TWO, "10.0.0.1", "5.5.5.5", "5.5.5.5", id="past the outer proxy"),
    row(LIST, "10.0.0.1", "9.9.9.9, 5.5.5.5", "5.5.5.5", id="a listed proxy"),
    row(LIST, "10.0.0.1", "9.9.9.9,5.5.5.5,10.0.0.2", "5.5.5.5", id="two listed"),
    row(LIST, "5.5.5.5", "9.9.9.9", "5.5.5.5", id="past the listed proxy"),
    row(LIST, "2001:db8::1", "2001:db8::99", "2001:db8::99", id="IPv6"),
    row(LIST, "::ffff:10.0.0.1", "5.5.5.5", "5.5.5.5", id="IPv4 in IPv6"),
    row(ONE, "10.0.0.1", "5.5.5.5:4711", "5.5.5.5", id="with a port"),
    row(ONE, "10.0.0.1", "[2001:db8::9]:4711", "2001:db8::9", id="IPv6 with a port"),
    row(ONE, "10.0.0.1", "unknown", "10.0.0.1", id="no address"),
    row(LIST, "testclient", "5.5.5.5", "testclient", id="a peer without address"),
)
def test_only_what_trusted_proxies_added_is_read(trusted, peer, told, client):
    assert client_address(peer, told, trusted) == client


@table(
    ("5.5.5.5", "5.5.5.5"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("::ffff:5.5.5.5", "5.5.5.5"),
    ("", ""),
)
def test_an_ipv6_network_counts_as_one_client(address, counted_as):
    assert neighbourhood(address) == counted_as


@table("11", "-1", "proxy.example", "10.0.0.1/24", "1, 10.0.0.1")
def test_a_wrong_setting_is_refused_with_its_name_and_what_is_allowed(tmp_path, value):
    with pytest.raises(EnvironmentProblem, match=r"EVALSITE_TRUSTED_PROXIES is .* 10\.0\.0\.0/24"):
        read(tmp_path, EVALSITE_TRUSTED_PROXIES=value)


def test_the_setting_is_a_number_or_a_list(tmp_path):
    assert read(tmp_path).trusted_proxies == NOBODY
    assert read(tmp_path, EVALSITE_TRUSTED_PROXIES="2").trusted_proxies == TWO
    listed = read(tmp_path, EVALSITE_TRUSTED_PROXIES="10.0.0.0/24, 2001:db8::1")
    assert listed.trusted_proxies == LIST


@table((NOBODY, "10.0.0.1"), (ONE, "5.5.5.5"))
def test_every_request_carries_the_address_of_its_client(trusted, seen):
    with override_settings(TRUSTED_PROXIES=trusted):
        answer = Client().get(
            "/healthz", headers={"X-Forwarded-For": "9.9.9.9, 5.5.5.5"}, REMOTE_ADDR="10.0.0.1"
        )
    assert answer.wsgi_request.META["REMOTE_ADDR"] == seen
