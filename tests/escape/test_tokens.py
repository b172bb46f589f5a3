# SPDX-License-Identifier: Apache-2.0
"""Attacks on tokens and on grants that end: stolen by another agent, used more often than they may be, kept alive by the clock,
and used on while somebody takes them back. The attacker has the token, has read ward's source, and is whatever runs."""

import base64
import concurrent.futures
import contextlib
import hashlib
import hmac
import json
import os
import random
import shutil
import socket
import subprocess
import threading
import time

import pytest

from conftest import NAMESPACES, PATIENCE, REFUSED, SUCCEEDED, ended, wait_until, write_anew

# All that keeps a command from the files of whoever runs it.
FILES = (NAMESPACES, "landlock", "seccomp", "masks", "readonly", "tmp", "proc", "run", "guard")
BOT = ("--agent", "bot")


def say(place, *words):
    code, said = place.run([place.ward, *words])
    assert code == 0, said
    return said.strip()


def mint(place, *words, allow=("read src/**", "write out/**")):
    return say(place, "token", "mint", *BOT, *(word for one in allow for word in ("--allow", one)), *words)


def narrow(place, token, *words):
    return say(place, "token", "narrow", token, *words)


def under(place, token, argv=("cat", "src/a"), flags=BOT, off=(), **more):
    return place.sandboxed(argv, [*flags, "--token", token], off=off, **more)


@pytest.fixture
def work(place):
    place.write(place.workspace / "src/a", "the content\n")
    place.write(place.workspace / "out/log", "")
    return place


# -- Theft -----------------------------------------------------------------------------------------

THIEVES = {
    "another": ("--agent", "thief"),
    "nobody": (),
    "letter": ("--agent", "Bot"),
    "longer": ("--agent", "bot2"),
    "shorter": ("--agent", "bo"),
    "session": ("--agent", "thief", "--session", "bot"),
}


@pytest.mark.parametrize("who", THIEVES)
def test_a_stolen_token_opens_nothing(work, who):
    code, said = under(work, mint(work), flags=THIEVES[who])
    assert code == 126 and "not for" in said and "the content" not in said, said


@pytest.mark.parametrize("who", THIEVES)
def test_that_theft_is_one(work, who):
    code, said = under(work, mint(work), flags=THIEVES[who], off=("bearer",))
    assert (code, said) == (0, "the content\n")


def caveat(token, *texts):
    """The token with caveats that its holder puts behind it, by hand and without ward."""
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    signature, body = raw[-32:], raw[:-35]
    for text in texts:
        body += b"\x02" + length(len(text)) + text.encode() + b"\x00"
        signature = hmac.new(signature, text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(body + b"\x00\x06\x20" + signature).decode().rstrip("=")


def length(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


def test_what_a_thief_writes_into_it_makes_it_nobody_s(work):
    """A narrower one is made by hand as ward makes it; so what is refused is what it says."""
    token = mint(work)
    assert under(work, caveat(token, "uses 5"))[0] == 0
    for more in (["agent thief"], ["agent bot", "agent thief"], ["agent bot\nagent thief"], ["agent"], ["agent *"]):
        for flags in (("--agent", "thief"), BOT, ()):
            if more[0] != "agent bot" or flags != BOT:
                assert under(work, caveat(token, *more), flags=flags)[0] == 126, (more, flags)


def elsewhere(place, way):
    """Another workspace of the same agent, with the same names in it."""
    other = place.base / "elsewhere"
    place.write(other / "src/a", "the content\n")
    if way == "link-in":  # of the token's workspace, in the other one
        (other / "in").symlink_to(place.workspace)
        return other, ("cat", "src/a")
    if way == "prefix":
        other = other.rename(place.workspace.with_name("workspace2"))
    if way == "dots":
        return f"{place.workspace}/../elsewhere", ("cat", "src/a")
    return other, ("cat", "src/a")


@pytest.mark.parametrize("way", ["other", "link-in", "prefix", "dots"])
@pytest.mark.parametrize("off", [(), ("bearer",)], ids=["", "real"])
def test_a_token_of_one_workspace_is_for_no_other(work, way, off):
    token = mint(work, "--workspace", work.workspace)
    assert under(work, token)[0] == 0
    other, argv = elsewhere(work, way)
    code, said = under(work, token, argv, flags=[*BOT, "--workspace", other], off=off, cwd=other)
    assert (code == 0) == bool(off) and ("the content" in said) == bool(off), said


@pytest.mark.parametrize("off", [(), ("bearer",)], ids=["", "real"])
def test_a_token_of_one_command_is_for_no_other(work, off):
    token = say(work, "token", "mint", *BOT, "--allow", "read src/**", "--", "true", "src/a")
    assert under(work, token, ["true", "src/a"])[0] == 0
    for argv in (["cat", "src/a"], ["true", "src/a", ""], ["sh", "-c", "cat src/a", "true"]):
        assert (under(work, token, argv, off=off)[0] == 0) == bool(off), argv


INSIDE = """exec {ward} run --quiet --agent bot --token "$(cat token)" -- sh -c 'echo stolen > {file}'"""


def from_a_run(place, flags=(), off=()):
    """Whether a command of the thief's gets outside by a token that lies about, with a ward of its own."""
    place.write(place.workspace / "token", mint(place, allow=(f"write {place.file}",)), 0o644)
    script = place.write(place.workspace / "steal.sh", INSIDE.format(ward=place.ward, file=place.file), 0o755)
    place.sandboxed(["sh", script], ["--agent", "thief", *flags], off=off)
    return place.file.read_text() == "stolen\n"


@pytest.mark.parametrize("flags", [(), ("--session", "s"), ("--net", "full")], ids=str)
def test_a_run_inside_a_run_makes_no_use_of_it(work, flags):
    assert not from_a_run(work, flags)


def test_walls_are_what_keeps_it_in(work):
    assert from_a_run(work, off=(*FILES, "notify", "capabilities", "no_new_privs"))


# Every place in which a token that is in use could be seen by others.
SEARCH = """import os, stat, sys
wanted = open("wanted").read().strip().encode()[-40:]
found = []
def look(path):
    try:
        if not stat.S_ISREG(os.stat(path).st_mode): return
        with open(path, "rb") as file:
            if wanted in file.read(1 << 22): found.append(path)
    except OSError: pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid(): continue
    for name in ("cmdline", "environ", "comm", "task/%s/cmdline" % pid): look("/proc/%s/%s" % (pid, name))
    try: fds = os.listdir("/proc/%s/fd" % pid)
    except OSError: fds = []
    for fd in fds:
        look("/proc/%s/fd/%s" % (pid, fd))
for top in sys.argv[1:]:
    for directory, _, names in os.walk(top):
        for name in names:
            if name != "wanted": look(os.path.join(directory, name))
print("found", found) if found else print("nothing")
"""


def search(place, wanted, sandboxed=True):
    place.write(place.workspace / "wanted", wanted)
    script = place.script(SEARCH)
    argv = ["/usr/bin/python3", script, place.home, place.outside, *(["/tmp", "/dev/shm", "/run"] if sandboxed else [])]
    return place.sandboxed(argv, ["--agent", "thief"]) if sandboxed else place.run(argv)


@contextlib.contextmanager
def running(place, argv, **more):
    """Once it goes on."""
    ready = place.workspace / "out/ready"
    with ended(place.start(argv, **more)) as process:
        assert wait_until(lambda: ready.exists() or process.poll() is not None) and ready.exists(), process.poll()
        yield process


def test_a_token_in_use_is_nowhere_to_be_seen(work):
    token = mint(work)
    with running(work, [work.ward, "run", "--quiet", *BOT, "--token", token, "--", "sh", "-c", "> out/ready; sleep 60"]):
        for sandboxed in (True, False):
            code, said = search(work, token, sandboxed)
            assert (code, said) == (0, "nothing\n")


def test_whoever_searches_finds_what_is_there(work):
    token = mint(work)
    with running(work, ["sh", "-c", "> out/ready; while [ -e out/ready ]; do sleep 0.1; done", token], stdout=subprocess.DEVNULL):
        assert "/cmdline" in search(work, token, sandboxed=False)[1]
    (work.workspace / "out/ready").unlink()
    work.write(work.home / "kept", token)
    assert "kept" in search(work, token, sandboxed=False)[1]


# -- Replay ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("off", [(), ("uses",)], ids=["", "real"])
def test_a_token_is_not_used_more_often_than_it_may_be(work, off):
    token = mint(work, "--uses", "2")
    codes = [under(work, token, off=off)[0] for _ in range(4)]
    assert codes == ([0] * 4 if off else [0, 0, 126, 126])


@pytest.mark.parametrize("off", [(), ("uses",)], ids=["", "real"])
def test_a_race_for_the_last_use_has_one_winner(work, off):
    for _ in range(3):
        token = mint(work, "--uses", "1")
        tokens = [token, *(narrow(work, token, "--uses", "9") for _ in range(2)), caveat(token, "uses 9", "uses 99")]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(lambda i: under(work, tokens[i % 4], off=off)[0], range(8)))
        assert codes.count(0) == (8 if off else 1), codes


@pytest.mark.parametrize("off", [(), ("uses",)], ids=["", "real"])
def test_a_narrower_one_has_no_uses_of_its_own(work, off):
    token = mint(work, "--uses", "2")
    tokens = [narrow(work, token, "--uses", "5"), narrow(work, token, "--allow", "read src/a"), narrow(work, token, "--expires", "5m"),
              caveat(token, "uses 2"), caveat(token, "uses 3", "uses 3"), token]
    codes = [under(work, one, off=off)[0] for one in tokens]
    assert codes.count(0) == (6 if off else 2), codes


BOOK = {
    "remove": "rm -f {tokens}/uses-*",
    "rewrite": "for i in {tokens}/uses-*; do echo '0 9999999999' > $i; done",
    "replace": "for i in {tokens}/uses-*; do (umask 077; echo '0 9999999999' > $PWD/x); mv $PWD/x $i; done",
    "copy-back": "cp -a saved/. {tokens}/",
    "move": "mv {tokens} {tokens}.old && cp -a saved {tokens}",
    "link": "mv {tokens} {tokens}.old; ln -s $PWD/saved {tokens}",
    "lock": "cp -a {tokens}/lock $PWD/x; mv $PWD/x {tokens}/lock; rm {tokens}/uses-*",
    "verb": "{ward} token rotate",
}


def again_after(place, name, under_token=False, off=()):
    """Whether a token that is used up can be used again after what the command did to the book."""
    token = mint(place, "--uses", "1", allow=("read **", "write out/**"))
    tokens = place.home / ".local/state/ward/tokens"
    shutil.copytree(tokens, place.workspace / "saved", copy_function=shutil.copy2)
    for path in [place.workspace / "saved", *(place.workspace / "saved").rglob("*")]:
        place.give(path)
    script = place.write(place.workspace / "book.sh", BOOK[name].format(tokens=tokens, ward=place.ward), 0o755)
    if under_token:
        under(place, token, ["sh", script])
    else:
        assert under(place, token)[0] == 0
        place.sandboxed(["sh", script], ["--agent", "thief", "--write", place.home], off=off)
    return under(place, token)[0] == 0


@pytest.mark.parametrize("under_token", [False, True], ids=["beside", "under-it"])
@pytest.mark.parametrize("name", BOOK)
def test_no_command_changes_what_was_counted(work, name, under_token):
    assert not again_after(work, name, under_token)


@pytest.mark.parametrize("name", ["remove", "rewrite", "replace", "move"])
def test_walls_are_what_keeps_commands_from_the_book(work, name):
    assert again_after(work, name, off=(*FILES, "notify"))


@pytest.mark.parametrize("off", [(), ("uses",)], ids=["", "real"])
def test_to_kill_ward_saves_no_use(work, off):
    """At any moment between the look and the count: what has begun was counted."""
    token, most = mint(work, "--uses", "3"), 3
    argv = [work.unwalled if off else work.ward, "run", "--quiet", *BOT, "--token", token, "--", "sh", "-c", "echo x >> out/log"]
    log, dice = work.workspace / "out/log", random.Random(1)
    for _ in range(30):
        with ended(work.start(argv, off=off)) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(dice.uniform(0, 0.03))
    begun = lambda: len(log.read_text().split())
    assert begun() <= most or off
    for _ in range(most + 1):
        work.run(argv, off=off)
    assert begun() > most if off else begun() <= most, log.read_text()


# -- The clock -------------------------------------------------------------------------------------

def can_shift():
    return subprocess.run(["unshare", "--time", "--boottime", "1000", "true"], capture_output=True).returncode == 0


class Shifted:
    """Runs it where the machine's own clock is so many seconds further, and the wall clock is not: as if so much time had
    passed, and somebody had set the clock back. Nobody sets the clock of this machine."""

    def __init__(self, place, seconds):
        if os.geteuid() != 0 or not can_shift():
            pytest.skip("there are no time namespaces here")
        self.place, self.before = place, ["unshare", "--time", "--boottime", str(seconds), "--fork", "--kill-child"]
        if place.uid:
            self.before += ["setpriv", "--reuid", str(place.uid), "--regid", str(place.gid), "--clear-groups"]

    def run(self, argv, flags=(), off=(), **more):
        ward = self.place.unwalled if off else self.place.ward
        argv = [str(word) for word in (*self.before, ward, "run", "--quiet", *flags, "--", *argv)]
        done = subprocess.run(argv, cwd=self.place.workspace, env=self.place.environment(off), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, **more)
        return done.returncode, done.stdout.decode()


@pytest.mark.parametrize("expires, passed", [("10m", 3600), ("10m", 601), ("30s", 45)])
@pytest.mark.parametrize("used", [False, True], ids=["new", "used"])
def test_a_clock_that_is_set_back_revives_no_token(work, expires, passed, used):
    token = mint(work, "--expires", expires)
    assert not used or under(work, token)[0] == 0
    code, said = Shifted(work, passed).run(["cat", "src/a"], [*BOT, "--token", token])
    assert code == 126 and ("moved back" in said or "expired" in said), said


@pytest.mark.parametrize("expires, passed", [("10m", 3600), ("30s", 45)])
def test_that_clock_is_one(work, expires, passed):
    token = mint(work, "--expires", expires)
    assert Shifted(work, passed).run(["cat", "src/a"], [*BOT, "--token", token], off=("clock",)) == (0, "the content\n")


@pytest.mark.parametrize("off", [(), ("clock",)], ids=["", "real"])
def test_a_clock_that_is_set_back_keeps_no_command_alive(work, off):
    """Under a token that has a few seconds left when it begins, and by the wall clock many more."""
    token = mint(work, "--expires", "50s")
    code, said = Shifted(work, 45).run(["sleep", "15"], [*BOT, "--token", token], off=off)
    assert code == (0 if off else 126), said


def answer(place, process, scope, most=1):
    """Says yes to what is asked, so many times."""
    given = 0

    def look():
        nonlocal given
        for line in say(place, "pending", "--json").splitlines():
            with contextlib.suppress(AssertionError):  # it went away meanwhile
                say(place, "approve", json.loads(line)["id"], "--scope", scope)
                given += 1
        return given >= most or process.poll() is not None

    assert wait_until(look) and given >= most, process.stdout.read() if process.poll() is not None else given


ROBOT = ("--agent", "robot", "--session", "s")


@pytest.fixture
def granted(place):
    """What a person says yes to: a file to be written, a socket and a program."""
    place.write(place.home / ".config/ward/ward.yaml", f"wait: 10m\nrules: [{{command: '{place.outside}/tool **', do: ask, why: the test}}]\n")
    place.write(place.outside / "log", "")
    place.copy("/bin/true", place.outside / "tool")
    return place


def given_for(place, scope, argv):
    with ended(place.start([place.ward, "run", "--quiet", *ROBOT, "--", *argv])) as process:
        answer(place, process, scope)
        assert process.wait(PATIENCE) == 0, process.stdout.read()


@pytest.mark.parametrize("passed", [3600, 601])
@pytest.mark.parametrize("off", [(), ("clock",)], ids=["", "real"])
def test_a_clock_that_is_set_back_revives_no_grant(granted, passed, off):
    argv = [granted.program("tokens"), "last", granted.outside, "0"]
    given_for(granted, "10m", argv)
    (granted.outside / "log").write_text("")
    flags = [*ROBOT, "--wait", "1s"]
    assert Shifted(granted, 500).run(argv, flags)[0] == SUCCEEDED
    code, said = Shifted(granted, passed).run(argv, flags, off=off)
    assert (code == SUCCEEDED) == bool(off), said
    assert (granted.outside / "log").read_text() == ("xx" if off else "x")


@pytest.mark.parametrize("off", [(), ("clock",)], ids=["", "real"])
def test_a_clock_that_is_set_back_lengthens_no_grant(granted, off):
    """It has some seconds left when the command begins."""
    argv = [granted.program("tokens"), "last", granted.outside, "25"]
    with ended(granted.start([granted.ward, "run", "--quiet", *ROBOT, "--", *argv])) as process:
        answer(granted, process, "10m")
        assert wait_until(lambda: (granted.outside / "log").read_text())
    code, said = Shifted(granted, 590).run(argv, [*ROBOT, "--wait", "1s"], off=off)
    assert code == (SUCCEEDED if off else REFUSED), said


# -- Racing a revocation ---------------------------------------------------------------------------

class Targets:
    """What is granted, and, once it was taken back, the same made anew: whoever gets something of that came later."""

    def __init__(self, place):
        self.place, self.at, self.reached = place, place.outside, threading.Event()
        self.listeners = []
        self.listen(lambda: None)

    def listen(self, reached):
        (self.at / "sock").unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.at / "sock"))
        self.place.give(self.at / "sock")
        listener.listen(64)
        self.listeners.append(listener)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()
                    reached()

        threading.Thread(target=serve, daemon=True).start()

    def exchange(self):
        self.listen(self.reached.set)
        os.truncate(self.at / "log", 0)
        if (self.at / "tool").read_bytes().startswith(b"#!"):
            write_anew(self.at / "tool", "#!/bin/sh\ntouch out/ran\n")
        else:
            self.place.copy("/usr/bin/touch", self.at / "new").rename(self.at / "tool")

    def got_through(self):
        return [what for what, there in (("write", (self.at / "log").stat().st_size > 0), ("connect", self.reached.is_set()),
                                         ("exec", (self.place.workspace / "out/ran").exists())) if there]

    def close(self):
        for listener in self.listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@contextlib.contextmanager
def storm(place, flags, off, yeses, name="race"):
    """Its targets, while all of them are used by many threads at once."""
    place.write(place.workspace / "out/.keep", "")
    targets = Targets(place)
    argv = [place.unwalled if off else place.ward, "run", "--quiet", *flags, "--", place.program("tokens"), name, place.outside]
    try:
        with ended(place.start(argv, off=off)) as process:
            if yeses:
                answer(place, process, "session", yeses)
            assert wait_until(lambda: (place.workspace / "ready").exists() or process.poll() is not None)
            assert process.poll() is None, process.stdout.read()
            yield targets, process
            place.write(place.workspace / "stop", "")
            process.wait(PATIENCE)
    finally:
        targets.close()


def after(targets, process, off):
    """What got through once it had been taken back."""
    targets.exchange()
    if off:
        wait_until(lambda: len(targets.got_through()) == 3)
    else:
        wait_until(lambda: process.poll() is not None or targets.got_through(), 1.5)
    return targets.got_through()


def ways_to_revoke(place):
    ids = [json.loads(line)["id"] for line in say(place, "grants", "--json").splitlines()]
    return {"agent": ["--agent", "robot"], "session": ["--session", "s"], "ids": ids, "pattern": ["--pattern", "*"]}


@pytest.mark.parametrize("name", ["race", "race-asking"])
@pytest.mark.parametrize("how", ["agent", "session", "ids", "pattern"])
def test_nothing_gets_through_when_grants_were_taken_back(granted, how, name):
    with storm(granted, ROBOT, (), 3, name) as (targets, process):
        say(granted, "grants", "revoke", *ways_to_revoke(granted)[how])
        assert after(targets, process, ()) == []


def test_that_race_is_one(granted):
    with storm(granted, ROBOT, ("recall",), 3) as (targets, process):
        say(granted, "grants", "revoke", "--agent", "robot")
        assert after(targets, process, ("recall",)) == ["write", "connect", "exec"]


def token_of(place):
    place.write(place.home / ".config/ward/ward.yaml", "")
    place.write(place.outside / "tool", "#!/bin/sh\nexit 0\n", 0o755)  # the walls know a file, and not what else has its name
    allow = [f"write {place.outside}/log", f"write {place.outside}/other", f"unix {place.outside}/sock", f"exec {place.outside}/tool",
             f"exec {place.programs}/tokens", f"read {place.programs}/**", "write **"]
    return mint(place, allow=allow)


@pytest.mark.parametrize("how", ["token", "id", "narrowed", "retire"])
def test_nothing_gets_through_when_a_token_was_revoked(granted, how):
    token = token_of(granted)
    with storm(granted, [*BOT, "--token", narrow(granted, token, "--uses", "3") if how == "narrowed" else token], (), 0) as (targets, process):
        if how == "retire":
            say(granted, "token", "rotate", "--retire")
        else:
            name = json.loads(say(granted, "token", "show", token, "--json"))["id"] if how == "id" else token
            say(granted, "token", "revoke", name)
        assert after(targets, process, ()) == []
        assert wait_until(lambda: process.poll() is not None)


def test_that_race_is_one_of_tokens_too(granted):
    token = token_of(granted)
    with storm(granted, [*BOT, "--token", token], ("recall",), 0) as (targets, process):
        say(granted, "token", "revoke", token)
        assert after(targets, process, ("recall",)) == ["write", "connect", "exec"]


def begins_while_revoked(place, off=()):
    """A crowd of runs that begin under a token while it is revoked: those that have written something since."""
    token = mint(place)
    argv = [place.unwalled if off else place.ward, "run", "--quiet", *BOT, "--token", token, "--", "sh", "-c",
            "while [ ! -e stop ]; do echo x >> out/log; done"]
    log = place.workspace / "out/log"
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(ended(place.start(argv, off=off))) for _ in range(6)]
        assert wait_until(lambda: log.stat().st_size)
        say(place, "token", "revoke", token)
        place.write(place.workspace / "new", "").rename(log)
        wait_until(lambda: log.stat().st_size or all(one.poll() is not None for one in crowd), 20)
        return log.stat().st_size > 0


def test_whoever_begins_meanwhile_gets_nowhere(work):
    for _ in range(3):
        assert not begins_while_revoked(work)


def test_that_crowd_is_one(work):
    assert begins_while_revoked(work, off=("recall",))
