# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a pool of connections is made of."""

from __future__ import annotations

import base64

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube import transport
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection


@pytest.mark.parametrize(
    ("user", "pair"),
    [
        ("jo:pass%2Fword", b"jo:pass/word"),
        ("j%C3%B6:p%C3%A4ss", "jö:päss".encode()),
        ("jo:%E2%82%AC20", "jo:€20".encode()),
        ("jo:%FF", b"jo:\xff"),
        ("jo", b"jo:"),
    ],
)
def test_a_proxy_is_shown_the_bytes_that_its_url_encodes(user: str, pair: bytes) -> None:
    """As kubectl does; whatever the letters are."""
    made = transport.pool(Connection("http://127.0.0.1:1", proxy=f"http://{user}@127.0.0.1:2"), None, 1)
    assert made.proxy_headers["proxy-authorization"] == f"Basic {base64.b64encode(pair).decode()}"


def test_a_proxy_without_a_user_is_shown_nothing() -> None:
    made = transport.pool(Connection("http://127.0.0.1:1", proxy="http://127.0.0.1:2"), None, 1)
    assert "proxy-authorization" not in made.proxy_headers
