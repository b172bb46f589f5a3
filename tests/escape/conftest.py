# SPDX-License-Identifier: Apache-2.0
"""Places in which attacks are tried: the attack programs built, a plain user, and per test a workspace, a home and
something outside to attack."""

import concurrent.futures
import contextlib
import errno
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import longest  # noqa: E402
import users  # noqa: E402
from places import session_place  # noqa: E402

BUILD = HERE.parent.parent / "build"
WARD = pathlib.Path(os.environ.get("WARD") or BUILD / "ward")
UNWALLED = pathlib.Path(os.environ.get("WARD_UNWALLED") or WARD.with_name("ward-unwalled"))

# Seconds, for what takes milliseconds: a sanitized build on a busy machine must pass too.
PATIENCE = int(os.environ.get("WARD_PATIENCE") or 90)

# How an attack ends.
SUCCEEDED, REFUSED, NOT_TRIED = 0, 1, 2

# Without a user namespace the others cannot be made either.
NAMESPACES = "userns+mountns+pidns+ipcns+utsns+netns+cgroupns"

IDENTITIES = ["root", "user"] if os.geteuid() == 0 else ["user"]


def pytest_collection_modifyitems(items):
    longest.first(items, "grants", "container_runsc", "guard", "handed", "container")


def write_anew(path, text, seconds=PATIENCE):
    """The same file, whoever may be starting it as a program in this moment."""
    end = time.monotonic() + seconds
    while True:
        try:
            return path.write_text(text)
        except OSError as error:
            if error.errno != errno.ETXTBSY or time.monotonic() > end:
                raise
        time.sleep(0.001)


class Place:
    """What one test attacks from and attacks. Everything in it belongs to the identity."""

    def __init__(self, base, programs, who, uid, gid):
        self.base, self.programs, self.who, self.uid, self.gid = base, programs, who, uid, gid
        self.workspace, self.outside, self.home = (base / name for name in ("workspace", "outside", "home"))
        for directory in (self.base, self.workspace, self.outside, self.home, self.outside / "empty"):
            directory.mkdir(exist_ok=True)
            self.give(directory)
        self.file = self.write(self.outside / "file", "outside\n")
        os.mkfifo(self.outside / "pipe", 0o600)
        self.give(self.outside / "pipe")
        self.ward, self.unwalled = programs / "ward", programs / "ward-unwalled"
        self.profile_stays = False

    def give(self, path):
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def write(self, path, text, mode=0o600):
        """A file of the identity's, with the directories above it."""
        path = pathlib.Path(path)
        for directory in reversed(path.parents):
            if not directory.exists():
                directory.mkdir()
                self.give(directory)
        write_anew(path, text)
        path.chmod(mode)
        self.give(path)
        return path

    def copy(self, source, path, mode=0o755):
        shutil.copyfile(source, path)
        path.chmod(mode)
        self.give(path)
        return path

    def program(self, name):
        return str(self.programs / name)

    def environment(self, off=(), **more):
        """What ward is started with; off names the walls that ward-unwalled leaves out."""
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.home), "LANG": "C.UTF-8"}
        if "ASAN_OPTIONS" in os.environ:
            environment["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
        if off:
            # An AppArmor profile that this machine may have would stand in for what is shown to be missing.
            off = (*off, *(() if self.profile_stays else ("apparmor",)))
            environment["WARD_WALLS_OFF"] = ",".join(off).replace("+", ",")
        environment.update(more)
        return environment

    def options(self):
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if os.geteuid() == 0 else {}

    def start(self, argv, off=(), environment=None, cwd=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.STDOUT)
        return subprocess.Popen([word if isinstance(word, bytes) else str(word) for word in argv], cwd=cwd or self.workspace,
                                env=environment or self.environment(off), **self.options(), **more)

    def run(self, argv, timeout=PATIENCE, **more):
        """Runs to its end; returns the exit code and what it said."""
        process = self.start(argv, **more)
        try:
            said = process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return process.returncode, (said or b"").decode(errors="replace")

    def script(self, text):
        """A file with a program that is not judged by what it says: whatever it does is to be stopped."""
        return self.write(self.workspace / "script.py", text)

    def sandboxed(self, argv, flags=(), off=(), **more):
        """Runs it under ward, or with walls switched off under ward-unwalled."""
        return self.run([self.unwalled if off else self.ward, "run", "--quiet", *flags, "--", *argv], off=off, **more)


@pytest.fixture(scope="session")
def base():
    """Not in /tmp, which commands have one of their own of."""
    path = session_place("ward-escape-")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def programs(base):
    """The attack programs and copies of ward, where every user can execute them."""
    if not WARD.exists():
        pytest.exit(f"{WARD} is not built")
    directory = base / "bin"
    directory.mkdir()
    if "WARD_ATTACKS" in os.environ:
        shutil.copytree(os.environ["WARD_ATTACKS"], directory, dirs_exist_ok=True)
    compilers = [] if "WARD_ATTACKS" in os.environ else [
                 subprocess.Popen(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Wno-unused-result",
                                   "-o", directory / source.stem, source, "-lpthread"])
                 for source in HERE.glob("*.c")]
    assert all([compiler.wait() == 0 for compiler in compilers])
    shutil.copy(WARD, directory / "ward")
    shutil.copy(UNWALLED, directory / "ward-unwalled")
    shutil.copy(WARD.parent / "ward-web", directory / "ward-web")
    for program in directory.iterdir():
        program.chmod(0o755)
    return directory


@pytest.fixture(scope="session")
def plain_user():
    """Uid, gid and home of a user that is these tests' alone."""
    with users.plain_user() as name:
        entry = pwd.getpwnam(name)
        yield entry.pw_uid, entry.pw_gid, pathlib.Path(entry.pw_dir)


@pytest.fixture(scope="session")
def remover():
    """Removes places while the next test runs: freeing what the record has set aside takes its time."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
        yield lambda path: pool.submit(shutil.rmtree, path, ignore_errors=True)


@pytest.fixture
def make_place(base, programs, plain_user, remover):
    made = []

    def make(who):
        uid, gid = plain_user[:2] if who == "user" else (0, 0)
        path = pathlib.Path(tempfile.mkdtemp(prefix="p", dir=base))
        made.append(path)
        return Place(path, programs, who, uid, gid)

    yield make
    for path in made:
        remover(path)


@pytest.fixture(params=IDENTITIES)
def place(request, make_place):
    """The same place as root and as a plain user."""
    return make_place(request.param)


def wait_until(condition, seconds=PATIENCE, step=0.02):
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(step)
    return bool(condition())


def sooner_or_later(attempt, tries=200, seconds=2 * PATIENCE):
    """A race is not won every time, least of all on a busy machine: the code and the words of the attempt that won, or of the last."""
    end = time.monotonic() + seconds
    for _ in range(tries):
        code, said = attempt()
        if code == SUCCEEDED or time.monotonic() > end:
            break
    return code, said


@contextlib.contextmanager
def ended(process):
    """A process that does not outlive the test."""
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
