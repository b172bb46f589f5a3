# SPDX-License-Identifier: Apache-2.0
"""The same attacks from under gVisor's kernel. It answers calls itself, and not always as the machine did: what counts is what the machine has afterwards."""
import shutil

import pytest

import test_attacks
import test_guard
from conftest import IDENTITIES, REFUSED, SUCCEEDED
from test_attacks import parameters
from test_container import Contained

pytestmark = pytest.mark.skipif(not shutil.which("runsc"), reason="needs runsc")

# Under a kernel of its own. What asks that kernel for something it does itself reaches nothing of the machine's: its pid 1 has no more than the command, its namespaces,
# sockets, devices and tracing are its own, and some calls of the machine's it does not know.
ITS_OWN = {"processes-init-maps", "processes-init-fd", "processes-init-getfd", "processes-init-affinity", "processes-init-priority", "processes-init-limit", "processes-init-kill",
           "network-ping", "network-netlink-events", "kernel-unshare", "kernel-clone", "kernel-setns", "kernel-ring", "kernel-perf", "kernel-log", "kernel-traced-call",
           "kernel-limit", "machine-make-device-in-memory", "setid-group-nameless", "setid-group-unreadable-program", "files-file-flags"}


def as_it_is(place):
    """Everything outside that an attack could have changed, as the machine sees it."""
    found = {}
    for path in [place.outside, *sorted(place.outside.rglob("*"))]:
        st = path.lstat()
        found[path] = st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns, st.st_nlink, path.read_bytes() if path.is_file() else None
    return found


# What asks the kernel is answered by gVisor's own, whoever asks: once in a while will do.
ASK_THE_KERNEL = ("kernel", "processes")


def is_for_every_day(attack, who):
    return attack.program not in ASK_THE_KERNEL and (who == IDENTITIES[-1] or attack.program == "files")


@pytest.mark.parametrize("attack, who", [parameter if is_for_every_day(*parameter.values) else
                                         pytest.param(*parameter.values, id=parameter.id, marks=pytest.mark.soak)
                                         for parameter in parameters(lambda attack, who: [([], [])]) if str(parameter.values[0]) not in ITS_OWN])
def test_attack_fails_under_runsc(make_place, attack, who):
    """gVisor says yes to a change of attributes that the machine refused to it: what the machine has is what counts."""
    place = make_place(who)
    before, seen = as_it_is(place), {}

    class Watched(Contained):
        def sandboxed(self, *words, **more):
            seen["before"] = as_it_is(place)
            done = super().sandboxed(*words, **more)
            seen["after"] = as_it_is(place)
            return done

    code, said = test_attacks.attempt(Watched(place, "runsc"), attack)
    assert "output" in attack.needs or (before and seen["before"] == seen["after"]), said
    assert not [path for path in place.workspace.rglob("*") if path.is_file() and path.lstat().st_mode & 0o6000], said
    assert code == REFUSED or (code == 0 and attack.program in ("files", "sockets", "streams")), said


@pytest.mark.parametrize("attack, who", [parameter for parameter in parameters(lambda attack, who: [([], [])])
                                         if str(parameter.values[0]) == "masks-read" and parameter.values[1] == IDENTITIES[-1]])
def test_it_is_the_masks_that_hide_under_runsc(make_place, attack, who):
    code, said = test_attacks.attempt(Contained(make_place(who), "runsc"), attack, off=("masks",))
    assert code == SUCCEEDED, said


# The guard is the same for every runtime: a quarter of the names will do every day.
@pytest.mark.parametrize("program, name", [names if i % 4 == 0 else pytest.param(*names, marks=pytest.mark.soak) for i, names in enumerate(test_guard.NAMES)],
                         ids=lambda part: part.replace("guard_ground", "ground"))
def test_nothing_left_behind_runs_programs_under_runsc(place, program, name):
    harmed, said = test_guard.attack(Contained(place, "runsc"), program, name)
    assert harmed is None, said


def test_it_is_the_guard_that_holds_them_under_runsc(make_place):
    found = [name for program, name in test_guard.NAMES[:12] if test_guard.attack(Contained(make_place(IDENTITIES[-1]), "runsc"), program, name, off=("guard",))[0]]
    assert found, "no attack succeeds without the guard"
