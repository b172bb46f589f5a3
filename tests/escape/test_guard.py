# SPDX-License-Identifier: Apache-2.0
"""What a command leaves in the workspace must not run a program when a person next works there. Whether an attack
succeeded is tried out as that person would: with git itself, outside the sandbox."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import HERE, IDENTITIES, PATIENCE, REFUSED, SUCCEEDED, sooner_or_later, wait_until

NAMES = [(program, line.split('"')[1]) for program in ("guard", "guard_ground", "guard_pointers")
         for line in (HERE / f"{program}.c").read_text().splitlines() if line.startswith('\t{"')]
# Names that are read at the next start of a shell, an editor, an agent or ward.
READ_AT_START = (".bashrc", ".profile", ".ward.yaml", ".vscode/tasks.json", ".claude/settings.json")


def prepare(place):
    """A repository of the identity's below the workspace, settings and a start-up file beside it."""
    repository = place.workspace / "deep/er"
    place.write(place.workspace / "deep/.profile", "# mine\n")
    place.write(place.workspace / "deep/.claude/settings.json", "{}\n")
    place.write(place.workspace / "deep/part/.git", "gitdir: ../er/.git\n")
    place.write(repository / "file", "content\n")
    for words in (["init", "-q", "-b", "main"], ["add", "file"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "one"]):
        assert place.run(["git", "-C", repository, *words])[0] == 0
    assert place.run(["git", "clone", "-q", "--bare", repository, place.workspace / "mirror"])[0] == 0
    return "touch " + str(place.outside / "harmed")


# What a person does in each of the directories, until something that was not his to run has left a mark.
WORKS_THERE = """exec 3>&1 >/dev/null 2>&1
mark=$1 started=$2; shift 2
for directory; do
	[ -d "$directory" ] || continue
	git -C "$directory" status
	git -C "$directory" checkout -- .
	git -C "$directory" -c user.name=n -c user.email=e commit -q --allow-empty -m x
	[ -e "$started" ] && echo "$directory writes to $started" >&3 && exit 1
	[ -e "$mark" ] && echo "$directory" >&3 && exit 1
done
exit 0"""


def harm(place):
    """What of the attack would run, or be read, outside."""
    harmed, started = place.outside / "harmed", place.outside / "started"
    visited = []
    for directory, directories, files in os.walk(place.workspace):
        for name in directories + files:
            path = pathlib.Path(directory) / name
            if any(str(path).endswith("/" + name) for name in READ_AT_START) and path.is_file() and \
                    str(harmed) in path.read_text():
                return str(path)
        if os.path.basename(directory) != "hooks":
            visited += [directory, *(os.path.join(directory, name) for name in directories if os.path.islink(os.path.join(directory, name)))]
    # By one child: hundreds of copies of python would take longer than all else that the tests do.
    code, said = place.run(["/bin/sh", "-c", WORKS_THERE, "sh", harmed, started, *visited], timeout=3 * PATIENCE, environment=place.environment(
        GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*"))
    left = [path for path in (harmed, started) if path.exists()]
    assert code == (1 if left else 0), said
    for path in left:
        path.unlink()
    if left:
        return said
    return None


def attack(place, program, name, off=()):
    command = prepare(place)
    code, said = place.sandboxed([place.program(program), name, command], off=off)
    assert code in (0, 1), said
    return harm(place), said


@pytest.mark.parametrize("program, name", NAMES, ids=lambda part: part.replace("guard_ground", "ground"))
def test_nothing_left_behind_runs_programs(place, program, name):
    harmed, said = attack(place, program, name)
    assert harmed is None, said


@pytest.mark.parametrize("program, name", NAMES, ids=lambda part: part.replace("guard_ground", "ground"))
def test_attack_is_real(make_place, program, name):
    def attempt():
        harmed, said = attack(make_place("root" if os.geteuid() == 0 else "user"), program, name, off=("guard",))
        return SUCCEEDED if harmed else REFUSED, said

    code, said = sooner_or_later(attempt)
    assert code == SUCCEEDED, said


def test_no_open_that_is_under_way_changes_a_new_repository(place):
    command = prepare(place)
    for _ in range(20):
        code, said = place.sandboxed([place.program("guard_pointers"), "adopted-late", command])
        assert code in (0, 1), said
    assert harm(place) is None


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
def test_two_runs_make_no_repository_between_them(place, off):
    command = f"touch {place.outside}/harmed"
    runs = [place.start([place.unwalled if off else place.ward, "run", "--quiet", "--", place.program("halves"), "halves", command, half], off=off)
            for half in ("objects", "refs")]
    for said in [run.communicate(timeout=PATIENCE)[0].decode() for run in runs]:
        assert said == "halves: succeeded\n"
    evil = [path for path in place.workspace.glob("half*") if (path / "objects").exists() and (path / "refs").exists() and
            (path / "config").exists() and command in (path / "config").read_text()]
    assert bool(evil) == bool(off), evil


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
def test_what_a_guarded_name_of_a_person_s_leads_to_is_guarded(place, off):
    """Settings that lie elsewhere in the tree, by links where programs look for them."""
    kept = [place.write(place.workspace / "dot" / name, "mine\n") for name in ("bashrc", "claude/settings.json")]
    for link, to in ((".bashrc", "dot/bashrc"), (".claude", "dot/claude")):
        (place.workspace / link).symlink_to(to)
    code, said = place.sandboxed(["sh", "-c", """for name in dot/bashrc dot/claude/settings.json; do echo evil >$name; rm -f $name; mkdir -p x/claude; echo evil >x/${name#*/}
        mv -f x/${name#*/} $name; done; mv dot away && mv x dot; echo more >dot/other"""], off=off)
    assert (place.workspace / "dot/other").exists(), said
    assert all(path.exists() and path.read_text() == "mine\n" for path in kept) != bool(off), said


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
@pytest.mark.parametrize("way", ["cat rr >$git/MERGE_RR", "cp rr $git/MERGE_RR.lock; mv $git/MERGE_RR.lock $git/MERGE_RR", "mv rr $git/MERGE_RR",
                                 "cp rr $git/rr; ln $git/rr $git/MERGE_RR || ln -s rr $git/MERGE_RR"])
def test_no_commit_of_a_person_s_copies_a_secret(place, off, way):
    """Git remembers how conflicts were resolved: it copies what those files hold in the end, and follows links to do so."""
    prepare(place)
    place.write(place.home / ".ssh/id_ed25519", "a secret\n")
    repository, one = place.workspace / "deep/er", "1" * 40
    place.sandboxed(["sh", "-c", f"""git=deep/er/.git; mkdir -p $git/rr-cache/{one}; ln -s {place.home}/.ssh/id_ed25519 deep/er/l; printf '{one}\\tl\\0' >rr
        printf '<<<<<<<\\na\\n=======\\nb\\n>>>>>>>\\n' >$git/rr-cache/{one}/preimage; {way}"""], off=off)
    code, said = place.run(["git", "-C", repository, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "x"])
    assert code == 0, said
    copied = repository / ".git/rr-cache" / one / "postimage"
    assert (copied.exists() and copied.read_text() == "a secret\n") == bool(off), said


def test_no_other_run_opens_what_is_being_installed(place):
    command = prepare(place)
    runs = [place.start([place.ward, "run", "--quiet", "--", place.program("halves"), "installed", command, half]) for half in ("install", "open")]
    said = [run.communicate(timeout=PATIENCE)[0].decode() for run in runs]
    assert "succeeded" not in "".join(said), said
    assert command not in (place.workspace / "deep/er/.git/config").read_text()
    assert [path.name for path in (place.workspace / "deep/er/.git").glob(".ward-new-*")] == []


@pytest.mark.skipif("root" not in IDENTITIES, reason="only root can mount")
def test_a_repository_on_another_file_system_is_told_of(make_place):
    """One run's workspace is a tree on another file system that the other may write to as well."""
    place = make_place("root")
    point = place.base / "point"
    point.mkdir()
    run = f"{place.ward} run --quiet"
    code, said = place.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", f"""mount -t tmpfs none {point} || exit 99
        (cd {point} && {run} -- {place.program("halves")} changed x open) & {run} --write {point} -- sh -c 'cd {point} && {place.program("halves")} changed x make'
        wait; test -e {point}/new/.git/config"""])
    if code == 99:
        pytest.skip("no mounts here: " + said)
    assert code == 0 and "opening it" in said and "succeeded" not in said, said


@pytest.mark.skipif("root" not in IDENTITIES or not shutil.which("mkfs.btrfs"), reason="only root can mount, and mkfs.btrfs must be there")
@pytest.mark.parametrize("off", [(), ("seccomp",)], ids=["walls", "real"])
def test_no_file_system_makes_names_past_the_guard(make_place, off):
    place = make_place("root")
    disk, point, harmed = place.base / "disk", place.base / "point", place.outside / "harmed"
    point.mkdir()
    with disk.open("wb") as file:
        file.truncate(160 << 20)
    subprocess.run(["mkfs.btrfs", "-q", disk], check=True, capture_output=True)
    code, said = place.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -o loop "$1" "$2" || exit 99; cd "$2"; shift 2; '
                            '"$@"; git -c safe.directory="*" status; cp --reflink=always disk copy', "sh", disk, point, place.unwalled if off else place.ward,
                            "run", "--quiet", "--", "sh", "-c", f'echo x >disk; cp --reflink=always disk other && exec {place.program("subvolume")} subvolume "$0"',
                            f"touch {harmed}"], off=off)
    if code == 99:
        pytest.skip("no btrfs here: " + said)
    assert code == 0, said
    assert harmed.exists() == bool(off), said


# What a command writes that says where a repository lies, in a directory where a person then uses git. TMP is ward's own name of the
# run's /tmp. (By /proc/PID/root git itself goes to its own: it follows links by their text.)
POINTERS = {
    "by-ward-s-name": 'echo "gitdir: TMP/evil/.git" >place/.git',
    "written-again": 'cd deep/er; git worktree add -q ../../place; sleep 0.2; echo "gitdir: TMP/evil/.git" >../../place/.git',
    "in-a-worktree-s-place": 'cd deep/er/.git; mkdir -p worktrees/one; cp HEAD worktrees/one; echo TMP/evil/.git >worktrees/one/commondir; '
                             'echo "$OLDPWD/place/.git" >worktrees/one/gitdir; echo "gitdir: $PWD/worktrees/one" >"$OLDPWD/place/.git"',
    "in-memory": "exec python3 -c 'import mmap, os, sys; fd = os.open(\"place/.git\", os.O_RDWR | os.O_CREAT); text = sys.argv[1].encode(); "
                 "os.ftruncate(fd, len(text)); mmap.mmap(fd, len(text))[:] = text; open(\"place/other\", \"w\").close()' 'gitdir: TMP/evil/.git'",
}


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
@pytest.mark.parametrize("way", POINTERS)
def test_nothing_says_where_a_repository_lies_while_a_run_goes_on(place, way, off):
    """A person works there in that very moment: the run's /tmp, in which no name is guarded, is there then."""
    command = prepare(place)
    place.write(place.workspace / "place/file", "")
    place.write(place.workspace / "evil.config", f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {command}\n")
    run = place.start([place.unwalled if off else place.ward, "run", "--quiet", "--", "sh", "-c", """
        git init -q /tmp/evil; cp evil.config /tmp/evil/.git/config; awk '$5 == "/tmp" { print $4 }' /proc/self/mountinfo >tmp
        touch begun; until [ -s script ]; do sleep 0.02; done
        sh ./script >said 2>&1; touch ended; until [ -e over ]; do sleep 0.02; done"""], off=off)
    try:
        wait_until(lambda: (place.workspace / "begun").exists())
        script = POINTERS[way].replace("TMP", (place.workspace / "tmp").read_text().strip())
        place.write(place.workspace / "new", script).rename(place.workspace / "script")
        wait_until(lambda: (place.workspace / "ended").exists())
        said = place.run(["git", "-C", place.workspace / "place", "status"], environment=place.environment(
            GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*"))[1]
        assert (place.outside / "harmed").exists() == bool(off), said + (place.workspace / "said").read_text()
    finally:
        place.write(place.workspace / "over", "")
        said = run.communicate(timeout=PATIENCE)[0]
    assert run.returncode == 0, said
    assert off or harm(place) is None


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
@pytest.mark.parametrize("url", ["$there", "file://$(echo $there | sed s/[.]ward-in/%2eward-in/)"])
def test_no_push_runs_hooks_of_the_command_s_own(place, off, url):
    command, repository = prepare(place), place.workspace / "deep/er"
    code, said = place.sandboxed(["sh", "-c", """git init -q --bare /tmp/evil; printf '#!/bin/sh\\n%s\\n' "$1" >/tmp/evil/hooks/pre-receive; chmod +x /tmp/evil/hooks/*
        there=$(awk '$5 == "/tmp" { print $4 }' /proc/self/mountinfo)/evil; cd deep/er; git remote add origin "URL"; :""".replace("URL", url), "sh", command], off=off)
    assert code == 0, said
    said = place.run(["git", "-C", repository, "push", "origin", "main"])[1]
    assert (place.outside / "harmed").exists() == bool(off), said


def closed_places(place):
    """A directory that is read-only by a rule, one that is denied, and one outside."""
    directories = [place.workspace / "kept", place.workspace / "denied", place.outside / "other"]
    for directory in directories:
        place.write(directory / "file", "as it was\n")
    place.write(place.workspace / "deep/file", "")
    return directories


def state_of(directories):
    return [(path.name, path.stat().st_mode, path.read_text()) for directory in directories for path in sorted(directory.iterdir())]


def test_supervisor_does_nothing_for_the_command_that_it_may_not_do_itself(place):
    directories = closed_places(place)
    before = state_of(directories)
    program = place.copy(HERE / "deputy.py", place.workspace / "deputy.py")
    code, said = place.sandboxed(["/usr/bin/python3", program, *directories], flags=["--read-only", "kept", "--deny", "denied"])
    assert (code, said) == (0, "")
    assert state_of(directories) == before


def test_what_the_supervisor_is_asked_for_is_possible_without_ward(place):
    directories = closed_places(place)
    code, said = place.run(["/usr/bin/python3", HERE / "deputy.py" if os.geteuid() != 0 else place.copy(
        HERE / "deputy.py", place.workspace / "deputy.py"), *directories])
    assert code == 0 and all(said.count(f": {directory}\n") >= 8 for directory in directories), said
