# SPDX-License-Identifier: Apache-2.0
"""Attacks by single programs. Each must fail behind all walls; must succeed, to show that it is one, when the walls
against it are switched off; and must fail behind each of these walls alone."""

import contextlib
import ctypes
import dataclasses
import errno
import os
import pathlib
import pty
import selectors
import socket
import stat
import subprocess
import threading

import pytest

from conftest import IDENTITIES, NAMESPACES, NOT_TRIED, REFUSED, SUCCEEDED, ended, sooner_or_later

MARK = "5ecret-b1f0c3"


@dataclasses.dataclass(frozen=True)
class Attack:
    program: str
    name: str
    # The walls that each stop it alone; "a+b" are switched off together.
    walls: tuple
    # What is said to the program; {names} are of the place.
    words: tuple = ()
    # What has to be there: see prepared().
    needs: tuple = ()
    who: tuple = ("root", "user")
    # As whom it can be shown to be real; None: as all in who. Empty: no switch lays it open.
    real: tuple = None
    # Switched off as well when it is shown to be real, so that no race has to be won for it.
    also: tuple = ()
    # Nothing to be switched off: it is shown to be real by running it without ward.
    natively: bool = False

    def __str__(self):
        return f"{self.program}-{self.name}"


def each(program, names, walls, **more):
    return [Attack(program, name, walls, **more) for name in names.split()]


FILE = ("{file}", "{outside}")
ENVIRONMENT_FILE = ("{workspace}/sub", ".env", MARK)
WRITING = ("readonly", "landlock", "notify")
# The workspace is a mount of its own: a name cannot lead from one side to the other.
CROSSING = ("mountns", "landlock", "notify")
# Root of the sandbox's user namespace has capabilities there, if they are left to it.
PRIVILEGED = {"walls": ("seccomp", "capabilities"), "real": ("root",)}
PRIVILEGED_MOUNT = {"walls": ("seccomp", "capabilities", "landlock"), "real": ("root",)}
EVERYTHING = (NAMESPACES + "+readonly+landlock+seccomp+notify+no_new_privs+capabilities",)
AS_ROOT = {"who": ("root",)}

# By a system call that older kernels do not have: its number, and since when it is there.
FCHMODAT2 = (452, "fchmodat2 came with Linux 6.6")
NEWER = {"files-fchmodat2": FCHMODAT2, "setid-fchmodat2": FCHMODAT2, "setid-group-nameless": FCHMODAT2}
# What Landlock alone holds only since this ABI; before, the other walls do (docs/kernels.md).
CUTTING, SCOPES = (3, "Landlock holds cutting since ABI 3 (Linux 6.2)"), (6, "Landlock holds signals and abstract sockets since ABI 6 (Linux 6.12)")
NEWER_LANDLOCK = {"files-truncate": CUTTING, "streams-input-cut": CUTTING, "processes-kill": SCOPES, "processes-tgkill": SCOPES,
                  "processes-sigqueue": SCOPES, "processes-pidfd": SCOPES, "processes-supervisor": SCOPES, "sockets-abstract": SCOPES}

# What a machine may be built or set not to have at all.
MACHINE_MAY_REFUSE = ("kernel", "network", "machine")

ATTACKS = [
    # Files and names outside.
    *each("files", "open open-and-cut open-high-bits create nameless truncate rename-beside symlink mkdir fifo socket unlink rmdir "
          "through-link through-parent through-directory through-root", WRITING, words=FILE),
    *each("files", "rename-out rename-over rename-in link-out", CROSSING, words=FILE),
    # What the supervisor cannot follow, or sees as something else, meets the other two.
    *each("files", "through-fd rewritten-path swapped-link", ("readonly", "landlock"), words=FILE, also=("notify",)),
    Attack("files", "own-program", ("readonly", "landlock"), FILE, needs=("own-program",), also=("notify",)),
    *each("files", "link-in link-of-fd", ("mountns", "landlock", "notify"), words=FILE),
    # Landlock knows nothing of attributes.
    *each("files", "chmod fchmodat2 chmod-directory chown utimes setxattr", ("readonly", "notify"), words=FILE),
    # By fd the mount that the file was opened through is the wall, and the supervisor sees few.
    *each("files", "fchmod fchmod-directory fchown fsetxattr futimens", ("readonly",), words=FILE, also=("notify",)),
    Attack("files", "file-flags", ("readonly",), FILE),
    Attack("files", "lease", ("seccomp",), FILE),
    # A read-only mount is no wall for what is not a regular file.
    Attack("files", "write-fifo", ("landlock", "notify"), FILE),
    Attack("kernel", "memory-program", WRITING, ("{programs}/files", "open", *FILE)),

    # Set-id bits.
    *each("setid", "chmod chmod-high-bits fchmod fchmodat fchmodat2 open openat creat mknod mknodat nameless-open "
          "nameless-openat group-open", ("seccomp",)),
    *each("setid", "group-chmod group-fchmod group-by-fd-link group-by-root-link group-nameless group-appearing "
          "group-exchanged group-unreadable", ("notify",)),
    Attack("setid", "group-unreadable-program", ("notify",), needs=("unreadable",)),
    Attack("setid", "use", EVERYTHING, ("{setuid}",), needs=("setuid",), who=("user",)),

    # Ward's init, and secrets on the way to it.
    Attack("processes", "environment", (), (MARK,), needs=("secret-environment",), natively=True),
    Attack("processes", "init-environ", ("init",), (MARK,), needs=("secret-environment",)),
    *each("processes", "init-cmdline any-cmdline", ("init",), words=(MARK,), needs=("secret-flag",)),
    *each("processes", "init-mem init-maps init-root init-cwd init-fd init-ptrace init-vm init-getfd", ("init",)),
    Attack("processes", "init-exe", ("init",), needs=("own-ward",)),
    *each("processes", "init-scheduler init-affinity init-priority init-priority-by-user init-limit", ("seccomp",)),
    Attack("processes", "init-kill", (), real=()),
    # Processes of the host.
    *each("processes", "kill tgkill sigqueue pidfd", ("pidns", "landlock"), words=("{pid}",), needs=("victim",)),
    *each("processes", "owner prlimit", ("pidns",), words=("{pid}",), needs=("victim",)),
    Attack("processes", "priority", ("pidns",), ("{pid}",), needs=("victim",), real=("user",)),
    *each("processes", "ptrace vm environ root mem fd", EVERYTHING, words=("{pid}",), needs=("victim",), real=("user",)),
    Attack("processes", "look", ("pidns+proc",), ("{pid}", "sleep"), needs=("victim",)),
    Attack("processes", "supervisor", ("pidns", "landlock")),

    # Descriptors.
    *each("streams", "input-reopen input-cut", ("readonly", "landlock", "notify"), needs=("input",)),
    *each("streams", "input-mode input-attribute input-times", ("readonly",), needs=("input",), also=("notify",)),
    Attack("streams", "input-directory", (), needs=("input-directory",), natively=True),
    Attack("streams", "output-reopen", (), needs=("output",), natively=True),
    Attack("streams", "leaked", ("fds",), needs=("leak",)),
    Attack("streams", "leaked-directory", ("fds", "landlock", "notify"), needs=("leak",)),
    Attack("streams", "terminal-open", ("dev", "readonly+landlock"), ("{terminal_system}", "{terminal_number}", "{terminal}"),
           needs=("terminal", "input")),
    Attack("streams", "notifications", (), needs=("leak",), real=()),

    # Masked files.
    *each("masks", "read through-root through-thread-root through-cwd through-directory through-fd through-link change-mode",
          ("masks",), words=ENVIRONMENT_FILE, needs=("secret",)),
    Attack("masks", "rename-parent", ("masks", "notify"), ENVIRONMENT_FILE, needs=("secret",)),
    Attack("masks", "hard-link", ("masks", "notify"), ENVIRONMENT_FILE, needs=("secret",)),
    *each("masks", "rename exchange remove overwrite", ("masks", "notify"), words=ENVIRONMENT_FILE, needs=("secret",)),
    *each("masks", "read through-root through-fd through-link change-mode", ("masks",),
          words=("{home}/.ssh", "id_ed25519", MARK), needs=("secret",)),
    Attack("masks", "read", ("masks",), ("{home}/.aws", "credentials", MARK), needs=("secret",)),
    *each("masks", "bind unmount tree", words=ENVIRONMENT_FILE, needs=("secret",), **PRIVILEGED_MOUNT),
    Attack("masks", "handle", (), (*ENVIRONMENT_FILE, "{handle_type}", "{handle}"), needs=("secret", "handle"),
           natively=True, **AS_ROOT),
    # Ward's own state.
    Attack("masks", "read", ("masks",), ("{home}/.local/state/ward", "audit.log", "run.start"), needs=("state",)),
    Attack("masks", "overwrite", ("masks", *WRITING), ("{home}/.local/state/ward", "audit.log", "-"), needs=("state",)),
    Attack("masks", "remove", ("masks", *WRITING), ("{home}/.local/state/ward", "audit.log", "-"), needs=("state",)),
    # And the policy, which says what the next command may do.
    Attack("masks", "read", ("masks",), ("{home}/.config/ward", "ward.yaml", MARK), needs=("policy",)),
    Attack("masks", "overwrite", ("masks", *WRITING), ("{home}/.config/ward", "ward.yaml", "-"), needs=("policy",)),
    Attack("masks", "remove", ("masks", *WRITING), ("{home}/.config/ward", "ward.yaml", "-"), needs=("policy",)),

    # Unix sockets of the host.
    *each("sockets", "stream through-link through-root through-fd rewritten-address swapped-link swapped-fd", ("notify",),
          words=("{stream}",), needs=("services",)),
    Attack("sockets", "seqpacket", ("notify",), ("{seqpacket}",), needs=("services",)),
    Attack("sockets", "stream", ("run", "notify"), ("{hidden}",), needs=("services", "hidden"), **AS_ROOT),
    Attack("sockets", "abstract", ("netns", "landlock", "notify"), ("{abstract}",), needs=("services",)),
    Attack("sockets", "swapped-bind", ("readonly", "landlock"), ("{outside}/new",), also=("notify",)),
    *each("sockets", "datagram datagram-high-bits raw pair-datagram pair-raw sendto sendmmsg", ("seccomp",),
          words=("{datagram}",), needs=("services",)),
    Attack("kernel", "ring-connect", ("seccomp",), ("{stream}",), needs=("services",)),
    Attack("kernel", "ring-open", ("seccomp", "readonly", "landlock"), FILE),

    # The network.
    *each("network", "tcp tcp6 rewritten-address", ("netns",), words=("{tcp}",), needs=("services",)),
    Attack("network", "udp", ("netns",), ("{udp}",), needs=("services",)),
    *each("network", "fast-open fast-open-message", ("netns", "seccomp"), words=("{tcp}",), needs=("services",)),
    *each("network", "raw raw6 packet", **PRIVILEGED),
    *each("network", "vsock alg multipath stream-control netlink-events netlink-diagnosis", ("seccomp",)),
    Attack("network", "ping", ("seccomp", "netns")),
    *each("network", "netlink-change netlink-route netlink-address netlink-rule", ("capabilities",), real=("root",)),

    # The kernel.
    *each("kernel", "unshare clone clone3 traced-call ring add-key keyctl request-key userfaultfd perf personality i386 x32 watch",
          ("seccomp",)),
    *each("kernel", "setns hostname chroot set-attributes clone-tree file-system", **PRIVILEGED),
    *each("kernel", "mount remount pivot", **PRIVILEGED_MOUNT),
    *each("kernel", "bpf module module-by-fd module-removal kexec kexec-file reboot swap ports accounting log limit", (),
          natively=True, real=("root",), needs=("low-limit",)),

    # The machine, which root without capabilities still owns.
    *each("machine", "core-pattern through-root sysrq any-switch", ("proc", *WRITING), **AS_ROOT),
    *each("machine", "proc-mode proc-mode-by-fd", ("proc", "readonly"), also=("notify",), **AS_ROOT),
    *each("machine", "sys release-agent", WRITING, **AS_ROOT),
    Attack("machine", "device", ("dev", "readonly"), ("{device}",), needs=("device", "input"), **AS_ROOT),
    Attack("machine", "device", EVERYTHING, ("{node}",), needs=("device",), **AS_ROOT),
    *each("machine", "make-device make-device-in-memory", (), natively=True, real=("root",)),
]


class Services:
    """A thread with servers of the host that say h to whoever speaks to them."""

    def __init__(self, place):
        self.selector, self.kept = selectors.DefaultSelector(), []
        self.wake, self.woken = socket.socketpair()
        self.selector.register(self.woken, selectors.EVENT_READ)
        self.words = {
            "stream": self.unix(place, socket.SOCK_STREAM, place.outside / "stream"),
            "seqpacket": self.unix(place, socket.SOCK_SEQPACKET, place.outside / "seqpacket"),
            "datagram": self.unix(place, socket.SOCK_DGRAM, place.outside / "datagram"),
            "abstract": f"ward-escape-{os.getpid()}",
            "tcp": self.internet(socket.SOCK_STREAM),
            "udp": self.internet(socket.SOCK_DGRAM),
        }
        self.add(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.words["abstract"])
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def add(self, family, kind, address):
        server = socket.socket(family, kind)
        server.bind(address)
        if kind != socket.SOCK_DGRAM:
            server.listen(100)
        self.selector.register(server, selectors.EVENT_READ)
        self.kept.append(server)
        return server

    def unix(self, place, kind, path):
        self.add(socket.AF_UNIX, kind, str(path))
        path.chmod(0o777)
        place.give(path)
        return path

    def internet(self, kind):
        return self.add(socket.AF_INET, kind, ("127.0.0.1", 0)).getsockname()[1]

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                server = key.fileobj
                if server is self.woken:
                    return
                if server.type == socket.SOCK_DGRAM:
                    _, sender = server.recvfrom(100)
                    if server.family == socket.AF_INET:
                        server.sendto(b"h", sender)
                    continue
                client, _ = server.accept()
                with contextlib.suppress(OSError):  # it may have gone again
                    client.send(b"h", socket.MSG_NOSIGNAL)
                self.kept.append(client)

    def close(self):
        self.wake.send(b"x")
        self.thread.join()
        for one in [*self.kept, self.wake, self.woken]:
            one.close()


def handle_of(path):
    """Type and bytes of the file's handle."""
    class Handle(ctypes.Structure):
        _fields_ = [("length", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]

    handle, mount = Handle(length=128), ctypes.c_int()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.name_to_handle_at(-100, str(path).encode(), ctypes.byref(handle), ctypes.byref(mount), 0) < 0:
        pytest.skip("this file system has no handles")
    return handle.kind, bytes(handle.data[:handle.length]).hex()


def lower_limit():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))


@contextlib.contextmanager
def prepared(place, attack):
    """What the attack needs: words for its command line, flags for ward, and how ward is started."""
    words = {"file": place.file, "outside": place.outside, "workspace": place.workspace, "home": place.home,
             "programs": place.programs}
    flags, more, variables = [], {}, {}
    with contextlib.ExitStack() as stack:
        for need in attack.needs:
            if need == "services":
                services = stack.enter_context(contextlib.closing(Services(place)))
                words.update(services.words)
            elif need == "hidden":
                words["hidden"] = pathlib.Path(f"/run/ward-escape-{os.getpid()}")
                stack.callback(words["hidden"].unlink)
                services.unix(place, socket.SOCK_STREAM, words["hidden"])
            elif need == "victim":
                victim = stack.enter_context(ended(place.start(["sleep", "60"], stdout=subprocess.DEVNULL)))
                words["pid"] = victim.pid
            elif need == "secret":
                for path in (place.workspace / "sub/.env", place.home / ".ssh/id_ed25519",
                             place.home / ".aws/credentials"):
                    place.write(path, MARK)
            elif need == "handle":
                words["handle_type"], words["handle"] = handle_of(place.workspace / "sub/.env")
            elif need == "state":
                assert place.sandboxed(["true"])[0] == 0
            elif need == "policy":
                place.write(place.home / ".config/ward/ward.yaml", f"approval: never # {MARK}\n")
            elif need == "own-program":
                place.copy("/bin/sleep", place.outside / "program")
            elif need == "secret-environment":
                variables["WARD_ESCAPE_TOKEN"] = MARK
            elif need == "secret-flag":
                flags += ["--reason", MARK]
            elif need == "input":
                more["stdin"] = stack.enter_context(open(place.file, "rb"))
            elif need == "input-directory":
                more["stdin"] = descriptor = os.open(place.outside, os.O_RDONLY)
                stack.callback(os.close, descriptor)
            elif need == "output":
                more["stdout"] = stack.enter_context(open(place.file, "ab"))
            elif need == "leak":
                descriptor = os.open(place.outside, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                more["pass_fds"] = [descriptor]
            elif need == "terminal":
                master, slave = pty.openpty()
                stack.callback(os.close, master)
                stack.callback(os.close, slave)
                words["terminal"], found = os.ttyname(slave), os.fstat(slave)
                words["terminal_system"], words["terminal_number"] = found.st_dev, found.st_rdev
                place.give(words["terminal"])
            elif need == "unreadable":
                place.copy(place.programs / "setid", place.workspace / "unreadable", 0o111)
            elif need == "setuid":
                if os.geteuid() != 0:
                    pytest.skip("only root can make such a program")
                words["setuid"] = place.outside / "setuid"
                words["setuid"].write_bytes((place.programs / "setid").read_bytes())
                words["setuid"].chmod(0o4755)
            elif need == "device":
                devices = [path for path in map("/dev/{}".format, sorted(os.listdir("/sys/block"))) if os.path.exists(path)]
                if not devices:
                    pytest.skip("this machine has no block device")
                words["device"], words["node"] = devices[0], place.workspace / "node"
                os.mknod(words["node"], stat.S_IFBLK | 0o666, os.stat(devices[0]).st_rdev)
            elif need == "own-ward":
                for name in ("ward", "ward-unwalled"):
                    setattr(place, name.replace("ward-", ""), place.copy(place.programs / name, place.outside / name))
            elif need == "low-limit":
                more["preexec_fn"] = lower_limit
        yield [str(word).format(**words) for word in attack.words], flags, more, variables


def attempt(place, attack, off=(), natively=False):
    with prepared(place, attack) as (words, flags, more, variables):
        argv = [place.program(attack.program), attack.name, *words]
        environment = place.environment(off, **variables)
        if natively:
            code, said = place.run(argv, environment=environment, **more)
        else:
            more.pop("preexec_fn", None)
            code, said = place.sandboxed(argv, flags, off, environment=environment, **more)
    print(said)
    if code == NOT_TRIED:
        print("could not be tried")
    return code, said


def parameters(select):
    """Attacks by identity, each with a name."""
    return [pytest.param(attack, who, *rest, id="-".join([str(attack), *extra, who]))
            for attack in ATTACKS for who in attack.who if who in IDENTITIES for extra, rest in select(attack, who)]


def shown_as(attack, who):
    """As one of them is enough, and the one with the fewest rights says most."""
    able = [one for one in (attack.who if attack.real is None else attack.real) if one in IDENTITIES]
    return able[-1:] == [who]


@pytest.mark.parametrize("attack, who", parameters(lambda attack, who: [([], [])]))
def test_attack_fails(make_place, attack, who):
    code, said = attempt(make_place(who), attack)
    assert code == REFUSED, said


def landlock_abi():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


def is_missing(call):
    """Whether this kernel does not know the system call, which is asked for with what no call takes."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(call, -1, -1, -1, -1) < 0 and ctypes.get_errno() == errno.ENOSYS


@pytest.mark.parametrize("attack, who", parameters(lambda attack, who: [([], [])] * shown_as(attack, who)))
def test_attack_is_real(make_place, attack, who):
    if str(attack) in NEWER and is_missing(NEWER[str(attack)][0]):
        pytest.skip(NEWER[str(attack)][1])
    may_refuse = attack.program in MACHINE_MAY_REFUSE
    code, said = sooner_or_later(lambda: attempt(make_place(who), attack, attack.walls + attack.also, attack.natively),
                                 tries=20 if may_refuse else 200)
    if code != SUCCEEDED and may_refuse and attempt(make_place(who), attack, natively=True)[0] != SUCCEEDED:
        pytest.skip("this machine refuses it by itself")
    assert code == SUCCEEDED, said


@pytest.mark.parametrize("attack, who, wall", parameters(
    lambda attack, who: [([wall.split("+")[0]], [wall]) for wall in attack.walls if len(attack.walls) > 1] * shown_as(attack, who)))
def test_attack_fails_behind_one_wall(make_place, attack, who, wall):
    if wall == "landlock" and str(attack) in NEWER_LANDLOCK and landlock_abi() < NEWER_LANDLOCK[str(attack)][0]:
        pytest.skip(NEWER_LANDLOCK[str(attack)][1])
    others = tuple(other for other in attack.walls if other != wall)
    code, said = attempt(make_place(who), attack, others)
    assert code == REFUSED, said


@pytest.mark.parametrize("name, word", [("stream", "stream"), ("seqpacket", "seqpacket"), ("abstract", "abstract"), ("datagram", "datagram"),
                                        ("raw", "datagram"), ("pair-raw", "datagram"), ("through-link", "stream")])
def test_full_network_opens_no_unix_socket(place, name, word):
    with contextlib.closing(Services(place)) as services:
        code, said = place.sandboxed([place.program("sockets"), name, services.words[word]], ["--net", "full"])
    assert code == REFUSED, said


@pytest.mark.parametrize("name", ["raw", "raw6", "packet", "vsock", "alg", "netlink-events", "netlink-diagnosis", "netlink-change"])
def test_full_network_is_tcp_and_udp(place, name):
    code, said = place.sandboxed([place.program("network"), name], ["--net", "full"])
    assert code == REFUSED, said
