# SPDX-License-Identifier: Apache-2.0
"""AppArmor, where the machine has it and its administrator has loaded data/apparmor/ward-restricted: a wall of its own, which
refuses what the walls that are switched off would have."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import HERE, IDENTITIES, REFUSED, SUCCEEDED
from test_attacks import ATTACKS, attempt

PROFILE = "ward-restricted"
SOURCE = HERE.parent.parent / "data" / "apparmor" / PROFILE
# Asks for what ward asks for, in a process of its own, and says what came of it.
ASK = """
fd = __import__("os").open("/proc/self/attr/apparmor/exec", 2)
__import__("os").write(fd, b"exec ward-restricted")
print(__import__("os").pread(fd, 100, 0).decode().strip())
"""

# What of the attacks the profile is against, as whom it is real.
HELD = [("network-raw", "root"), ("network-raw6", "root"), ("network-packet", "root"), ("kernel-mount", "root"), ("kernel-remount", "root"),
        ("kernel-clone-tree", "root"), ("kernel-hostname", "root"), ("machine-core-pattern", "root"), ("machine-sys", "root"),
        ("processes-kill", "root"), ("processes-kill", "user"), ("processes-ptrace", "user"), ("processes-vm", "user"),
        ("processes-environ", "user")]


@pytest.fixture(scope="module")
def profile():
    """The tests in machines of their own have it loaded, and must not pass by leaving it out."""
    said = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=False)
    if said.stdout.strip() == f"{PROFILE} (enforce)":
        return PROFILE
    why = "the profile ward-restricted is not loaded" if os.path.exists("/sys/kernel/security/apparmor") else "this kernel has no AppArmor, or it is off"
    if os.environ.get("WARD_APPARMOR") == "loaded":
        pytest.fail(f"{why}: {said.stderr}")
    pytest.skip(why)


def result_of(place, argv, **more):
    code, said = place.run([place.ward, "run", "--json", "--", *argv], **more)
    return code, json.loads(said)


def test_the_command_and_what_it_starts_stand_under_the_profile(place, profile):
    code, result = result_of(place, ["sh", "-c", "cat /proc/self/attr/apparmor/current; sh -c 'cat /proc/self/attr/apparmor/current; exit 0'"])
    assert (code, result["stdout"]) == (0, f"{profile} (enforce)\n" * 2), result
    assert "apparmor" in result["attempts"][0]["walls"]


@pytest.mark.parametrize("name, who", [pair for pair in HELD if pair[1] in IDENTITIES], ids="-".join)
def test_the_profile_alone_refuses(make_place, profile, name, who):
    attack, = {attack for attack in ATTACKS if str(attack) == name}
    off = attack.walls + attack.also
    code, said = attempt(make_place(who), attack, off)
    if code != SUCCEEDED:
        pytest.skip(f"this machine refuses it by itself: {said}")
    place = make_place(who)
    place.profile_stays = True
    code, said = attempt(place, attack, off)
    assert code == REFUSED, said


def contained(runtime, name):
    return ["--level", "container", "--container", f"runtime={runtime}", *(["--container", f"apparmor={name}"] if name else [])]


@pytest.fixture(params=[("root", "crun"), ("user", "crun"), ("user", "runc")], ids="-".join)
def container(request, make_place, profile):
    """A place, and how to ask for a container there under a profile by its name."""
    who, runtime = request.param
    if who not in IDENTITIES or not shutil.which(runtime):
        pytest.skip(f"needs {runtime}, and to be {who}")
    return make_place(who), lambda name=profile: contained(runtime, name)


def test_a_container_stands_under_the_profile_that_it_names(container, profile):
    place, under = container
    say = ["sh", "-c", "cat /proc/self/attr/apparmor/current; id -u; grep CapBnd /proc/self/status"]
    code, said = place.run([place.ward, "run", "--json", *under(), "--", *say])
    result = json.loads(said)
    assert (code, result["stdout"]) == (0, f"{profile} (enforce)\n{place.uid}\nCapBnd:\t{'0' * 16}\n"), result
    assert "apparmor" in result["attempts"][0]["walls"]
    code, said = place.run([place.ward, "run", "--json", *under(None), "--", *say])
    result = json.loads(said)
    assert result["stdout"].startswith("unconfined\n") and "apparmor" not in result["attempts"][0]["walls"], result


def test_runc_of_root_says_that_it_cannot(make_place, profile):
    if "root" not in IDENTITIES or not shutil.which("runc"):
        pytest.skip("needs runc, and root")
    place = make_place("root")
    code, said = place.sandboxed(["touch", "ran"], contained("runc", profile))
    assert code == 125 and "use runtime=crun" in said and not (place.workspace / "ran").exists(), said


def test_the_profile_of_a_container_alone_refuses(make_place, profile):
    """Root writes to a file of the machine, with all that keeps it from that switched off but the profile."""
    if "root" not in IDENTITIES or not shutil.which("crun"):
        pytest.skip("needs crun, and root")
    attack, = {attack for attack in ATTACKS if str(attack) == "machine-sys"}
    place = make_place("root")
    for name, ends in ((None, SUCCEEDED), (profile, REFUSED)):
        code, said = place.sandboxed([place.program(attack.program), attack.name, *attack.words], contained("crun", name), off=attack.walls + attack.also)
        assert code == ends, said


# Somebody's own.
OWN = """abi <abi/3.0>,
profile ward-test-own flags=(attach_disconnected,mediate_deleted) {
  file, network, unix, signal, ptrace,
  deny /**/kept rw,
}
profile ward-test-complaining flags=(attach_disconnected,mediate_deleted,complain) {
  file,
}
"""


@pytest.fixture
def own(profile):
    if os.environ.get("WARD_APPARMOR") != "loaded" or os.geteuid() != 0:
        pytest.skip("changes the machine's profiles: for a machine of the tests' own")
    subprocess.run(["apparmor_parser", "-r", "-K"], input=OWN, text=True, check=True)
    return "ward-test-own", f"not {profile}"


def test_a_profile_of_somebody_s_own_alone_refuses(container, own):
    place, under = container
    place.write(place.workspace / "kept", "what is kept\n")
    code, said = place.sandboxed(["cat", "kept"], under(own[0]))
    assert code != 0 and "what is kept" not in said, said
    code, said = place.sandboxed(["cat", "kept"], under(None))
    assert (code, said) == (0, "what is kept\n")


@pytest.mark.parametrize("name", ["ward-test-complaining", "ward-test-nothing"])
def test_nothing_runs_under_a_profile_that_does_not_hold(container, own, name):
    place, under = container
    code, said = place.sandboxed(["touch", "ran"], under(name))
    assert code == 125 and not (place.workspace / "ran").exists(), (said, own)


LEAVE = """
import sys
for name, wish in (("exec", "exec unconfined"), ("current", "changeprofile unconfined"), ("current", "permprofile unconfined"), ("current", "changehat 0000000000000000^unconfined")):
    try:
        with open(f"/proc/self/attr/apparmor/{name}", "w") as file:
            file.write(wish)
        print("taken:", wish)
    except OSError:
        pass
print(open("/proc/self/attr/apparmor/current").read())
"""


def test_the_profile_cannot_be_left(place, profile):
    place.profile_stays = True
    code, said = place.sandboxed(["/usr/bin/python3", place.script(LEAVE)], off=("readonly", "landlock", "notify", "seccomp", "proc"))
    assert code == 0 and "taken" not in said and f"{profile} (enforce)" in said, said


def test_a_profile_that_only_complains_is_no_wall(place, profile):
    if os.environ.get("WARD_APPARMOR") != "loaded" or os.geteuid() != 0:
        pytest.skip("changes the machine's profiles: for a machine of the tests' own")
    subprocess.run(["apparmor_parser", "-r", "-K", "-C", SOURCE], check=True)
    try:
        code, result = result_of(place, ["true"])
    finally:
        subprocess.run(["apparmor_parser", "-r", "-K", SOURCE], check=True)
    assert code == 0 and "apparmor" not in result["attempts"][0]["walls"], result
    assert "apparmor" in result_of(place, ["true"])[1]["attempts"][0]["walls"]


AROUND = """abi <abi/3.0>,
profile ward-test-around flags=(attach_disconnected) {
  file, capability, mount, remount, umount, pivot_root, network, unix, signal, ptrace, change_profile,
}
"""


def test_a_ward_under_another_profile_stays_under_it_and_runs(place, profile):
    if os.environ.get("WARD_APPARMOR") != "loaded" or os.geteuid() != 0:
        pytest.skip("changes the machine's profiles: for a machine of the tests' own")
    subprocess.run(["apparmor_parser", "-r", "-K"], input=AROUND, text=True, check=True)
    code, said = place.run(["sh", "-c", f"echo exec ward-test-around > /proc/self/attr/apparmor/exec; exec {place.ward} run --json -- cat /proc/self/attr/apparmor/current"])
    result = json.loads(said)
    assert (code, result["stdout"]) == (0, "ward-test-around (enforce)\n"), result
    assert profile != "ward-test-around" and "apparmor" not in result["attempts"][0]["walls"]


UNCONFINED = """abi <abi/3.0>,
profile ward-test-named flags=(unconfined) {
}
"""


def test_a_profile_that_leaves_ward_unconfined_is_no_hindrance(place, profile):
    """As data/apparmor/ward does, whose rule older parsers do not read."""
    if os.environ.get("WARD_APPARMOR") != "loaded" or os.geteuid() != 0:
        pytest.skip("changes the machine's profiles: for a machine of the tests' own")
    subprocess.run(["apparmor_parser", "-r", "-K"], input=UNCONFINED, text=True, check=True)
    code, said = place.run(["sh", "-c", f"echo exec ward-test-named > /proc/self/attr/apparmor/exec; exec {place.ward} run --json -- cat /proc/self/attr/apparmor/current"])
    result = json.loads(said)
    assert (code, result["stdout"]) == (0, f"{profile} (enforce)\n"), result
    assert "apparmor" in result["attempts"][0]["walls"]


def test_without_it_nothing_is_said_unless_the_policy_requires_it(place):
    place.ward = place.unwalled
    without = {"environment": place.environment(("apparmor",))}
    code, result = result_of(place, ["true"], **without)
    assert code == 0 and "apparmor" not in json.dumps([result["attempts"][0]["walls"], result["sandbox_warnings"]]).lower(), result
    place.write(place.home / ".config/ward/ward.yaml", "sandbox: {require: [apparmor]}\n")
    code, said = place.run([place.ward, "run", "--", "touch", "ran"], **without)
    assert code == 125 and "requires the wall apparmor" in said and "apparmor_parser -r" in said, said
    assert not pathlib.Path(place.workspace / "ran").exists()


def test_what_the_policy_requires_is_there(place, profile):
    place.write(place.home / ".config/ward/ward.yaml", f"sandbox: {{require: [apparmor]}} # {profile}\n")
    assert place.sandboxed(["true"])[0] == 0
