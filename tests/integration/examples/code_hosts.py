# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""As much of the REST interfaces of GitHub and GitLab as the examples of pipelines use, on loopback.

After https://docs.github.com/en/rest (issue comments, artifacts, pull requests of a commit) and
https://docs.gitlab.com/api/ (notes, job artifacts, merge requests of a commit).
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import threading
import typing as t
import zipfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "token-of-the-host"
MOST = 65_536
BESIDE = "ansible.cfg"
Document = dict[str, t.Any]


@dataclass
class Host:
    """What people and jobs have left on the host; ``changed`` counts the writes of comments."""

    comments: list[Document] = field(default_factory=list)
    artifacts: list[Document] = field(default_factory=list)
    files: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    merged: list[Document] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    url: str = ""

    def comment(self, author: str, body: str) -> None:
        number = len(self.comments) + 1
        user = {"login": author, "id": len(author)}
        self.comments.append({"id": number, "body": body, "user": user, "author": user})

    def keep(self, name: str, file: str, content: bytes, branch: str, sha: str, repository: int = 7) -> None:
        """An artifact as GitHub keeps it, with what somebody has put beside the file."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(file, content)
            archive.writestr(BESIDE, "[defaults]\n")
        number = len(self.artifacts) + 1
        run = {"head_branch": branch, "head_sha": sha, "head_repository_id": repository}
        self.artifacts.append(
            {
                "id": number,
                "name": name,
                "expired": False,
                "created_at": f"2026-01-01T00:00:{number:02}Z",
                "archive_download_url": f"{self.url}/archives/{number}",
                "workflow_run": run,
                "content": packed.getvalue(),
            }
        )

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Document) -> t.Any:
        """What the interface answers; None for what it has not."""
        if re.fullmatch(r"/repos/o/r/actions/artifacts", path):
            found = [each for each in self.artifacts if each["name"] == query["name"][0]]
            return {"artifacts": [{key: each[key] for key in each if key != "content"} for each in reversed(found)]}
        if re.fullmatch(r"/repos/o/r/commits/\w+/pulls|/projects/7/repository/commits/\w+/merge_requests", path):
            return self.merged
        if path == "/user":
            return {"id": len("fleet-bot")}
        if re.fullmatch(r"/repos/o/r/issues/5/comments|/projects/7/merge_requests/5/notes", path):
            if method == "POST":
                return self._write("github-actions[bot]" if "repos" in path else "fleet-bot", body)
            first = (int(query["page"][0]) - 1) * 100
            return self.comments[first : first + 100]
        one = re.fullmatch(r"(?:/repos/o/r/issues/comments|/projects/7/merge_requests/5/notes)/(\d+)", path)
        if one and method in ("PATCH", "PUT"):
            self.changed.append(method)
            found = self.comments[int(one[1]) - 1]
            assert len(body["body"]) < MOST
            found["body"] = body["body"]
            return found
        return None

    def _write(self, author: str, body: Document) -> Document:
        assert len(body["body"]) < MOST
        self.changed.append("POST")
        self.comment(author, body["body"])
        return self.comments[-1]


@contextlib.contextmanager
def code_host() -> t.Iterator[Host]:
    """A host on loopback, gone in the end."""
    host = Host()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            path, query = parts.path, parse_qs(parts.query)
            token = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get(
                "PRIVATE-TOKEN", self.headers.get("JOB-TOKEN", "")
            )
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}") if length else {}
            if path.startswith("/blobs/"):
                # Another host in earnest: whoever shows it the token has leaked it.
                if token:
                    host.leaked.append(path)
                return self.tell(200, host.artifacts[int(path.rpartition("/")[2]) - 1]["content"])
            if token != TOKEN:
                return self.tell(401, b"{}")
            if path.startswith("/archives/"):
                return self.tell(302, b"", f"{host.url}/blobs/{path.rpartition('/')[2]}")
            raw = re.fullmatch(r"/projects/7/jobs/artifacts/(.+)/raw/(.+)", path)
            if raw:
                content = host.files.get((unquote(raw[1]), query["job"][0], raw[2]))
                return self.tell(404 if content is None else 200, content or b"{}")
            found = host.answer(self.command, path, query, body)
            return self.tell(404 if found is None else 201 if self.command == "POST" else 200, json.dumps(found))

        do_GET = do_POST = do_PATCH = do_PUT = handle_any

        def tell(self, status: int, content: bytes | str, location: str = "") -> None:
            data = content.encode() if isinstance(content, str) else content
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_told: t.Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
