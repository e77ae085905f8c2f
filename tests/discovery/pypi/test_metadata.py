from __future__ import annotations

import pytest
import wheels
from hypothesis import given
from hypothesis import strategies as st

from skillsync.discovery.pypi import metadata
from skillsync.discovery.pypi.metadata import Direct, Identity


def test_name_and_version_have_one_spelling() -> None:
    about = metadata.identity(wheels.metadata_text("Foo_Bar.Baz", "1.0.RC1").encode())
    assert about == Identity(name="foo-bar-baz", spelling="Foo_Bar.Baz", version="1.0rc1")


@pytest.mark.parametrize(
    "text",
    [
        "name: a\r\nVERSION: 1\r\n\r\nName: b\r\n",
        "Name:   a  \nVersion:1",
        "Summary: x\n Name: b\n\tVersion: 2\nName: a\nName: c\nVersion: 1\n",
        "nonsense\nName: a\nVersion: 1\n",
        "Author: \udce9\nName: a\nVersion: 1\n",
    ],
)
def test_headers_as_installers_write_them(text: str) -> None:
    found = metadata.identity(text.encode(errors="surrogateescape"))
    assert (found.name, found.version) == ("a", "1")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no name"),
        ("Name: a\n", "names no version"),
        ("Name:\nVersion: 1\n", "names no name"),
        ("Version: 1\n\nName: a\n", "names no name"),
        ("Name: ../a\nVersion: 1\n", "`../a` is not a distribution's name"),
        ("Name: a\nVersion: ../1\n", "`../1` is not a PEP 440 version"),
    ],
)
def test_metadata_that_can_not_be_used(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"names no|is not") as found:
        metadata.identity(text.encode())
    assert reason in str(found.value)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("foo_bar-1.0.dist-info", "foo-bar"),
        ("Foo.Bar-1.0-py3.11.egg-info", "foo-bar"),
        ("foo.egg-info", "foo"),
        ("-1.0.dist-info", None),
        ("~oo-1.0.dist-info", None),
    ],
)
def test_a_name_is_guessed_from_the_directory(entry: str, name: str | None) -> None:
    assert metadata.guessed_name(entry) == name


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (
            '{"dir_info": {"editable": true}, "url": "file:///home/dev/my%20proj"}',
            Direct(path="/home/dev/my proj", is_editable=True),
        ),
        ('{"url":"file:///p/%C3%A9/","dir_info":{}}', Direct(path="/p/é", is_editable=False)),
        ('{"url":"file://localhost/p/../q","dir_info":{"editable":false}}', Direct(path="/q", is_editable=False)),
        ('{"url":"file:////p","dir_info":{"editable":"yes"}}', Direct(path="/p", is_editable=False)),
        ('{"url":"file:///p/%E9","dir_info":{"editable":true}}', Direct(path="/p/\udce9", is_editable=True)),
        ('{"url":"https://x.invalid/a.whl","archive_info":{}}', None),
        ('{"url":"file:///a.whl","archive_info":{}}', None),
        ('{"url":"https://x.invalid/r","vcs_info":{"vcs":"git","commit_id":"1"}}', None),
        ('{"url":7,"dir_info":{}}', None),
        ("[]", None),
        ("3", None),
    ],
)
def test_direct_urls(content: str, found: Direct | None) -> None:
    assert metadata.direct(content.encode()) == found


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"url":"file://server/p","dir_info":{}}',
        b'{"url":"file:p","dir_info":{}}',
        b'{"url":"file:///p%00","dir_info":{}}',
    ],
)
def test_direct_urls_that_can_not_be_used(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|directory"):
        metadata.direct(content)


@given(st.text())
def test_a_directory_is_always_absolute_and_plain(path: str) -> None:
    try:
        found = metadata.direct(wheels.direct_url(f"/{path}")["direct_url.json"].encode())  # type: ignore[union-attr]
    except ValueError:
        return
    if found:
        assert found.path.startswith("/")
        assert not {".", ".."} & set(found.path.split("/"))


def test_hints_of_import_packages() -> None:
    assert metadata.import_names("a\n\n b \na\nc-d\n../e\n_f\n") == ("a", "b", "_f")
    sources = "setup.py\nsrc/a/__init__.py\nsrc/a/skills/x/SKILL.md\nb/c.py\nd-e/f.py\n../g/h.py\nsrc/i.py\n"
    assert metadata.source_names(sources) == ("a", "b")
    about = Identity(name="foo-bar", spelling="Foo.Bar", version="1")
    assert metadata.likely_names(about) == ("foo_bar", "Foo_Bar")
    assert metadata.likely_names(Identity(name="0x", spelling="0x", version="1")) == ()


def test_what_a_pth_file_adds() -> None:
    text = "# comment\nimport os; os.system('x')\nimport\tx\n\n/home/dev/src\n  ../rel  \nnul\0\nimportant\n"
    assert metadata.pth_paths(text) == ["/home/dev/src", "../rel", "important"]


@pytest.mark.parametrize(
    ("entry", "name", "version", "fits"),
    [
        ("foo_bar-1.0.dist-info", "Foo.Bar", "1.0", True),
        ("Foo.Bar-1.0.dist-info", "foo-bar", "1.0.0", True),
        ("foo-bar-1.0.dist-info", "foo-bar", "1.0", True),
        ("certifi-2023.07.22.dist-info", "certifi", "2023.7.22", True),
        ("foo-1.0_rc1.dist-info", "foo", "1.0rc1", True),
        ("foo-1.0_1.dist-info", "foo", "1.0.post1", True),
        ("foo-1.0+cu_1.dist-info", "foo", "1.0+cu.1", True),
        ("foo-1!2.0.dist-info", "foo", "1!2.0", True),
        ("foo.dist-info", "foo", "1.0", False),
        ("foo-1.1.dist-info", "foo", "1.0", False),
        ("foo-1.0-py3.11.dist-info", "foo", "1.0", False),
        ("bar-foo-1.0.dist-info", "foo", "1.0", False),
        ("foo-new.dist-info", "foo", "1.0", False),
        ("foo.egg-info", "foo", "1.0", True),
        ("foo_bar-1.0.egg-info", "foo-bar", "1.0", True),
        ("foo-1.0-py3.11.egg-info", "foo", "1.0", True),
        ("foo-1.0-py3.11-linux-x86_64.egg-info", "foo", "1.0", True),
        ("python_apt-2.4.0+ubuntu3.egg-info", "python-apt", "2.4.0+ubuntu3", True),
        ("foo-1.1.egg-info", "foo", "1.0", False),
        ("bar.egg-info", "foo", "1.0", False),
    ],
)
def test_a_metadata_directory_is_called_like_its_distribution(
    entry: str, name: str, version: str, *, fits: bool
) -> None:
    about = metadata.identity(f"Name: {name}\nVersion: {version}\n".encode())
    assert metadata.is_of(entry, about) is fits
