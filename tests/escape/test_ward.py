# SPDX-License-Identifier: Apache-2.0
"""Attacks on the way ward itself is started: its environment, its descriptors, and ward inside ward."""

import os
import shutil
import struct
import subprocess

import pytest

from conftest import PATIENCE, REFUSED


def is_static(program):
    """True for an ELF file that no loader is asked for."""
    data = program.read_bytes()
    offset, size, count = (struct.unpack_from(form, data, at)[0] for form, at in (("<Q", 32), ("<H", 54), ("<H", 56)))
    return all(struct.unpack_from("<I", data, offset + number * size)[0] != 3 for number in range(count))


def test_library_is_not_loaded_into_ward(place, base):
    """LD_PRELOAD reaches the command, where it is harmless, and not ward."""
    if not is_static(place.ward):
        pytest.skip("this build is linked dynamically")
    source, library = base / "library.c", base / f"library-{place.who}.so"
    source.write_text("""#include <fcntl.h>
        #include <unistd.h>
        __attribute__((constructor)) static void load(void) {
            char exe[4096]; ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
            int fd = open("loaded", O_CREAT | O_WRONLY | O_APPEND, 0666);
            if (length > 0) exe[length] = '\\n';
            write(fd, exe, length + 1);
            close(fd);
        }""")
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", library, source], check=True)
    environment = place.environment(LD_PRELOAD=str(library), LD_AUDIT=str(library), GCONV_PATH=str(base))
    code, said = place.sandboxed(["true"], environment=environment)
    assert code == 0, said
    loaded = (place.workspace / "loaded").read_text()
    assert "true" in loaded or "coreutils" in loaded  # the attack is real
    assert "/ward" not in loaded.replace(str(base), "")


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (1, 2), (0, 1, 2)])
def test_closed_descriptors_are_not_filled_with_ward_s_own(place, closed):
    """Else what the command prints would go into the record."""
    def close():
        for descriptor in closed:
            os.close(descriptor)

    process = place.start([place.ward, "run", "--quiet", "--", "sh", "-c", "echo forged; echo forged >&2; cat"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=close)
    try:
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    log = (place.home / ".local/state/ward/audit.log").read_text()
    assert all(line.startswith("{") for line in log.splitlines())
    code, said = place.run([place.ward, "audit", "verify"])
    assert code == 0, said


def test_ward_inside_ward_gains_nothing(place):
    """It stands on a lower rung there, if at all; the outer walls are as before."""
    for name in ("open", "create", "chmod"):
        code, said = place.sandboxed([place.ward, "run", "--", place.program("files"), name, place.file, place.outside],
                                     environment=place.environment(HOME="/tmp"))
        assert code in (REFUSED, 125), said
    assert place.file.read_text() == "outside\n" and sorted(os.listdir(place.outside)) == ["empty", "file", "pipe"]


def test_level_none_inside_ward_gains_nothing(place):
    code, said = place.sandboxed([place.ward, "run", "--level", "none", "--", place.program("files"), "open", place.file, place.outside],
                                 environment=place.environment(HOME="/tmp"))
    assert code != 0, said
    assert place.file.read_text() == "outside\n"


def test_switches_for_tests_are_not_in_ward(place):
    """The variable that ward-unwalled knows does nothing to ward."""
    environment = place.environment(["readonly", "landlock", "notify", "seccomp"])
    code, said = place.sandboxed([place.program("files"), "open", place.file, place.outside], environment=environment)
    assert code == 1, said


@pytest.mark.parametrize("name", [
    "GITHUB_TOKEN", "github_token", "AWS_SECRET_ACCESS_KEY", "npm_config__authToken", "MY_PASSWORD", "my_password", "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "DOCKER_HOST",
])
def test_secret_variables_are_not_passed_on(place, name):
    code, said = place.sandboxed(["env"], environment=place.environment(**{name: "5ecret-b1f0c3"}))
    assert code == 0 and "5ecret-b1f0c3" not in said


@pytest.mark.parametrize("home", [None, "", "relative", "/", "{workspace}"], ids=["unset", "empty", "relative", "root", "workspace"])
def test_home_is_known_without_its_variable(make_place, plain_user, home):
    """The secrets are in the home that the system knows, whatever HOME says."""
    if os.geteuid() != 0:
        pytest.skip("this user's own home is not for tests")
    place = make_place("user")
    secret = place.write(plain_user[2] / ".ssh/id_ed25519", "5ecret-b1f0c3")
    environment = place.environment(XDG_STATE_HOME=str(place.home / "state"))
    environment.pop("HOME")
    if home is not None:
        environment["HOME"] = home.format(workspace=place.workspace)
    code, said = place.sandboxed(["cat", secret], environment=environment)
    shutil.rmtree(secret.parent)
    assert code == 1 and "Permission denied" in said, said


@pytest.mark.parametrize("kind", ["private", "shared", "memfd", "/dev/shm"])
def test_memory_of_any_kind_counts(place, kind):
    code, said = place.sandboxed(["python3", "-c", f"""if True:
        import mmap, os, time
        kind, size = {kind!r}, 200 << 20
        if kind == 'private':
            kept = bytearray(size)
        else:
            file = -1 if kind == 'shared' else os.memfd_create('m') if kind == 'memfd' else os.open('/dev/shm/m', os.O_CREAT | os.O_RDWR)
            if file >= 0:
                os.ftruncate(file, size)
            kept = mmap.mmap(file, size)
            for at in range(0, size, 4096):
                kept[at] = 1
        time.sleep(1)
        print('not limited')"""], ["--memory", "100M"])
    assert code != 0 and "not limited" not in said


def test_no_capability_is_left(place):
    code, said = place.sandboxed(["sh", "-c", "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp:|Groups' /proc/self/status"])
    values = dict(line.split(":") for line in said.splitlines())
    assert all(int(value, 16) == 0 for name, value in values.items() if name.startswith("Cap")), said
    assert values["NoNewPrivs"].strip() == "1" and values["Seccomp"].strip() == "2"


def test_core_dump_reaches_no_program_outside(place):
    """A limit of 0 would still be piped into a helper of the host's; 1 is not."""
    code, said = place.sandboxed(["sh", "-c", "ulimit -H -c"])
    assert code == 0
    code, said = place.sandboxed(["python3", "-c", "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"])
    assert said.strip() == "(1, 1)"


def test_supervisor_has_no_capabilities(make_place):
    """Started by root, it keeps nothing of root's once the sandbox stands."""
    if os.geteuid() != 0:
        pytest.skip("only root has any")
    place = make_place("root")
    process = place.start([place.ward, "run", "--quiet", "--", "sh", "-c", "echo started; sleep 5"])
    try:
        assert process.stdout.readline() == b"started\n"
        status = open(f"/proc/{process.pid}/status").read()
    finally:
        process.kill()
        process.communicate()
    values = dict(line.split(":", 1) for line in status.splitlines())
    assert int(values["CapEff"], 16) == 0 and int(values["CapPrm"], 16) == 0
