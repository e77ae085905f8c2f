from __future__ import annotations

import pytest

from skillsync.discovery.npm import locks

NPM = """\
{
  "name": "app",
  "lockfileVersion": 3,
  "packages": {
    "": {"name": "app", "dependencies": {"a": "^1.0.0"}},
    "../tools": {"name": "@acme/tools", "version": "1.0.0"},
    "node_modules/a": {"version": "1.0.0", "engines": {"node": ">=18"}},
    "node_modules/a/node_modules/@acme/b": {"version": "1.0.0"},
    "node_modules/aliased": {
      "name": "c",
      "version": "1.0.0"
    }
  }
}
"""
NPM_6 = """\
{
  "name": "app",
  "lockfileVersion": 1,
  "dependencies": {
    "a": {
      "version": "1.0.0",
      "requires": {
        "never": "1.0.0"
      },
      "dependencies": {
        "@acme/b": {
          "version": "1.0.0"
        }
      }
    },
    "aliased": {
      "version": "npm:c@1.0.0"
    }
  }
}
"""
PNPM = """\
lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      aliased:
        specifier: npm:c@1.0.0

  packages/never:
    dependencies: {}

packages:

  '@acme/b@1.0.0':
    resolution: {integrity: sha512-x}

  a@1.0.0:
    resolution: {integrity: sha512-x}

  ? a@1.0.0(@acme/b@1.0.0)
  : {}
"""
PNPM_7 = """\
lockfileVersion: 5.4

packages:

  /@acme/b/1.0.0:
    resolution: {integrity: sha512-x}

  /a/1.0.0_c@1.0.0:
    dev: false

  /c@1.0.0:
    dev: false
"""
YARN_1 = """\
# yarn lockfile v1


"@acme/b@^1.0.0", "@acme/b@~1.0.0":
  version "1.0.0"

a@^1.0.0, a@~1.0.0:
  version "1.0.0"
  dependencies:
    never "1.0.0"

"aliased@npm:c@1.0.0":
  version "1.0.0"
"""
YARN = """\
__metadata:
  version: 10

"@acme/b@npm:^1.0.0, @acme/b@npm:~1.0.0":
  version: 1.0.0

"a@npm:1.0.0":
  version: 1.0.0
  dependencies:
    never: "npm:1.0.0"

"aliased@npm:c@1.0.0, c@npm:1.0.0":
  version: 1.0.0
"""
BUN = """\
{
  "lockfileVersion": 2,
  "packages": {
    "@acme/b": ["@acme/b@1.0.0", "", {}, "sha512-x"],

    "a": ["a@1.0.0", "", { "dependencies": { "never": "1.0.0" } }, "sha512-x"],

    "aliased": ["c@1.0.0", "", {}, "sha512-x"],
  }
}
"""


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("package-lock.json", NPM),
        ("npm-shrinkwrap.json", NPM),
        ("package-lock.json", NPM_6),
        ("pnpm-lock.yaml", PNPM),
        ("pnpm-lock.yaml", PNPM_7),
        ("yarn.lock", YARN_1),
        ("yarn.lock", YARN),
        ("bun.lock", BUN),
    ],
    ids=["npm", "shrinkwrap", "npm-6", "pnpm", "pnpm-7", "yarn-1", "yarn", "bun"],
)
@pytest.mark.parametrize("broken", [False, True], ids=["whole", "broken"])
def test_a_lock_names_its_packages(file: str, text: str, *, broken: bool) -> None:
    if broken:
        text = ("<<<<<<< ours\n" + text[:-3] + "\n=======\n\0\ufffd\n>>>>>>> theirs").replace("\n", "\r\n")
    found = locks.names(file, text.encode(errors="surrogatepass"))
    assert found >= {"a", "@acme/b", "c"}
    assert found <= {"a", "@acme/b", "c", "app", "aliased", "@acme/tools"}


def test_what_is_no_lock_names_nothing() -> None:
    for file in locks.FILE_NAMES:
        for content in (b"", b"\xff\xfe\0", b"{}", b"[" * 1000, b"- a\n- b\n"):
            assert locks.names(file, content) == frozenset()


@pytest.mark.parametrize("part", ['"', "node_modules/", '"a":{', "\n  ", "@", ", a", '["a', "npm:", " "])
def test_no_text_takes_long(part: str) -> None:
    for file in locks.FILE_NAMES:
        locks.names(file, part.encode() * 100_000)
