# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What we have shown to a server is found again in what it says. (F23)"""

from __future__ import annotations

import base64
import json
import threading
import tracemalloc
from urllib.parse import quote, quote_plus

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection, Credential
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import (
    KnownSecrets,
    other_secrets_of,
    passwords_in,
    secrets_of,
)
from hypothesis import given
from hypothesis import strategies as st

TOKEN = "canary-Token_0123/+=4567"


def known(*secrets: str) -> KnownSecrets:
    found = KnownSecrets()
    found.add(*secrets)
    return found


@pytest.mark.parametrize(
    "form",
    [
        TOKEN,
        f"Bearer {TOKEN}!",
        quote(TOKEN, safe=""),
        quote_plus(TOKEN),
        base64.b64encode(TOKEN.encode()).decode(),
        base64.urlsafe_b64encode(TOKEN.encode()).decode(),
        base64.b64encode(f"Bearer {TOKEN} and more".encode()).decode(),
        base64.b64encode(f"a{TOKEN}".encode()).decode(),
        base64.b64encode(f"ab{TOKEN}c".encode()).decode(),
    ],
)
def test_each_form_is_found(form):
    hidden = known(TOKEN).without_secrets(f"it said {form}, so there")
    assert "(hidden)" in hidden and hidden.startswith("it said ") and hidden.endswith(", so there")
    for part in (TOKEN[3:], form[8:-8]):
        assert part not in hidden


def test_a_password_with_quotes_is_found_in_json_and_in_go():
    password = 'a"b\\c<d>&é-password'
    for form in (
        json.dumps(password),
        json.dumps(password, ensure_ascii=False),
        '"a\\"b\\\\c\\u003cd\\u003e\\u0026é-password"',
    ):
        assert known(password).without_secrets(form) == '"(hidden)"'


@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize("password", ['a"quoted-one', "back\\slashed-one", "é-accented-one", "less<than&more-one"])
def test_a_password_is_found_in_json_within_json(password, letters):
    """A server shows the body of a request in its message."""
    inner = json.dumps({"password": password}, ensure_ascii=letters)
    for text in (inner, inner.replace("<", "\\u003c").replace("&", "\\u0026")):
        for outer in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
            assert "(hidden)" in known(password).without_secrets(outer)
            assert "one" not in known(password).without_secrets(outer)


def test_a_short_secret_is_hidden_where_it_stands_alone():
    assert (
        known("test").without_secrets('User "test" (test) of latest tests')
        == 'User "(hidden)" ((hidden)) of latest tests'
    )


def test_no_tail_of_a_longer_one_is_left():
    assert known("canary-one", "canary-one-two").without_secrets("canary-one-two") == "(hidden)"


@pytest.mark.parametrize(
    ("secrets", "text"),
    [
        (("canary-first-a", "a-tail-of-it"), "canary-first-a-tail-of-it"),
        (("canary-canary",), "canary-canary-canary"),
        (("canary-first", "tail"), "canary-first/tail"),
        (("canary-first", "tail"), "canary-firsttail"),
        (
            ("canary-first-of-those", "canary-second"),
            base64.b64encode(b":canary-first-of-those").decode().rstrip("=") + "canary-second",
        ),
    ],
)
def test_no_tail_is_left_of_what_overlaps_or_follows(secrets, text):
    """Nor where that of one is taken for base64 around the other."""
    hide = known(*secrets)
    for hidden in (hide.without_secrets(f"it said {text}."), hide.masker_of(json.dumps([text]))(f"it said {text}.")):
        assert hidden.startswith("it said (hidden)") and hidden.endswith("(hidden).")
        assert "tail" not in hidden and "canary" not in hidden and "second" not in hidden


def test_nothing_known_changes_nothing():
    assert known("").without_secrets("text") == known().without_secrets("text") == "text"


def test_many_texts_at_once():
    texts = ["x canary-one y", "nothing"]
    hide = known("canary-one", *(f"secret-number-{number}" for number in range(1000))).masker_of(json.dumps(texts))
    assert list(map(hide, texts)) == ["x (hidden) y", "nothing"]


def test_what_a_proxy_was_shown_is_known_however_short_the_password_is():
    """A proxy, too, may send back the header that it was given."""
    shown = base64.b64encode(b"jo:pass-1").decode()
    hide = known(*secrets_of(Credential(), Connection("http://a:6443", proxy="http://jo:pass-1@p:1")))
    assert hide.without_secrets(f"Proxy-Authorization: Basic {shown}") == "Proxy-Authorization: Basic (hidden)"
    user_alone = Connection("http://a:6443", proxy="http://runners@p:1")
    assert known(*secrets_of(Credential(), user_alone)).without_secrets("runners: 2") == "runners: 2"


def test_a_token_that_a_proxy_takes_as_its_user_is_known():
    token = "ghp-canary-0123456789"
    hide = known(*secrets_of(Credential(), Connection("http://a:6443", proxy=f"http://{token}@p:1")))
    header = base64.b64encode(f"{token}:".encode()).decode()
    assert hide.without_secrets(f"no {token} here; Basic {header}") == "no (hidden) here; Basic (hidden)"


def test_what_is_known_of_a_connection():
    pair = base64.b64encode(b"jo:pass-word").decode()
    basic = Credential(authorization=f"Basic {pair}")
    proxied = Connection("https://a:6443", proxy="http://me:proxy%2Fpassword@p:1", token="static-token")
    assert {pair, "jo:pass-word", "pass-word", "proxy%2Fpassword", "proxy/password", "static-token"} <= set(
        secrets_of(basic, proxied)
    )
    pem = b"-----BEGIN KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END KEY-----\n"
    asked = Connection("https://a:6443", client_key=pem, impersonate=(("Impersonate-User", "jo"),))
    assert set(other_secrets_of(asked, Credential())) == {"AAAABBBBCCCC", "DDDDEEEEFFFF", "jo"}
    assert "-----BEGIN KEY-----" not in other_secrets_of(asked, Credential())


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://host/path", set()),
        ("https://me@host", set()),
        ("https://me:a%2Fb@host", {"a%2Fb", "a/b"}),
        ("postgres://h/db?user=me&password=a%26b&sslPassword=c&sslkey=d", {"a%26b", "a&b", "c"}),
        ("https://me:a[b@host", set()),
    ],
)
def test_passwords_in_a_url(url, found):
    assert set(passwords_in(url)) - {""} == found


def test_a_credential_that_is_no_base64_harms_nobody():
    assert secrets_of(Credential(authorization="Basic ###"), Connection("https://a:6443"))[0] == "###"


def test_what_is_known_is_in_no_repr():
    assert "canary" not in repr(known("canary-one")) + repr({"secrets": known("canary-one")})


@given(st.text(min_size=1, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_no_secret_that_can_be_told_from_others_survives(secret, before, after):
    hidden = known(secret).without_secrets(f"{before} {secret} {after}")
    if len(secret) >= 8 and secret not in "(hidden)":
        assert secret not in hidden


def test_each_of_many_secrets_is_found_wherever_it_stands() -> None:
    """Of any length, with and without what JSON escapes: short ones are searched for, long ones are looked up."""
    tokens = [f"{'t' * (number % 40)}{'<' if number % 3 else chr(34)}{number:05d}-end" for number in range(60)]
    fleet = known(*tokens)
    for token in tokens:
        for form in (token, base64.b64encode(token.encode()).decode()):
            for before in range(20):
                text = f"{'.' * before}{form}."
                assert form not in fleet.without_secrets(text)
                assert form not in fleet.masker_of(json.dumps([text]))(text)


class Searched(str):
    """A text that counts how often something is looked for in it."""

    times = 0

    def __contains__(self, part: str) -> bool:
        self.times += 1
        return super().__contains__(part)


def test_a_text_is_not_searched_once_for_each_member_of_the_fleet() -> None:
    fleet = known(*(f"{'eyJhbGciOiJSUzI1NiJ9.' * 20}{number:032x}" for number in range(1_000)))
    text = Searched("node-1\npool-a\nv1.33.1\nUbuntu 22.04.4 LTS\nm5.large\ncpu\nmemory" * 50)
    assert fleet.without_secrets(text) == text and fleet.masker_of(text)(text) == text
    assert text.times == 0


def test_a_long_text_is_looked_through_without_a_copy_of_it() -> None:
    """The result of a change to thousands of members is a text of 10 MB: eight times that is more than all the rest."""
    fleet = known(*(f"{number:032x}" for number in range(100)))
    text = "node-1 " * 100_000
    tracemalloc.start()
    try:
        assert fleet.masker_of(text)("node-1") == "node-1"
        assert tracemalloc.get_traced_memory()[1] < len(text)
    finally:
        tracemalloc.stop()


def test_what_two_threads_add_at_once_is_told_before_either_goes_on() -> None:
    """The second finds nothing new, and would show it to a server while the first has not told of it yet."""
    secrets, shown, came = KnownSecrets(), threading.Event(), []

    def add_too() -> None:
        secrets.add("canary-one")
        came.append("shown")
        shown.set()

    second = threading.Thread(target=add_too)

    def hears(_forms: object) -> None:
        """Takes its time: as long as the second thread needs, where that waits for nobody."""
        second.start()
        shown.wait(0.5)
        came.append("told")

    secrets.tell_new_to(hears)
    secrets.add("canary-one")
    second.join()
    assert came == ["told", "shown"]
