"""The published JSON Schemas, and what the program prints held against them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jsonschema.protocols import Validator

DIRECTORY = Path(__file__).parents[1] / "docs/schemas"
SCHEMAS: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in sorted(DIRECTORY.glob("*.json"))}
DEFINITIONS = SCHEMAS["definitions"]["$defs"]
COMMANDS = sorted(SCHEMAS.keys() - {"definitions"})


@cache
def validator(command: str) -> Validator:
    """Return what holds one command's JSON against its schema."""
    named = [(f"{name}.json", DRAFT202012.create_resource(schema)) for name, schema in SCHEMAS.items()]
    return Draft202012Validator({"$ref": f"{command}.json"}, registry=Registry().with_resources(named))


def faults(command: str, report: Any) -> list[str]:  # noqa: ANN401  # any JSON value
    """Return what a command's JSON has that its schema doesn't allow."""
    return [f"{error.json_path}: {error.message}" for error in validator(command).iter_errors(report)]


def check(arguments: Sequence[str], printed: str) -> None:
    """Hold what a run printed against the schema of its command, if it was asked for JSON.

    One that is interrupted while it prints may have printed nothing.
    """
    if printed and arguments and arguments[0] in COMMANDS and ("json" in arguments or "--format=json" in arguments):
        assert not faults(arguments[0], json.loads(printed))
