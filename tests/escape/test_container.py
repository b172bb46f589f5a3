# SPDX-License-Identifier: Apache-2.0
"""The same attacks from inside a container: whoever makes the namespaces, the same things hold."""
import io
import json
import os
import shutil
import stat
import tarfile

import pytest

import test_attacks
from conftest import REFUSED
from test_attacks import parameters

pytestmark = pytest.mark.skipif(not shutil.which("crun"), reason="needs crun")
CONTAINER = ["--level", "container"]


class Contained:
    """A place whose commands run in a container; the rest is the place's."""

    def __init__(self, place, runtime="crun"):
        self.place, self.runtime = place, runtime

    def __getattr__(self, name):
        return getattr(self.place, name)

    def sandboxed(self, argv, flags=(), off=(), **more):
        return self.place.sandboxed(argv, [*CONTAINER, "--container", f"runtime={self.runtime}", *flags], off, **more)


@pytest.mark.parametrize("attack, who", parameters(lambda attack, who: [([], [])]))
def test_attack_fails(make_place, attack, who):
    code, said = test_attacks.attempt(Contained(make_place(who)), attack)
    assert code == REFUSED, said


# Against namespaces and what they own, of which runc makes one more than others.
OWNED = {"kernel", "machine", "masks", "processes", "setid"}


@pytest.mark.skipif(not shutil.which("runc"), reason="needs runc")
@pytest.mark.parametrize("attack, who", [parameter if parameter.values[0].program in OWNED and parameter.values[1] == "user" else
                                         pytest.param(*parameter.values, id=parameter.id, marks=pytest.mark.soak) for parameter in parameters(lambda attack, who: [([], [])])])
def test_attack_fails_in_a_container_of_runc(make_place, attack, who):
    code, said = test_attacks.attempt(Contained(make_place(who), "runc"), attack)
    assert code == REFUSED, said


def archive(path, *entries):
    """A hostile archive: (name, kind, link, content)."""
    with tarfile.open(path, "w") as tar:
        for name, kind, link, content in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size, info.mode = kind, link, len(content), 0o6777
            if kind in (tarfile.CHRTYPE, tarfile.BLKTYPE):
                info.devmajor, info.devminor = 1, 1
            tar.addfile(info, io.BytesIO(content))
    path.chmod(0o644)
    return path


FILE, LINK, HARD, DIRECTORY, DEVICE = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE


@pytest.mark.parametrize("name, entries", [
    ("absolute", [("{outside}/planted", FILE, "", b"evil")]),
    ("up", [("../../../../../../../../../..{outside}/planted", FILE, "", b"evil")]),
    ("up-in-the-middle", [("a/../../../../../../../../..{outside}/planted", FILE, "", b"evil")]),
    ("link-then-write", [("out", LINK, "{outside}", b""), ("out/planted", FILE, "", b"evil")]),
    ("link-then-overwrite", [("file", LINK, "{file}", b""), ("file", FILE, "", b"evil")]),
    ("link-chain", [("a", LINK, "b", b""), ("b", LINK, "../../../../../../../../{outside}", b""), ("a/planted", FILE, "", b"evil")]),
    ("hard-link-out", [("copy", HARD, "{file}", b""), ("copy", FILE, "", b"evil")]),
    ("hard-link-through-link", [("out", LINK, "{outside}", b""), ("copy", HARD, "out/file", b"")]),
    ("whiteout-out", [("out", LINK, "{outside}", b""), ("out/.wh.file", FILE, "", b"")]),
    ("device", [("dev", DIRECTORY, "", b""), ("dev/mem", DEVICE, "", b"")]),
    ("twice", [("x", DIRECTORY, "", b""), ("x", LINK, "{outside}", b""), ("x/planted", FILE, "", b"evil"), ("x", FILE, "", b"evil")]),
])
def test_an_archive_writes_nothing_outside(place, name, entries):
    words = {"outside": str(place.outside), "file": str(place.file)}
    image = archive(place.outside.parent / "image.tar", *[(entry.format(**words), kind, link.format(**words), content) for entry, kind, link, content in entries])
    before = place.file.read_text(), place.file.stat().st_nlink, sorted(os.listdir(place.outside))
    place.sandboxed(["/bin/true"], [*CONTAINER, "--container", f"image={image}"])
    assert before == (place.file.read_text(), place.file.stat().st_nlink, sorted(os.listdir(place.outside)))
    made = place.home / ".local/state/ward/images"
    for path in made.rglob("*") if made.exists() else []:
        kind = path.lstat().st_mode
        assert stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind), path
        assert stat.S_ISLNK(kind) or not kind & 0o6000, path
    if name in ("absolute", "up", "up-in-the-middle"):
        assert not made.exists() or not os.listdir(made)


def test_a_cut_archive_is_refused_and_nothing_is_kept(place):
    image = archive(place.outside.parent / "image.tar", ("file", FILE, "", b"x" * 100000))
    image.write_bytes(image.read_bytes()[:60000])
    code, said = place.sandboxed(["/bin/true"], [*CONTAINER, "--container", f"image={image}"])
    assert code == 125 and "cut" in said and not os.listdir(place.home / ".local/state/ward/images"), said


def pax(content, *entries):
    """An archive whose first entry has these records, whatever they are."""
    about = tarfile.TarInfo("about")
    about.type, about.size = tarfile.XHDTYPE, len(content)
    return about.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % 512) + b"".join(tarfile.TarInfo(name).tobuf(tarfile.USTAR_FORMAT) for name in entries) + bytes(1024)


@pytest.mark.parametrize("content, message", [
    (b"\n\n\n\n\n5 without\n", "a pax record is wrong"),
    (b"18446744073709551615 path=x\n", "a pax record is wrong"),
    (b"-5 path=x\n", "a pax record is wrong"),
    (b"11 size=-1\n", "a pax record is wrong"),
    (b"4104 path=" + b"a/" * 2046 + b"f\n", "File name too long"),
    (b"22 GNU.sparse.major=1\n", "sparse"),
], ids=["blanks", "huge", "negative", "size", "deep", "sparse"])
def test_what_an_archive_says_of_an_entry_is_not_believed(place, content, message):
    image = place.outside.parent / "image.tar"
    image.write_bytes(pax(content, "file"))
    code, said = place.sandboxed(["/bin/true"], [*CONTAINER, "--container", f"image={image}"])
    assert code == 125 and message in said and len(said) < 2000 and not os.listdir(place.home / ".local/state/ward/images"), said


def test_links_add_up_to_no_depth_without_end(place):
    """Each leads to the deepest directory so far, and what comes next lies below."""
    entries, above = [], ""
    for number in range(45):
        below = above + "/".join(["d"] * 200)
        entries += [(below, DIRECTORY, "", b""), (f"link{number}", LINK, "/" + below, b"")]
        above = f"link{number}/"
    image = archive(place.outside.parent / "image.tar", *entries)
    code, said = place.sandboxed(["/bin/true"], [*CONTAINER, "--container", f"image={image}"])
    assert code == 125 and "Too many levels of symbolic links" in said and not os.listdir(place.home / ".local/state/ward/images"), said


@pytest.mark.parametrize("name", ["index.json", "blobs"])
def test_a_layout_is_read_in_its_archive_alone(place, name):
    """A link in it to a pipe of somebody's, to a device: ward would open it."""
    image = archive(place.outside.parent / "image.tar", ("oci-layout", FILE, "", b"{}"), (name, LINK, str(place.outside), b""), ("index.json", FILE, "", json.dumps(
        {"manifests": [{"digest": "sha256:" + "0" * 64}]}).encode()) if name == "blobs" else ("other", FILE, "", b""))
    code, said = place.sandboxed(["/bin/true"], [*CONTAINER, "--container", f"image={image}"])
    assert code == 125 and "Invalid cross-device link" in said, said


def test_a_file_that_says_it_is_huge_is_refused(place):
    image = archive(place.outside.parent / "image.tar", ("file", FILE, "", b""))
    data = bytearray(image.read_bytes())
    data[124:136] = b"\x80" + (1 << 60).to_bytes(11, "big")
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    image.write_bytes(data)
    code, said = place.sandboxed(["/bin/true"], [*CONTAINER, "--container", f"image={image}"])
    assert code == 125 and "too large" in said, said


def test_what_was_begun_and_never_finished_is_swept(place):
    left = place.write(place.home / ".local/state/ward/images/.new-0123456789ab/file", "left\n")
    image = archive(place.outside.parent / "image.tar", ("file", FILE, "", b"x"))
    place.sandboxed(["/bin/true"], [*CONTAINER, "--container", f"image={image}"])
    assert not left.parent.exists()
