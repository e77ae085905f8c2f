"""The manifest in an editor: a real language server reads it with the schema that its first line names."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from projects import Project
from tools import need_python_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST = """\
#:schema ./agent-skills.schema.json


[providers.gem]
sus = {  }
bake = 3
"""


class Editor:
    """An editor with one open file, by the protocol that language servers speak."""

    def __init__(self, given: IO[bytes], answers: IO[bytes], file: Path) -> None:
        self._given = given
        self._answers = answers
        self._number = 0
        self._file = {"uri": file.as_uri()}
        folder = {"uri": file.parent.as_uri(), "name": "app"}
        capabilities: dict[str, Any] = {
            "textDocument": {"completion": {}, "hover": {}, "diagnostic": {}, "publishDiagnostics": {}}
        }
        self._ask("initialize", processId=os.getpid(), workspaceFolders=[folder], capabilities=capabilities)
        self._send("initialized", {})
        text = file.read_text(encoding="utf-8")
        self._send(
            "textDocument/didOpen", {"textDocument": {**self._file, "languageId": "toml", "version": 1, "text": text}}
        )
        # By then it has read the schema.
        self._until(lambda said: said.get("method") == "textDocument/publishDiagnostics")

    def completions(self, line: int, column: int) -> dict[str, str]:
        """What is offered at a place, both from 0, with what explains it."""
        found = self._ask("textDocument/completion", textDocument=self._file, position=_position(line, column))
        items = found["items"] if isinstance(found, dict) else found or []
        return {item["label"]: item["documentation"]["value"] for item in items}

    def hover(self, line: int, column: int) -> str:
        """What is told of what stands at a place."""
        found = self._ask("textDocument/hover", textDocument=self._file, position=_position(line, column))
        return str(found["contents"]["value"])

    def wrong(self) -> set[int]:
        """The lines in which something is wrong, from 0."""
        found = self._ask("textDocument/diagnostic", textDocument=self._file)
        return {item["range"]["start"]["line"] for item in found["items"]}

    def _ask(self, method: str, **parameters: Any) -> Any:  # noqa: ANN401  # as the protocol has it
        self._number += 1
        self._send(method, parameters, id=self._number)
        return self._until(lambda answer: answer.get("id") == self._number and "method" not in answer)["result"]

    def _until(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read what the server says up to something that is waited for."""
        while True:
            length = 0
            while line := self._answers.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            said: dict[str, Any] = json.loads(self._answers.read(length))
            if is_wanted(said):
                return said
            if "id" in said:  # it asks the editor for something that this one hasn't
                self._write({"id": said["id"], "result": None})

    def _send(self, method: str, parameters: dict[str, Any], **more: int) -> None:
        self._write({"method": method, "params": parameters, **more})

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._given.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._given.flush()


def _position(line: int, column: int) -> dict[str, int]:
    return {"line": line, "character": column}


@contextmanager
def editing(file: Path) -> Iterator[Editor]:
    # Else the server would ask the net for a catalogue of schemas.
    (file.parent / "tombi.toml").write_text("[schema]\ncatalog = { paths = [] }\n", encoding="utf-8")
    command = (need_python_tool("tombi"), "lsp")
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, cwd=file.parent) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield Editor(server.stdin, server.stdout, file)
        finally:
            server.kill()


def test_an_editor_completes_explains_and_checks_the_manifest(tmp_path: Path) -> None:
    schema = Project(tmp_path / "nowhere").done("help", "--schema", "manifest").out
    (tmp_path / "agent-skills.schema.json").write_text(schema, encoding="utf-8")
    file = tmp_path / "agent-skills.toml"
    file.write_text(MANIFEST, encoding="utf-8")
    with editing(file) as editor:
        offered = editor.completions(2, 0)
        assert {"ecosystems", "targets", "link", "gitignore", "providers"} <= offered.keys()
        assert "target directories" in offered["targets"]
        assert {"version", "skills", "exclude", "path"} <= editor.completions(4, 8).keys()
        assert "allow-list" in editor.hover(3, 3)
        assert editor.wrong() == {5}
