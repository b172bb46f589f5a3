# SPDX-License-Identifier: Apache-2.0
"""The rungs below the full set of walls. The feature is really taken away, by the program without (a filter and a tracer
around ward), by settings of a namespace, by another sandbox around it; and on each rung that is left the attacks that
matter fail all the same."""

import json
import os
import shutil
import socket
import subprocess
import time

import pytest

from conftest import IDENTITIES, NAMESPACES, REFUSED, SUCCEEDED, ended, sooner_or_later
from test_attacks import ATTACKS, MARK, Services, prepared

FULL = {"userns", "mountns", "pidns", "ipcns", "utsns", "netns", "cgroupns", "readonly", "masks", "dev", "proc", "tmp", "run",
        "landlock", "seccomp", "notify", "no_new_privs", "capabilities", "environment", "fds", "init"}
SPACES = {"userns", "mountns", "pidns", "ipcns", "utsns", "netns", "cgroupns"}
MOUNTS = {"mountns", "readonly", "masks", "dev", "proc", "tmp", "run"}
ALL_SPACES = SPACES | MOUNTS

# What is taken away, and which walls are missing then: for a plain user, and for root where that differs.
RUNGS = {
    "clone3": (set(), set()),
    "userns": (ALL_SPACES, {"userns"}),
    "userns-full": (ALL_SPACES, {"userns"}),
    "maps": (ALL_SPACES, {"userns"}),
    "namespaces": (ALL_SPACES, ALL_SPACES),
    "pidns": ({"pidns", "proc"}, {"pidns", "proc"}),
    "mountns": (MOUNTS, MOUNTS),
    "mount": (MOUNTS, MOUNTS),
    "netns": ({"netns"}, {"netns"}),
    "ipcns": ({"ipcns"}, {"ipcns"}),
    "cgroupns": ({"cgroupns"}, {"cgroupns"}),
    "landlock": ({"landlock"}, {"landlock"}),
    "landlock-off": ({"landlock"}, {"landlock"}),
    "notify": ({"notify"}, {"notify"}),
    "notify-old": ({"notify"}, {"notify"}),
    "abi1": (set(), set()),
    "abi5": (set(), set()),
    "namespaces,abi4": (ALL_SPACES, ALL_SPACES),
    "namespaces,notify": (ALL_SPACES | {"notify"}, ALL_SPACES | {"notify"}),
}

# The rungs on which something else has to hold what a missing wall would have held, with the programs whose attacks matter there.
# A plain user without user namespaces is a plain user without namespaces.
EVERY = ("files", "masks", "processes", "sockets", "network", "kernel", "setid", "streams")
ATTACKED = {
    "userns": EVERY,
    "namespaces": EVERY,
    "namespaces,abi1": ("files", "processes"),
    "namespaces,abi4,notify": ("processes", "sockets", "network", "setid"),
    "mount": ("files", "masks"),
    "pidns,abi4": ("processes",),
    "landlock": ("files", "masks", "streams"),
    "notify": ("sockets", "setid"),
    "netns,ipcns": ("network",),
}
ESSENTIAL = ("files-open", "files-truncate", "files-open-and-cut", "files-rename-out", "files-link-in", "files-file-flags", "masks-read",
             "masks-through-root", "masks-hard-link", "masks-rename-parent", "masks-rename", "masks-remove", "processes-init-kill", "processes-init-mem", "processes-init-limit",
             "processes-kill", "processes-tgkill", "processes-sigqueue", "processes-pidfd", "processes-owner", "processes-prlimit",
             "processes-priority", "processes-ptrace", "processes-vm", "processes-environ", "processes-root", "processes-supervisor",
             "sockets-stream", "sockets-abstract", "sockets-datagram", "network-tcp", "network-tcp6", "network-udp", "kernel-ring",
             "kernel-unshare", "kernel-clone3", "setid-chmod", "setid-group-chmod", "setid-group-nameless", "streams-input-reopen", "streams-terminal-open")
# Held by the supervisor's own hand there, and lost without it (docs/threat-model.md).
CHANGES = ("files-chmod", "files-chown", "files-utimes", "files-setxattr", "files-fchmod")


def poorer(place, features, argv, **more):
    """Runs ward on a machine without the features."""
    return place.run([place.program("without"), features, *argv], **more)


def result_of(place, features, command, flags=(), **more):
    code, said = poorer(place, features, [place.ward, "run", "--json", *flags, "--", *command], **more)
    return code, json.loads(said)


@pytest.mark.parametrize("features", RUNGS)
def test_the_next_rung_is_taken_and_said(place, features):
    code, result = result_of(place, features, ["sh", "-c", "echo made > file && cat file && rm file"])
    assert (code, result["stdout"]) == (0, "made\n"), result
    missing = RUNGS[features][1 if place.who == "root" else 0]
    assert FULL - set(result["attempts"][0]["walls"]) == missing
    said = [line for line in result["sandbox_warnings"] if "fewer walls" in line]
    assert len(said) == (0 if features == "clone3" else 1), result["sandbox_warnings"]


def test_what_is_lost_is_said_once_a_session(place):
    command = [place.ward, "run", "--session", "one", "--", "true"]
    first, second = (poorer(place, "namespaces", command)[1] for _ in range(2))
    assert first.startswith("ward: fewer walls stand here: ") and first.count("\n") == 1
    assert "other processes can be seen" in first and "Landlock alone" in first
    assert second == ""


@pytest.mark.parametrize("features", ["namespaces", "notify"])
def test_a_list_of_hosts_that_cannot_be_honoured_is_said_and_nothing_is_reached(place, features):
    code, said = poorer(place, features, [place.ward, "run", "--session", "one", "--allow-host", "localhost:1-65535", "--", "python3", "-c",
                                          "import socket; socket.create_connection(('127.0.0.1', 9), 5)"])
    assert code == 1 and "no host of the list can be reached" in said, said
    code, said = poorer(place, features, [place.ward, "run", "--publish", "45871:80", "--", "touch", "ran"])
    assert code == 125 and "cannot be published here" in said, said


@pytest.mark.parametrize("features, missing", [("landlock,namespaces", "neither mount namespaces nor Landlock"),
                                               ("landlock,mount", "neither mount namespaces nor Landlock"),
                                               ("landlock,pidns", "neither pid namespaces nor Landlock")])
def test_without_a_floor_nothing_runs(place, features, missing):
    code, said = poorer(place, features, [place.ward, "run", "--", "touch", "ran"])
    assert code == 125 and missing in said and "Linux 5.13" in said, said
    assert not (place.workspace / "ran").exists()


def test_without_seccomp_nothing_runs(place):
    code, said = poorer(place, "seccomp", [place.ward, "run", "--", "touch", "ran"])
    assert code == 125 and "filter" in said and not (place.workspace / "ran").exists(), said


@pytest.mark.parametrize("features, wall", [("userns", "userns"), ("namespaces", "pidns"), ("landlock", "landlock"), ("notify", "notify"),
                                            ("netns", "netns")])
def test_what_the_policy_requires_is_not_done_without(place, features, wall):
    place.write(place.home / ".config/ward/ward.yaml", f"sandbox: {{require: [{wall}]}}\n")
    code, said = poorer(place, features, [place.ward, "run", "--", "touch", "ran"])
    assert code == 125 and f"requires the wall {wall}" in said, said
    assert not (place.workspace / "ran").exists()
    assert place.sandboxed(["true"])[0] == 0


def test_too_many_open_files_are_no_missing_namespaces(place):
    code, said = place.run(["sh", "-c", f"ulimit -n 6; exec {place.ward} run -- true"])
    assert code == 125 and "Too many open files" in said and "namespace" not in said, said


def test_apparmor_is_named_where_it_keeps_user_namespaces(make_place):
    """Its switch is Ubuntu's kernel's alone: here it stands in a file system over the others, for this process alone."""
    if os.geteuid() != 0:
        pytest.skip("only root can lay it out")
    place = make_place("user")
    said = subprocess.run(["unshare", "-m", "sh", "-ec", """
        mount -t tmpfs none /proc/sys/kernel
        echo 1 > /proc/sys/kernel/apparmor_restrict_unprivileged_userns
        uid=$1 gid=$2; shift 2
        exec setpriv --reuid "$uid" --regid "$gid" --clear-groups "$@" """, "sh", str(place.uid), str(place.gid), place.program("without"), "userns",
        place.ward, "doctor"], cwd=place.workspace, env=place.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    line = [line for line in said.stdout.splitlines() if line.startswith("userns ")]
    assert len(line) == 1 and "apparmor_parser -r" in line[0] and "share/ward/apparmor/ward" in line[0], said
    assert "apparmor_parser" not in poorer(place, "userns", [place.ward, "doctor"])[1].split("userns ")[1].split("\n")[0]


def attacks(names):
    return [attack for attack in ATTACKS if str(attack) in names]


def attempt(place, features, attack):
    """Once more where somebody replaced a masked file of the system meanwhile: without a user namespace that ends a run."""
    for _ in range(3):
        code, said = attempt_once(place, features, attack)
        if "fell off when it was replaced" not in said:
            break
    return code, said


def attempt_once(place, features, attack):
    with prepared(place, attack) as (words, flags, more, variables):
        more.pop("preexec_fn", None)
        return poorer(place, features, [place.ward, "run", "--quiet", *flags, "--", place.program(attack.program), attack.name, *words],
                      environment=place.environment((), **variables), **more)


@pytest.mark.parametrize("features, who", [(features, who) for features in ATTACKED for who in IDENTITIES
                                           if (features, who) != ("userns", "user")])
def test_attacks_fail_on_every_rung(make_place, who, features):
    failed = []
    for attack in attacks(ESSENTIAL + (() if "notify" in features and "namespaces" in features else CHANGES)):
        if who not in attack.who or attack.program not in ATTACKED[features]:
            continue
        code, said = attempt(make_place(who), features, attack)
        # Where there are no unix sockets at all, an attack that needs one cannot even begin.
        if code != REFUSED and "making a unix socket: Permission denied" not in said:
            failed.append((str(attack), code, said))
    assert not failed


@pytest.mark.parametrize("features", ["userns", "namespaces", "namespaces,abi4", "namespaces,abi4,notify", "notify", "landlock"])
def test_ordinary_work_goes_on(place, features):
    script = """set -e
    mkdir -p a b; echo one > a/one; cp -p a/one b/two; touch -d yesterday b/two; chmod 755 b/two; ln -s a/one link; cat link
    t=$(mktemp); echo tmp > $t; cat $t; rm $t
    (sleep 600 & wait) & sleep 0.1; jobs >/dev/null
    python3 -c 'import threading, subprocess; t = threading.Thread(target=print, args=("thread",)); t.start(); t.join();
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())'
    echo word | sed s/w/W/ > c; cat c; rm -f link c"""
    code, said = poorer(place, features, [place.ward, "run", "--quiet", "--", "sh", "-c", script])
    assert (code, said.split()) == (0, ["one", "tmp", "thread", "child", "Word"]), said


@pytest.mark.parametrize("features", ["namespaces", "namespaces,abi4"])
def test_own_processes_can_be_signalled(place, features):
    script = "sleep 60 & kill $! && wait $! 2>/dev/null; test $? = 143 && kill -USR1 $$; echo not reached"
    code, said = poorer(place, features, [place.ward, "run", "--quiet", "--", "bash", "-c", script])
    assert code == 128 + 10 and "not reached" not in said, said


@pytest.mark.parametrize("features", ["namespaces", "namespaces,abi4", "namespaces,abi4,notify"])
def test_nothing_outlives_the_run_without_a_pid_namespace(place, features):
    mark = f"{os.getpid()}{time.monotonic_ns() % 10**6:06}"
    script = f"setsid sh -c 'sleep {mark} & sleep {mark} & wait' & sleep 0.3"
    assert poorer(place, features, [place.ward, "run", "--quiet", "--", "sh", "-c", script])[0] == 0
    assert not sleepers(mark)
    with ended(place.start([place.program("without"), features, place.ward, "run", "--quiet", "--", "sh", "-c", script + f"; sleep {mark}"])) as ward:
        until(lambda: sleepers(mark))
        ward.kill()
    until(lambda: not sleepers(mark))


def sleepers(mark):
    return subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True).stdout.split()


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_above_a_secret_nothing_new_is_made_without_mounts(place):
    place.write(place.workspace / "sub/.env", MARK)
    place.write(place.workspace / "sub/code", "code")
    place.write(place.workspace / "other/code", "code")
    script = "ls -A sub; cat sub/code; echo x >> sub/code; cat sub/.env; echo new > sub/new; echo new > new; echo new > other/new && cat other/new"
    code, said = poorer(place, "namespaces", [place.ward, "run", "--quiet", "--", "sh", "-c", script])
    assert MARK not in said and said.count("denied") == 3 and said.endswith("\nnew\n") and "code" in said, said
    assert (place.workspace / "sub/code").read_text() == "codex\n"
    assert not (place.workspace / "sub/new").exists() and not (place.workspace / "new").exists()
    code, said = poorer(place, "namespaces", [place.ward, "run", "--quiet", "--read", "**/.env", "--", "sh", "-c", "cat sub/.env && echo new > new"])
    assert (code, said) == (0, MARK), said


def test_what_was_refused_is_known_without_namespaces(place):
    script = f"echo x > {place.file}; python3 -c 'import socket; socket.socket()'; kill -0 1; true"
    _, result = result_of(place, "namespaces,abi4", ["sh", "-c", script])
    denials = {(denial["operation"], denial["object"]) for denial in result["attempts"][0]["denials"]}
    assert {("write", str(place.file)), ("connect", "the network"), ("signal", "process 1")} <= denials


def test_a_network_that_was_asked_for_is_there_without_namespaces(place):
    services = Services(place)
    try:
        code, said = poorer(place, "namespaces", [place.ward, "run", "--quiet", "--net", "full", "--", "python3", "-c",
                            f"import socket; print(socket.create_connection(('127.0.0.1', {services.words['tcp']})).recv(1))"])
    finally:
        services.close()
    assert (code, said) == (0, "b'h'\n")


def test_the_loopback_is_there_where_ward_may_not_use_netlink(place):
    """As in a service that is kept to some families of addresses."""
    script = ("import socket\nserver = socket.create_server(('127.0.0.1', 0))\nsocket.create_connection(server.getsockname(), 5)\n"
              "six = socket.socket(socket.AF_INET6); six.bind(('::1', 0))\nprint(socket.gethostbyname('web.example'))")
    code, result = result_of(place, "netlink", ["python3", "-c", script])
    assert code == 0 and result["stdout"].startswith("198.18."), result
    assert FULL <= set(result["attempts"][0]["walls"])


def test_ward_runs_inside_ward(place):
    """On its lower rung: no namespaces, a supervisor already there; Landlock and filter within Landlock and filter."""
    inner = [place.ward, "run", "--json", "--", "sh", "-c", f"echo inside; echo x > {place.file}"]
    code, said = place.sandboxed(inner)
    result = json.loads(said)
    assert code == 2 and result["stdout"] == "inside\n"
    assert not {"userns", "notify"} & set(result["attempts"][0]["walls"])
    assert {"landlock", "seccomp"} <= set(result["attempts"][0]["walls"])
    assert place.file.read_text() == "outside\n"
    assert place.sandboxed([place.ward, "run", "--quiet", "--", place.ward, "run", "--quiet", "--", "echo", "three"]) == (0, "three\n")


def test_the_state_of_ward_inside_ward_is_its_own(place):
    assert place.sandboxed([place.ward, "run", "--quiet", "--", "echo", "inner-mark"])[0] == 0
    log = (place.home / ".local/state/ward/audit.log").read_text()
    assert log.count('"run.start"') == 1
    code, said = poorer(place, "namespaces", [place.ward, "run", "--quiet", "--", place.ward, "run", "--", "true"])
    assert code == 125 and "XDG_STATE_HOME" in said, said
    code, said = poorer(place, "namespaces", [place.ward, "run", "--quiet", "--", "env", f"XDG_STATE_HOME={place.workspace}/state",
                                              place.ward, "run", "--quiet", "--", "echo", "ran"])
    assert (code, said) == (0, "ran\n")


def test_no_user_namespaces_by_the_machines_own_setting(place):
    """user.max_user_namespaces of a namespace of our own."""
    script = f"echo 0 > /proc/sys/user/max_user_namespaces && exec {place.ward} run --json -- true"
    code, said = place.run(["unshare", "--user", "--map-root-user", "sh", "-c", script])
    result = json.loads(said)
    assert (code, result["exit_code"]) == (0, 0), said
    assert "userns" not in result["attempts"][0]["walls"]


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_inside_another_sandbox(place):
    """A container-like one: a new root with parts of /proc covered, so that no fresh one may be mounted."""
    argv = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/proc/acpi", "--unshare-pid", "--die-with-parent", "--",
            place.ward, "run", "--json", "--", "sh", "-c", f"echo ran; echo x > {place.file}"]
    code, said = place.run(argv)
    result = json.loads(said)
    assert (code, result["stdout"]) == (2, "ran\n"), said
    assert {"landlock", "seccomp"} <= set(result["attempts"][0]["walls"]) and "proc" not in result["attempts"][0]["walls"]
    assert place.file.read_text() == "outside\n"


@pytest.mark.parametrize("features", ["namespaces", "userns"])
def test_a_terminal_of_its_own_on_a_lower_rung(place, features):
    argv = ["script", "-qec", f"{place.program('without')} {features} {place.ward} run --quiet -- sh -c 'tty; test -t 1 && echo terminal >/dev/tty'",
            "/dev/null"]
    code, said = place.run(argv, environment=place.environment(TERM="xterm", SHELL="/bin/sh"))
    assert code == 0 and "terminal" in said and "/dev/pts/" in said, said


def test_abstract_sockets_are_reached_by_nobody_without_a_scope(place):
    name = f"ward-ladder-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        code, said = poorer(place, "namespaces,abi4", [place.ward, "run", "--quiet", "--", place.program("sockets"), "abstract", name])
    assert code == REFUSED, said


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("features", ["none", "userns"])
def test_root_in_a_users_workspace_builds_all_that_root_can(make_place, features):
    """It becomes that user, and keeps what namespaces take until they stand."""
    place = make_place("user")
    root = make_place("root")
    code, said = root.run([root.program("without"), features, place.ward, "run", "--json", "--", "sh", "-c", "id -u; grep Cap /proc/self/status"],
                          cwd=place.workspace)
    result = json.loads(said)
    assert code == 0 and result["stdout"].split()[0] == str(place.uid), said
    assert set(result["stdout"].split()[2::2]) == {"0" * 16}
    assert FULL - set(result["attempts"][0]["walls"]) == ({"userns"} if features == "userns" else set())


CHANGE_USERS = """import os
text = open('/etc/passwd').read()
while not os.path.exists('stop'):
    with open('/etc/new', 'w') as file: file.write(text)
    os.rename('/etc/new', '/etc/passwd')
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_list_of_users_that_changes_keeps_no_command_from_starting(make_place):
    """In a copy of /etc, in mounts of this test's own. The tracer makes ward slow enough to be caught in the middle."""
    place = make_place("root")
    script = """cp -a /etc ../etc && mount --bind ../etc /etc || exit 9
    python3 -c "$0" & for i in $(seq 60); do "$@" || break; done; code=$?; touch stop; wait; exit $code"""
    code, said = place.run(["unshare", "--mount", "sh", "-c", script, CHANGE_USERS, place.program("without"), "userns", place.ward, "run",
                            "--quiet", "--", "true"])
    assert code == 0, said


def test_wards_own_program_stays_as_it_is_without_mounts(place):
    own = place.copy(place.ward, place.workspace / "ward")
    before = own.read_bytes()
    for script in ("echo x >> ward", "rm -f ward", "mv ward other", "cp /bin/true new && mv new ward"):
        code, said = place.run([place.program("without"), "namespaces", own, "run", "--quiet", "--", "sh", "-c", script])
        assert code != 0 and own.read_bytes() == before, (script, said)
    assert place.run([place.program("without"), "namespaces", own, "run", "--quiet", "--", own, "--version"])[0] == 0


STANDING_IN = ("namespaces", "namespaces,abi4", "namespaces,abi4,notify")


@pytest.mark.parametrize("features", STANDING_IN)
def test_init_cannot_be_ended_from_its_own_group(place, features):
    code, said = poorer(place, features, [place.ward, "run", "--quiet", "--", place.program("rungs"), "join-init"])
    assert code == REFUSED, said


def test_init_is_ended_where_nothing_holds_signals(place):
    code, said = place.sandboxed([place.program("rungs"), "join-init"], off=(NAMESPACES + "+landlock",))
    assert code == 128 + 9, said


@pytest.mark.parametrize("name", ["rewritten-mode", "removed-name"])
def test_modes_outside_are_held_without_mounts(place, name):
    """By the supervisor's own hand; without it they are open, which is said, and shows that the attack is real."""
    file = place.write(place.outside / "file (deleted)", "outside")
    attack = [place.ward, "run", "--quiet", "--", place.program("rungs"), name, file]
    code, said = poorer(place, "namespaces", attack)
    assert code == REFUSED and file.stat().st_mode & 0o777 == 0o600, said
    code, said = sooner_or_later(lambda: poorer(place, "namespaces,notify", attack))
    assert code == SUCCEEDED, said


def test_files_without_a_name_are_made_and_named(place):
    """Also where the supervisor performs what makes names."""
    script = """import os
fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o640)
os.write(fd, b'named')
os.link(f'/proc/self/fd/{fd}', 'named', src_dir_fd=os.open('/', os.O_RDONLY), follow_symlinks=True)
print(open('named').read(), oct(os.stat('named').st_mode & 0o777))"""
    for features in ("none", "namespaces"):
        code, said = poorer(place, features, [place.ward, "run", "--quiet", "--", "python3", "-c", script])
        assert (code, said) == (0, "named 0o640\n"), (features, said)
        (place.workspace / "named").unlink()


@pytest.mark.parametrize("features", STANDING_IN)
def test_the_memory_of_others_is_opened_by_nobody(place, features):
    """Not by the supervisor either, who may look into all processes of the user."""
    attack = [place.program("rungs"), "other-memory"]
    with ended(place.start(["sleep", "60"], stdout=subprocess.DEVNULL)) as victim:
        code, said = poorer(place, features, [place.ward, "run", "--quiet", "--", *attack, victim.pid])
        assert code == REFUSED, said
        if place.who == "user":
            assert place.run([*attack, victim.pid])[0] == SUCCEEDED
