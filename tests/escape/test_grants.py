# SPDX-License-Identifier: Apache-2.0
"""Attacks on what a person grants while a command runs: a yes to one thing must not be used for another. Outside the
workspace lie the directories a and b; the person says yes to the one and no to everything else. What stops an attack is mostly
a check of the supervisor, and is switched off like a wall to show that the attack is real."""

import concurrent.futures
import contextlib
import os
import stat
import subprocess

import pytest

from conftest import IDENTITIES, NOT_TRIED, REFUSED, SUCCEEDED, sooner_or_later, wait_until
from person import sit

BARE = ("readonly", "landlock")  # where these stand, they alone stop what goes on by itself


def furnish(place):
    """b as it must stay, and the same in a."""
    for name in "ab":
        place.write(place.outside / name / "x", f"of {name}\n")
        (place.outside / name / "d").mkdir()
        place.give(place.outside / name / "d")
    return place.outside


def look(directory):
    """All there is to be seen of a directory."""
    found = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        st = path.lstat()
        found[path] = (st.st_mode, st.st_ino, st.st_nlink, st.st_size, st.st_mtime_ns,
                       path.read_bytes() if path.is_file() and not path.is_symlink() else None)
    return found


def yes_to(*paths):
    return [f"{verb} {path}" for path in paths for verb in ("write", "delete")]


def play(place, program, name, *words, agreed=(), off=(), **more):
    sitting = sit(place, [place.program(program), name, *words], agreed, off, **more)
    print(sitting)
    return sitting


RACES = ["swapped-link", "swapped-directory", "moved", "reopened"]
CALLS = ["open", "openat", "creat", "mkdir", "symlink", "unlink", "rmdir", "rename-from", "rename-to", "link", "chmod", "truncate",
         "utimensat", "bind"]
# The switches that lay an attack open.
SWITCHES = {"reopened": ("kinds", *BARE)}


@pytest.mark.parametrize("name", RACES)
def test_race_changes_nothing_that_was_not_granted(place, name):
    outside = furnish(place)
    before = look(outside / "b")
    # The mount is no wall here, so that only the supervisor stands in the way.
    sitting = play(place, "granted_races", name, outside, agreed=yes_to(outside / "a"), off=BARE)
    assert sitting.code == REFUSED, sitting
    assert look(outside / "b") == before


@pytest.mark.parametrize("name", RACES)
def test_race_is_real(make_place, name):
    def attempt():
        place = make_place(IDENTITIES[-1])
        outside = furnish(place)
        sitting = play(place, "granted_races", name, outside, agreed=yes_to(outside / "a"),
                       off=SWITCHES.get(name, ("perform", *BARE)))
        return sitting.code, sitting

    code, sitting = sooner_or_later(attempt)
    assert code == SUCCEEDED, sitting


@pytest.mark.parametrize("ms", [1000, pytest.param(20000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("off", [(), BARE], ids=["", "without-walls"])
def test_rewritten_arguments_change_nothing_that_was_not_granted(place, ms, off):
    outside = furnish(place)
    before = look(outside / "b")
    sitting = play(place, "granted_races", "rewritten", outside, ms if off else ms // 4, "-", agreed=yes_to(outside / "a"), off=off,
                   timeout=60 + len(CALLS) * ms / 500)
    assert sitting.code == REFUSED, sitting
    assert look(outside / "b") == before
    assert sitting.shown.count(" rounds") == len(CALLS)


def test_rewritten_arguments_are_real(make_place):
    def attempt(call, ms):
        place = make_place(IDENTITIES[-1])
        outside = furnish(place)
        sitting = play(place, "granted_races", "rewritten", outside, ms, call, agreed=yes_to(outside / "a"), off=("perform", *BARE))
        return sitting.code, sitting

    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        first = dict(zip(CALLS, pool.map(lambda call: attempt(call, 1000), CALLS)))
    for call in (call for call, (code, _) in first.items() if code != SUCCEEDED):  # what is left gets time, and nobody beside it
        code, sitting = sooner_or_later(lambda call=call: attempt(call, 10000))
        assert code == SUCCEEDED, sitting


def hooks(place):
    for name in ("old", "pre-commit"):
        place.write(place.outside / "a/repo/.git/hooks" / name, "#!/bin/sh\n", 0o755)
    place.write(place.outside / "a/repo/.git/HEAD", "ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (place.outside / "a/repo/.git" / name).mkdir()
        place.give(place.outside / "a/repo/.git" / name)


def linked(place):
    """The file that may be deleted has another name."""
    place.write(place.outside / "f", "of b\n")
    os.link(place.outside / "f", place.outside / "b/f")


# Attack; what is prepared; what the person says yes to; flags; the switches that lay it open. "flags": it is real without
# these; None: the same without a yes is among the attacks on files and processes.
A, WRITE_F, DELETE_F = ("write a", "delete a"), ("write f",), ("delete f",)
ATTACKS = [
    ("link-into", None, A, (), ("moves",)),
    ("rename-into", None, A, (), None),
    ("link-out", None, WRITE_F, (), ("moves",)),
    ("rename-linked", linked, DELETE_F, (), ("moves",)),
    ("rename-linked-within", linked, (*A, *DELETE_F), (), ("moves",)),
    ("move-directory", None, A, (), ("moves",)),
    ("move-repository", hooks, (*A, "delete a/repo"), (), ("moves",)),
    ("move-out", None, (*A, "write a/mine"), (), ("moves",)),
    ("hook", hooks, A, (), ("held",)),
    ("denied", None, A, ("--deny", "{outside}/a/x"), "flags"),
    ("star", None, ("write a/**",), (), ("names",)),
    ("dangling", None, A, (), ("notify", "readonly", "landlock")),
    ("make-node", None, A, (), None),
    ("directories", None, A, (), ("fds",)),
    ("steal", None, A, (), None),
]


def attempt(place, name, prepare, agreed, flags, off=()):
    outside = furnish(place)
    if prepare:
        prepare(place)
    before = look(outside / "b")
    with contextlib.ExitStack() as stack:
        more = {}
        if name == "directories":
            descriptor = os.open(outside / "a/d", os.O_RDONLY)
            stack.callback(os.close, descriptor)
            more["pass_fds"] = [descriptor]
        sitting = play(place, "grants", name, outside, off=off, flags=[flag.format(outside=outside) for flag in flags],
                       agreed=[f"{verb} {outside}/{path}" for verb, path in map(str.split, agreed)], **more)
    return sitting, look(outside / "b") == before


@pytest.mark.parametrize("name, prepare, agreed, flags, off", ATTACKS, ids=[attack[0] for attack in ATTACKS])
def test_a_yes_gives_nothing_else(place, name, prepare, agreed, flags, off):
    sitting, same = attempt(place, name, prepare, agreed, flags)
    assert sitting.code == REFUSED, sitting
    assert same


@pytest.mark.parametrize("name, prepare, agreed, flags, off", [attack for attack in ATTACKS if attack[-1]],
                         ids=[attack[0] for attack in ATTACKS if attack[-1]])
def test_attack_on_a_yes_is_real(make_place, name, prepare, agreed, flags, off):
    flags, off = ((), ()) if off == "flags" else (flags, off)
    sitting, _ = attempt(make_place(IDENTITIES[-1]), name, prepare, agreed, flags, off)
    assert sitting.code == SUCCEEDED, sitting


def tell(place):
    """Tells the command the supervisor's number."""
    return lambda question, process: place.write(place.workspace / "supervisor", str(process.pid), 0o644)


@pytest.mark.parametrize("name", ["through-processes", "supervisor"])
def test_no_process_is_a_way_round(place, name):
    outside = furnish(place)
    before = look(outside / "b")
    sitting = play(place, "grants", name, outside, agreed=yes_to(outside / "a"), while_asked=tell(place))
    assert sitting.code == REFUSED, sitting
    assert look(outside / "b") == before


def test_yes_to_a_caller_that_died(make_place):
    """The question before it is answered when another has the number of the one that waited behind it."""
    place = make_place(IDENTITIES[-1])
    reused = place.workspace / "reused"
    sitting = play(place, "grants", "died", place.outside, agreed=yes_to(place.outside / "f"),
                   while_asked=lambda question, process: wait_until(reused.exists, 15))
    assert sitting.code == REFUSED, sitting
    assert reused.exists() and not (place.outside / "f").exists()


def test_question_says_that_a_file_has_other_names(make_place):
    place = make_place(IDENTITIES[-1])
    furnish(place)
    linked(place)
    sitting = play(place, "grants", "paths", place.outside / "f")
    assert sitting.code == REFUSED and "with 1 other name" in sitting.shown, sitting


def test_nobody_is_asked_for_all_of_a_home(place):
    sitting = play(place, "grants", "below", place.home, "x")
    assert not sitting.asked and sitting.code == NOT_TRIED, sitting


def forms(place, state):
    """Ways to write ward's state."""
    os.symlink(state, place.workspace / "way")
    os.symlink(state / "evil", place.workspace / "dangling")
    return [state / "evil", state / "audit.log", f"{state.parent}/../state/ward/evil", f"/proc/self/root{state}/evil",
            f"/proc/thread-self/root/{state}/evil", "way/evil", "dangling", f"{state.parent}/WARD/evil", state.with_name("Ward")]


def test_nobody_is_asked_for_ward_s_state(place):
    state = place.home / ".local/state/ward"
    assert place.sandboxed(["true"])[0] == 0
    before = sorted(state.iterdir())
    sitting = play(place, "grants", "paths", *forms(place, state))
    assert sitting.code == REFUSED and not sitting.asked, sitting
    assert sorted(state.iterdir()) == before and not (state / "evil").exists()


def test_state_is_real(make_place):
    place = make_place(IDENTITIES[-1])
    state = place.home / ".local/state/ward"
    assert place.sandboxed(["true"])[0] == 0
    sitting = play(place, "grants", "paths", state / "evil", agreed=yes_to(state / "evil"), off=("never", "masks"))
    assert sitting.asked and (state / "evil").exists(), sitting


as_root = pytest.mark.skipif("root" not in IDENTITIES, reason="only root can mount")
OWN_MOUNTS = ("unshare", "--mount", "--uts", "--propagation", "private")


def mounting(*words):
    """Starts ward with a mount of its own."""
    return (*OWN_MOUNTS, "sh", "-c", 'mount ' + ' '.join(map(str, words)) + ' && exec "$@"', "sh")


@as_root
@pytest.mark.parametrize("off, code", [((), REFUSED), (("never",), SUCCEEDED)], ids=["", "real"])
def test_kernel_s_own_files_in_a_granted_tree(make_place, off, code):
    place = make_place("root")
    (furnish(place) / "a/proc").mkdir()
    sitting = play(place, "grants", "below", place.outside / "a", place.outside / "a/proc/sys/kernel/domainname", off=off,
                   agreed=yes_to(place.outside / "a"), before=mounting("-t proc none", place.outside / "a/proc"))
    assert sitting.code == code and len(sitting.asked) == 1, sitting


@as_root
@pytest.mark.parametrize("part", ["", "/ward", "/ward/sessions"])
@pytest.mark.parametrize("off, code", [((), REFUSED), (("never",), SUCCEEDED)], ids=["", "real"])
def test_state_that_is_mounted_at_a_second_place(make_place, part, off, code):
    place = make_place("root")
    assert place.sandboxed(["true"])[0] == 0
    state, second = place.home / ".local/state", furnish(place) / "a/d"
    (state / "ward/sessions").mkdir(exist_ok=True)
    inside = str(second) + "/ward/evil"[len(part):] if part != "/ward/sessions" else second / "evil"
    sitting = play(place, "grants", "below", place.outside / "a", inside, off=off,
                   agreed=yes_to(place.outside / "a", inside), before=mounting("--bind", f"{state}{part}", second))
    assert sitting.code == code and len(sitting.asked) == 1, sitting


@as_root
@pytest.mark.parametrize("off, code", [((), REFUSED), (("object",), SUCCEEDED)], ids=["", "real"])
def test_mount_over_what_was_granted(make_place, off, code):
    """After the question was put, and before it is answered, something else is mounted there on the host."""
    place = make_place("root")
    outside = furnish(place)
    place.write(outside / "f", "of f\n")

    def cover(question, process):
        subprocess.run(["nsenter", "--mount", f"--target={process.pid}", "mount", "--bind", outside / "b/x", outside / "f"],
                       check=True)

    sitting = play(place, "grants", "paths", outside / "f", agreed=yes_to(outside / "f"), off=off, while_asked=cover,
                   before=OWN_MOUNTS)
    assert sitting.code == code, sitting
    assert ((outside / "b/x").read_text() == "evil") == bool(off) and (outside / "f").read_text() == "of f\n"


@as_root
@pytest.mark.parametrize("off, code", [((), REFUSED), (("kinds",), SUCCEEDED)], ids=["", "real"])
def test_device_in_a_granted_tree(make_place, off, code):
    place = make_place("root")
    furnish(place)
    os.mknod(place.outside / "a/kmsg", stat.S_IFCHR | 0o600, os.makedev(1, 11))
    sitting = play(place, "grants", "node", place.outside, agreed=yes_to(place.outside / "a"), off=off)
    assert sitting.code == code, sitting
