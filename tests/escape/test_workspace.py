# SPDX-License-Identifier: Apache-2.0
"""Attacks by an earlier run, or by one at the same time, that prepare the workspace for another run. The secrets are
the user's and were there before."""

import contextlib
import json
import os
import resource
import socket
import subprocess
import threading
import time

import pytest

from conftest import REFUSED, wait_until

MARK = "5ecret-b1f0c3"


def secret(place, name):
    return place.write(place.workspace / name, MARK + "\n")


def prepare(place, script, **more):
    """An earlier run. It may be refused what it tries; what counts is what a later one can do."""
    return place.sandboxed(["sh", "-c", script], **more)


def later(place, script, flags=(), **more):
    return place.sandboxed(["sh", "-c", script], flags, **more)[1]


def test_secret_is_real(place):
    """The attacks below read what this reads."""
    secret(place, "a/.env")
    assert MARK not in later(place, "cat a/.env")
    assert MARK in later(place, "cat a/.env", off=["masks"])


@pytest.mark.parametrize("target", ["/", "/proc/self/root", "..", ".", "/usr", "/home", "/var", "/proc/version", "/dev", "/bin/sh"])
def test_link_with_a_secret_name_hides_no_secret(place, target):
    """A link named as a secret is masked leads to what must not be masked, or covers all the others."""
    for name in ("a/.env", "b/.env", ".env"):
        secret(place, name)
    for number in range(5):
        prepare(place, f"ln -s {target} .env.{number}")
    code, said = place.sandboxed(["sh", "-c", "echo runs; cat a/.env b/.env .env; true"])
    assert MARK not in said
    assert said.startswith("runs"), said




def test_program_of_ward_in_the_workspace(place):
    """Who replaces it is run without walls the next time."""
    for name in ("ward", "bin/ward"):
        (place.workspace / "bin").mkdir(exist_ok=True)
        place.give(place.workspace / "bin")
        ward = place.copy(place.ward, place.workspace / name)
        for script in ("echo forged > new; chmod 755 new; mv -f new {}", "rm -f {}", "echo forged > {}",
                       "mv bin b; mkdir bin; echo forged > bin/ward"):
            place.run([ward, "run", "--quiet", "--", "sh", "-c", script.format(name)])
            assert ward.exists() and ward.read_bytes() == place.ward.read_bytes(), script


@pytest.mark.parametrize("mode", ["000", "100", "300", "400"])
def test_closed_directory_hides_no_secret(place, mode):
    secret(place, "a/b/.env")
    prepare(place, f"chmod {mode} a/b")
    assert MARK not in later(place, "chmod 700 a/b; cat a/b/.env")
    prepare(place, f"chmod {mode} a")
    assert MARK not in later(place, "chmod 700 a; chmod 700 a/b; cat a/b/.env")


@pytest.mark.parametrize("hole", [".git/objects", ".git", "node_modules", ".env.example", ".git/objects/ab", "-", "x y\nz", "\\377"])
def test_no_place_is_left_out_of_the_search(place, hole):
    secret(place, "a/.env")
    hole = hole.encode().decode("unicode_escape").encode("latin-1") if "\\" in hole else hole.encode()
    prepare(place, b"mkdir -p -- './" + hole + b"'; mv a './" + hole + b"/'")
    assert MARK not in later(place, b"cat './" + hole + b"/a/.env' a/.env")


def test_deep_directories_hide_no_secret(place):
    secret(place, "a/.env")
    deep = "/".join(["d"] * 200)
    prepare(place, f"mkdir -p {deep} && mv a {deep}/")
    assert MARK not in later(place, f"cat {deep}/a/.env")


def test_many_secret_names_do_not_stop_later_runs(place):
    """Names cost the earlier run nothing and must cost a later one little."""
    prepare(place, "touch $(seq -f .env.%g 2000)")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert later(place, "echo runs") == "runs\n"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # on a busy machine the clock says nothing
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


def test_names_of_secrets_cannot_forge_masks(place):
    """Control characters and what separates records on the way to init."""
    names = [".env.a\nF 0 0 /etc/passwd", ".env.\x1b[2J", ".env. 1 2 /", ".env.%s%n"]
    for name in names:
        place.write(place.workspace / name, MARK)
    said = later(place, "cat .env*; cat /etc/passwd >/dev/null && echo readable", ["--json"])
    assert MARK not in said and "\x1b" not in said
    assert "readable" in said


def run_beside(place, *words, cwd=None):
    """The run that changes names while others start."""
    return place.start([place.ward, "run", "--quiet", "--", place.program("workspace"), *words], cwd=cwd,
                       stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def beside(place, *words, cwd=None):
    process = run_beside(place, *words, cwd=cwd)
    time.sleep(0.1)
    try:
        yield
    finally:
        ((cwd or place.workspace) / "enough").touch()
        process.kill()
        process.wait()


def tries(seconds=1.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def test_directory_that_moves_hides_no_secret(place):
    secret(place, "a/.env")
    with beside(place, "move", "a", "a2"):
        for _ in tries():
            assert MARK not in later(place, "cat a/.env a2/.env a/.env a2/.env")


def test_directory_that_is_exchanged_hides_no_secret(place):
    secret(place, "a/.env")
    place.write(place.workspace / "decoy/.env", "nothing\n")
    with beside(place, "exchange", "a", "decoy"):
        for _ in tries():
            assert MARK not in later(place, "cat a/.env decoy/.env a/.env decoy/.env")


def test_directory_that_evades_the_search_hides_no_secret(place):
    """Always where the search has been already, or is not yet."""
    for number in range(40):
        for name in ("x", "y"):
            (place.workspace / name / str(number)).mkdir(parents=True)
            place.give(place.workspace / name)
    secret(place, "x/a/.env")
    with beside(place, "move", "x/a", "y/a"):
        for _ in tries():
            assert MARK not in later(place, "cat x/a/.env y/a/.env x/a/.env y/a/.env")


def test_workspace_that_becomes_a_link_opens_nothing(place):
    """The workspace of the second run lies in that of the first."""
    inner = place.workspace / "inner"
    inner.mkdir()
    place.give(inner)
    (place.workspace / "link").symlink_to(place.outside)
    flags = ["--cwd", "/", "--workspace", inner]
    with beside(place, "exchange", "inner", "link"):
        for _ in tries():
            # Where the name was a link from the start, the caller named what it led to.
            place.sandboxed(["sh", "-c", f"grep -q '{place.outside} {inner} ' /proc/self/mountinfo && echo x > {inner}/planted"],
                            flags)
            assert not (place.outside / "planted").exists()


def test_write_does_not_follow_a_planted_link(place):
    prepare(place, f"ln -s {place.outside} out")
    place.sandboxed(["sh", "-c", "echo x > out/planted"], ["--write", "out"])
    assert not (place.outside / "planted").exists()


# A workspace that holds more than it should.

def at_home(place):
    place.write(place.home / ".ssh/id_ed25519", MARK)
    place.write(place.home / ".aws/credentials", MARK)
    place.write(place.home / ".git-credentials", MARK)
    return {"cwd": place.home}


@pytest.mark.parametrize("preparation", [
    "true",
    "mv .ssh s; mv .aws a",
    "mkdir x; mv .ssh .aws x",
    "chmod 100 .ssh .aws",
    "chmod 000 .ssh .aws",
    "ln .git-credentials g; cp -r .ssh s",
    "mv .ssh .aws /tmp",
    "mv .git-credentials g",
    "ln -s / .azure; ln -s / .mozilla; ln -s .. .netrc",
    "rm -rf .local; ln -s / .local",
])
def test_secrets_of_a_home_that_is_the_workspace(place, preparation):
    more = at_home(place)
    prepare(place, preparation, **more)
    said = later(place, "chmod 700 .ssh .aws x s a; cat .ssh/* s/* x/*/* .aws/* a/* g .git-credentials /tmp/*/*; ls -R .", **more)
    assert MARK not in said




@pytest.mark.parametrize("preparation", [
    "mv .local l",
    "mv .local/state s",
    "mv .local/state/ward w",
    "rm -rf .local",
    "chmod 000 .local/state; chmod 000 .local",
    "mv .local l; mkdir -p .local/state/ward",
])
def test_record_in_a_home_that_is_the_workspace(place, preparation):
    """Ward's state stays where it is, and what it holds stays as it is."""
    more = at_home(place)
    assert place.sandboxed(["true"], **more)[0] == 0
    prepare(place, preparation, **more)
    assert "run.start" not in later(place, "cat .local/state/ward/audit.log */state/ward/audit.log */ward/audit.log w/audit.log", **more)
    for closed in (".local", ".local/state"):
        (place.home / closed).chmod(0o700)
    assert len((place.home / ".local/state/ward/audit.log").read_text().splitlines()) >= 4
    code, said = place.run([place.ward, "audit", "verify"], **more)
    assert code == 0, said


def test_planted_session_opens_nothing(place):
    """The directory of /tmp as a link to something of the user's."""
    more = at_home(place)
    assert place.sandboxed(["true"], ["--session", "s"], **more)[0] == 0
    prepare(place, """
        exec 9< .local
        for way in . /proc/self/fd/9/.. ; do
            mv $way/.local $way/.old; mv $way/.local/state $way/.local/old
            mkdir -p $way/.local/state/ward/sessions/s $way/.local/state/ward/sessions/t
            rm -rf $way/.local/state/ward/sessions/*/.ward-inside-tmp
            ln -s %s $way/.local/state/ward/sessions/s/.ward-inside-tmp
            ln -s %s $way/.local/state/ward/sessions/t/.ward-inside-tmp
        done""" % (place.outside, place.outside), **more)
    for session in "st":
        place.sandboxed(["sh", "-c", "echo x > /tmp/planted"], ["--session", session])
    assert not (place.outside / "planted").exists()




def test_state_inside_the_workspace(place):
    """XDG_STATE_HOME says so."""
    state = place.workspace / "state"
    environment = place.environment(XDG_STATE_HOME=str(state))
    for script in ("mv state s; mkdir -p state/ward", "rm -rf state", "cat state/ward/audit.log s/ward/audit.log",
                   "echo x >> state/ward/audit.log"):
        assert "run.start" not in place.sandboxed(["sh", "-c", script], environment=environment)[1]
    kinds = [json.loads(line)["kind"] for line in (state / "ward/audit.log").read_text().splitlines()]
    assert [kind for kind in kinds if kind != "run.denials"] == ["run.start", "run.end"] * 4
    code, said = place.run([place.ward, "audit", "verify"], environment=environment)
    assert code == 0, said


def test_switches_mounted_below_the_workspace(make_place):
    """A tree for another system, with its /sys: root owns what is in it."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    place = make_place("root")
    mounted = place.workspace / "sys"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "sysfs", "none", mounted], check=True)
    try:
        found = [path for path in ("kernel/mm/transparent_hugepage/enabled", "kernel/profiling", "kernel/uevent_helper")
                 if os.access(mounted / path, os.W_OK)]
        code, said = place.sandboxed([place.program("files"), "open-and-cut", mounted / found[0], mounted])
    finally:
        subprocess.run(["umount", "-l", mounted], check=True)
    assert code == REFUSED, said


def test_sockets_made_by_the_host_are_not_ours(place):
    """The host makes its own where the numbers of our inodes are free again."""
    directory = place.workspace / "s"
    directory.mkdir()
    place.give(directory)

    def host():
        wait_until((directory / "ready").exists, step=0.005)
        for number in range(50):
            server = socket.socket(socket.AF_UNIX)
            server.bind(str(directory / f"host-{number}"))
            os.chmod(directory / f"host-{number}", 0o777)
            server.listen(5)
            servers.append(server)
        (directory / "made").touch()

    servers, thread = [], threading.Thread(target=host)
    thread.start()
    try:
        code, said = place.sandboxed([place.program("sockets"), "reused-inode", "s"])
    finally:
        thread.join()
        for server in servers:
            server.close()
    assert code == REFUSED, said


def serve(path, kept):
    """A server of the host that accepts whoever connects."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    os.chmod(path, 0o777)
    server.listen(4096)
    kept.append(server)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                server.accept()[0].close()

    threading.Thread(target=accept, daemon=True).start()


def test_allowed_socket_is_the_only_one(place):
    """Its directory lies in the workspace, and is now a link to one with another socket of that name."""
    directory, kept = place.workspace / "d", []
    directory.mkdir()
    place.give(directory)
    serve(directory / "s", kept)
    serve(place.outside / "s", kept)
    (place.workspace / "link").symlink_to(place.outside)
    try:
        code, said = place.sandboxed([place.program("sockets"), "allowed", directory / "s", "d", "link"],
                                     ["--allow-socket", directory / "s"])
    finally:
        for server in kept:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
    assert code == REFUSED, said


def test_workspace_owner_decides_who_root_becomes(make_place, plain_user):
    """Started by root in a user's workspace, a command has that user's rights only."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another")
    place, (uid, gid, _) = make_place("root"), plain_user
    os.chown(place.workspace, uid, gid)
    place.base.chmod(0o755)
    code, said = place.sandboxed(["sh", "-c", "id -u; id -g; id -G; cat " + str(place.file)])
    assert said.split()[:3] == [str(uid), str(gid), str(gid)], said
    assert "outside\n" not in said
