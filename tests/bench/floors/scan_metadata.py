"""Read what tells which packages ship skills: `scan_metadata.py SITE_PACKAGES NODE_MODULES GEM_HOME`.

The least that an interpreter can do to find them: every RECORD is searched as bytes, every package.json parsed, the
first lines of every gemspec read, and the skills directory of every npm package and gem listed.
"""

from __future__ import annotations

import json
import os
import sys


def content(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    found = b""
    while chunk := os.read(fd, 1 << 20):
        found += chunk
    os.close(fd)
    return found


def ships(directory: str) -> bool:
    try:
        return bool(os.listdir(f"{directory}/skills"))
    except FileNotFoundError:
        return False


site, node_modules, home = sys.argv[1:]
found = 0
for name in os.listdir(site):
    if name.endswith(".dist-info"):
        found += b"SKILL.md" in content(f"{site}/{name}/RECORD")
for name in os.listdir(node_modules):
    if not name.startswith("."):
        json.loads(content(f"{node_modules}/{name}/package.json"))
        found += ships(f"{node_modules}/{name}")
for name in os.listdir(f"{home}/specifications"):
    with open(f"{home}/specifications/{name}", "rb") as file:
        file.readline()
        full = b"-".join(file.readline().split()[2:4])
    found += ships(f"{home}/gems/{full.decode()}")
print(found)  # noqa: T201  what was found is the proof that it was done
