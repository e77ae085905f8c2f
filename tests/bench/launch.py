"""Runs a program, and writes how it ended, its seconds and its KiB at most to a descriptor: `launch.py FD COMMAND...`.

A process of its own, and a small one: what is resident before a program takes a process over counts as the program's.
"""

from __future__ import annotations

import os
import sys
import time


def main(fd: int, command: list[str]) -> None:
    os.set_inheritable(fd, False)  # noqa: FBT003  it has no name
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    os.write(fd, f"{os.waitstatus_to_exitcode(status)} {seconds} {usage.ru_maxrss}".encode())


main(int(sys.argv[1]), sys.argv[2:])
