# SPDX-License-Identifier: Apache-2.0
"""Where a repository says that its files lie, git writes what a person checks out. No command may have that lead out of the workspace,
or into a repository, which would get hooks from there; nor any other name that is guarded lead to where it is not, by a link."""

import os
import pathlib

import pytest

from conftest import PATIENCE, wait_until

EXCHANGE = """exchange() { python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) and 1)' "$@"; }
"""
# What the command does, and where a person then checks out what the submodule holds.
WAYS = {
    "a-link": ("ln -s ../outside/empty link; git config -f .git/modules/sub/config core.worktree ../../../link", "sub"),
    "the-repository-around": ("git config -f .git/modules/sub/config core.worktree ../../../.git", "sub"),
    "its-own-repository": ("git config -f .git/modules/sub/config core.worktree .", "sub"),
    "a-link-afterwards": ("mv sub old; ln -s ../outside/empty sub; point", "d"),
    "a-link-in-its-place": ("ln -s ../outside/empty sub2; mv sub old; mv sub2 sub; point", "d"),
    "a-second-name-of-a-link": ("ln -s ../outside/empty sub2; mv sub old; ln -P sub2 sub; point", "d"),
    "a-link-exchanged": ("ln -s ../outside/empty sub2; exchange sub sub2; point", "d"),
    "a-link-in-a-directory": ("mkdir x p; ln -s ../../outside/empty x/q; git config -f .git/modules/sub/config core.worktree ../../../p/q; rmdir p; mv x p; point", "d"),
    "a-link-above": ("mkdir p; ln -s ../outside x; git config -f .git/modules/sub/config core.worktree ../../../p/empty; rmdir p; mv x p; point", "d"),
    "a-repository-that-moves": ("mkdir .git/modules/a; git config -f .git/modules/sub/config --unset core.worktree; mv .git/modules/sub .git/modules/a/b; "
                                "git config -f .git/modules/a/b/config core.worktree ../../../../outside/empty; mv .git/modules/a/b .git/modules/sub", "sub"),
    "worktrees-that-take-it-for-theirs": ("cd sub; git config extensions.worktreeConfig true; git worktree add --no-checkout -q ../z", "z"),
    "worktrees-that-come-to-take-it": ("cd sub; git worktree add --no-checkout -q ../z; git config extensions.worktreeConfig true", "z"),
}


def git(place, *words, cwd=None):
    code, said = place.run(["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *words],
                           cwd=cwd or place.workspace)
    assert code == 0, said


def with_submodule(place):
    library = place.base / "library"
    place.write(library / "hooks/post-checkout", f"#!/bin/sh\ntouch {place.outside}/harmed\n", mode=0o755)
    for directory in (library, place.workspace):
        git(place, "init", "-q", cwd=directory)
    git(place, "add", ".", cwd=library)
    git(place, "commit", "-qm", "one", cwd=library)
    git(place, "submodule", "--quiet", "add", str(library), "sub")
    git(place, "commit", "-qm", "one")


def run_script(place, text, off):
    script = place.write(place.base / "script.sh", 'point() { mkdir -p d; echo "gitdir: ../.git/modules/sub" >d/.git; }\n' + EXCHANGE + text)
    code, said = place.sandboxed(["bash", script], off=off)
    assert code not in (125, 126, 127), said
    return said


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
@pytest.mark.parametrize("name", WAYS)
def test_git_checks_out_to_no_other_place(place, name, off):
    text, directory = WAYS[name]
    with_submodule(place)
    said = run_script(place, text, off)
    if (place.workspace / directory).is_dir():
        place.run(["git", "checkout", "-f"], cwd=place.workspace / directory)
        place.run(["git", "checkout", "-q", "-b", "other"], cwd=place.workspace / directory)
    place.run(["git", "checkout", "-q", "-b", "other"])
    assert bool(list((place.outside / "empty").iterdir()) or (place.outside / "harmed").exists()) == bool(off), said


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
@pytest.mark.parametrize("text", ["mv link .vscode", "ln -P link .vscode", "mkdir d; mv link d; mv d .vscode; exchange .vscode/link .vscode"])
def test_settings_are_no_link(place, text, off):
    command = f"touch {place.outside}/harmed"
    said = run_script(place, f"mkdir evil; echo '{command}' >evil/tasks.json; ln -s ./evil link; " + text, off)
    settings = place.workspace / ".vscode"
    if "exchange" in text:  # which no file system does
        assert not (settings / "tasks.json").exists()
    else:
        assert (settings / "tasks.json").exists() == bool(off), said


LINKS = {
    "a-link": "ln -s /proc/$pid/root/tmp/evil evil",
    "in-steps": "ln -s /proc p; ln -s p/$pid q; ln -s q/root/tmp/evil evil",
    "from-its-own-process": "ln -s /proc/self s; ln -s s/.. p; ln -s p/$pid q; ln -s q/root/tmp/evil evil",
    "from-its-own-files": "ln -s /dev/fd f; ln -s f/../../$pid q; ln -s q/root/tmp/evil evil",
    "from-above": "ln -s ../../../../../../../../../../proc p; ln -s p/$pid q; ln -s q/root/tmp/evil evil",
    "what-becomes-a-link": "mkdir -p r/proc; ln -s r/proc p; rm -r r; ln -s / r; ln -s p/$pid q; ln -s q/root/tmp/evil evil",
}


def number_outside(marker):
    """Of the first process inside that has the word among its own."""
    numbers = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / "cmdline").read_bytes().split(b"\0") and \
                    (entry / "comm").read_text() == "bash\n":
                numbers.append(int(entry.name))
        except OSError:
            pass
    return min(numbers)


@pytest.mark.parametrize("off", [(), ("guard",)], ids=["walls", "real"])
@pytest.mark.parametrize("name", LINKS)
def test_no_link_leads_to_what_a_process_inside_sees(place, name, off):
    marker = f"marker-{place.base.name}"
    place.write(place.workspace / "guess", "")
    script = place.write(place.base / "script.sh", f"""mkdir -p /tmp/evil/.vscode; echo evil >/tmp/evil/.vscode/tasks.json; touch ready
        for i in $(seq 900); do read -r pid <guess && break; sleep 0.1; done
        {LINKS[name]}; touch done; for i in $(seq 900); do test -e over && exit; sleep 0.1; done""")
    run = place.start([place.unwalled if off else place.ward, "run", "--quiet", "--", "bash", script, marker], off=off)
    try:
        assert wait_until((place.workspace / "ready").exists)
        place.write(place.workspace / "guess", f"{number_outside(marker)}\n")
        assert wait_until((place.workspace / "done").exists)
        code, read = place.run(["cat", place.workspace / "evil/.vscode/tasks.json"])
    finally:
        place.write(place.workspace / "over", "")
        said = run.communicate(timeout=PATIENCE)[0].decode()
    assert (code == 0 and read == "evil\n") == bool(off), said + read


def test_links_of_work_are_made(place):
    """What only looks alike: numbers, names of processes' directories, ways up."""
    texts = ["../releases/20240612", "releases/42", "/usr/lib/../bin/true", "../src/proc/main.c", "proc", "/proc/self/mounts", "/proc/cpuinfo",
             "../..", "../../lib", "/usr/bin/env", "/dev/null", "root/cwd", "../42"]
    place.script("import os, sys\nfor n, text in enumerate(sys.argv[1:]):\n    os.symlink(text, f'link{n}')\n")
    code, said = place.sandboxed(["python3", "script.py", *texts])
    assert code == 0, said
    assert [os.readlink(place.workspace / f"link{n}") for n in range(len(texts))] == texts


def test_submodules_are_worked_with(place):
    with_submodule(place)
    code, said = place.sandboxed(["bash", place.write(place.base / "script.sh", f"""set -e
        g() {{ git -c user.name=n -c user.email=e -c protocol.file.allow=always "$@"; }}
        g submodule --quiet add --name deep/name {place.base}/library more/one
        git mv more/one one; git -C one status --short
        git submodule deinit -q -f one; g submodule --quiet update --init; git submodule --quiet foreach 'git rev-parse --show-toplevel'
        git -C one worktree add --no-checkout -q ../z; git -C one worktree move ../z ../y; git -C one worktree remove --force ../y
        git -C one sparse-checkout set --cone .
        ln -s one two; ln -s hooks one/three; mv one/three four; mkdir five; mv four five/one; mv five six
        g commit -qam moved; git rm -q -f one; g clone -q --recurse-submodules . copy; git -C copy/sub status --short""")])
    assert code == 0, said
    assert said.splitlines() == [f"{place.workspace}/one", f"{place.workspace}/sub"]
