# SPDX-License-Identifier: Apache-2.0
"""Attacks on the limits of a run, with a control group around it where the machine gives one."""

import os
import resource
import signal
import time

import pytest

from conftest import REFUSED, SUCCEEDED, sooner_or_later

FLAGS = ["--memory", "300M", "--cpu", "1.5", "--processes", "30", "--disk", "50M", "--cpu-time", "60s", "--files", "100",
         "--timeout", "30s"]
# Root owns the files of control groups; each of these walls keeps it from them alone.
WALLS = ("readonly", "landlock", "notify")
RLIMITS = ("RLIMIT_FSIZE", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_CORE")


def attack(place, *words, off=(), flags=FLAGS):
    code, said = place.sandboxed([place.program("limits"), *words], flags, off=off)
    return code, said


@pytest.mark.parametrize("name", ["group-files", "leave-group", "mount-groups"])
def test_a_command_cannot_get_at_control_groups(place, name):
    code, said = attack(place, name)
    assert code == REFUSED, said


@pytest.mark.parametrize("name", ["group-files", "leave-group"])
def test_that_is_an_attack_and_each_wall_stops_it_alone(place, name):
    if place.who != "root" or not os.path.isdir("/sys/fs/cgroup"):
        pytest.skip("these files are root's")
    code, said = attack(place, name, off=WALLS)
    assert code == SUCCEEDED, said
    for wall in WALLS:
        code, said = attack(place, name, off=[other for other in WALLS if other != wall])
        assert code == REFUSED, (wall, said)


def test_mounting_groups_is_an_attack(place):
    if place.who != "root":
        pytest.skip("only root may mount")
    code, said = place.run(["unshare", "-m", place.program("limits"), "mount-groups"])
    assert code == SUCCEEDED, said


@pytest.mark.parametrize("name", RLIMITS)
def test_a_command_cannot_raise_what_holds_for_a_process(place, name):
    code, said = attack(place, "rlimit", str(getattr(resource, name)))
    assert code == REFUSED, said


def test_raising_them_is_an_attack(place):
    """Root with its capabilities can."""
    capabilities = next(int(line.split()[1], 16) for line in open("/proc/self/status") if line.startswith("CapEff"))
    if place.who != "root" or not capabilities >> 24 & 1:
        pytest.skip("needs CAP_SYS_RESOURCE")
    code, said = place.run(["prlimit", "--core=1:1", place.program("limits"), "rlimit", str(resource.RLIMIT_CORE)])
    assert code == SUCCEEDED, said


# In a user namespace of its own, so that no other test is left without: ward runs a command that takes all that it can have,
# and somebody beside it, an editor say, wants one.
BESIDE = """
import ctypes, subprocess, sys
open("/proc/sys/user/max_inotify_instances", "w").write("40")
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
taken = int(process.stdout.readline())
got = ctypes.CDLL(None).inotify_init1(0)
process.stdin.close()
process.wait()
print(taken, "taken; one more:", got)
sys.exit(0 if taken and got < 0 else 1)
"""


def watchers(place, flags=(), off=()):
    if int(open("/proc/sys/fs/inotify/max_user_instances").read()) // 4 > 36:
        pytest.skip("a share of what this machine gives is more than is fit for a test")
    return place.run(["unshare", "-Ur", "python3", place.write(place.outside / "beside.py", BESIDE),
                      place.unwalled if off else place.ward, "run", "--quiet", *flags, "--", place.program("limits"), "watchers"],
                     off=off)


@pytest.mark.parametrize("flags", [[], ["--net", "full"]], ids=["shown", "by-init"])
def test_a_command_leaves_watches_of_files_to_others(place, flags):
    code, said = watchers(place, flags)
    assert code == REFUSED, said


@pytest.mark.parametrize("wall", ["netns", "mountns", "pidns"])
def test_it_does_so_on_lower_rungs(place, wall):
    code, said = watchers(place, off=[wall])
    assert code == REFUSED, said


def test_taking_all_watches_is_an_attack(place):
    code, said = watchers(place, off=["share"])
    assert code == SUCCEEDED, said


def test_a_command_leaves_terminals_to_others(place):
    code, said = attack(place, "terminals", flags=["--files", "500"])
    assert code == REFUSED, said
    code, said = attack(place, "terminals", flags=["--files", "500"], off=["dev", "landlock", "notify", "readonly"])
    assert code == SUCCEEDED, said


@pytest.mark.parametrize("level", ["restricted", "none"])
def test_a_command_leaves_signals_and_timers_to_others(place, level):
    """At level none it is as without ward: all of them are its own to take."""
    code, said = place.run(["prlimit", "--sigpending=400", place.ward, "run", "--quiet", "--level", level, "--",
                            place.program("limits"), "signals", "200"])
    assert code == (REFUSED if level == "restricted" else SUCCEEDED), said


@pytest.mark.parametrize("number", ["13", "14"], ids=["nice", "real-time"])
def test_a_command_does_not_come_before_others(make_place, number):
    """As some desktops let their users."""
    place, before = make_place("user"), resource.getrlimit(int(number))
    try:
        resource.setrlimit(int(number), (30, 30))
    except ValueError:
        pytest.skip("needs CAP_SYS_RESOURCE")
    try:
        for prefix, expected in ([], SUCCEEDED), ([place.ward, "run", "--quiet", "--"], REFUSED):
            code, said = place.run([*prefix, place.program("limits"), "more-than", number, "0"])
            assert code == expected, said
    finally:
        resource.setrlimit(int(number), before)


@pytest.mark.parametrize("name", ["nameless", "descriptors"])
def test_memory_is_not_hidden_from_who_counts_it(place, name):
    """On a busy machine whoever counts may come too late, which is the overshoot that is written down; hidden, it would never be seen."""
    def is_ended():
        code, said = attack(place, name, "1500", flags=["--memory", "200M"])
        return SUCCEEDED if code == 128 + signal.SIGKILL else REFUSED, said

    code, said = sooner_or_later(is_ended, tries=5)
    assert code == SUCCEEDED, said
    code, said = attack(place, name, "1500", flags=[])
    assert code == SUCCEEDED, said


# Puts its own session, which is init's, behind all others, and then keeps the processor busy with sessions of their own.
BEHIND = """
import os, sys, time
with open("/proc/self/autogroup", "w") as file:
    file.write("19")
for _ in range(48):
    if os.fork() == 0:
        os.setsid()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass
        os._exit(0)
time.sleep(30)
"""


def seconds_behind(place, off=()):
    """How much longer than its second it ran, all on one processor."""
    processor = str(min(os.sched_getaffinity(0)))
    start = time.monotonic()
    code, said = place.run(["taskset", "-c", processor, place.unwalled if off else place.ward, "run", "--quiet", "--timeout", "1s",
                            "--", "python3", place.script(BEHIND)], off=off)
    assert code == 124, said
    return time.monotonic() - start - 1


def sessions_are_groups():
    try:
        return open("/proc/sys/kernel/sched_autogroup_enabled").read() == "1\n" and "nice" in open("/proc/self/autogroup").read()
    except OSError:
        return False


@pytest.mark.soak  # it is about time, which a machine at work does not keep
@pytest.mark.skipif(not sessions_are_groups(), reason="sessions share no processors here")
def test_a_command_cannot_put_its_end_off_by_its_own_priority(place):
    """Init comes to the processor by chance, sooner or later."""
    most = sorted(seconds_behind(place) for _ in range(3))[1]
    assert most < 1
    assert any(seconds_behind(place, off=["each"]) > most + 0.5 for _ in range(10))
