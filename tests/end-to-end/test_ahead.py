# SPDX-License-Identifier: Apache-2.0
"""What is begun before ward's own library starts (src/sandbox/ahead.c) is what would be begun later, and nothing of it is left where it
was begun in vain. A flag such as --level keeps it from being begun."""
import os
import pathlib
import subprocess

import pytest

LATER = ('--level', 'restricted')
# All that a process is given by those before it.
STATE = ('grep -E "^(Cap|Sig[BI]|Groups|Uid|Gid|NoNew|Seccomp|CoreD|Cpus_allowed:|Umask|Threads)" /proc/self/status; grep Sig /proc/1/status; umask; pwd; '
         'ulimit -a; cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups /proc/self/cgroup; ls -l /proc/self/fd | wc -l; hostname')


@pytest.mark.parametrize('before', ['', "trap '' CHLD PIPE INT XFSZ; ", 'umask 0027; ulimit -n 200; ', 'exec 5</dev/null; cd sub; ', 'exec <&- >&-; '])
def test_what_begins_ahead_is_as_what_begins_later(ward, before):
    ward.file('sub/file')
    said = []
    for flags in ((), LATER):
        done = ward.shell(f'{before}"$WARD" run {" ".join(flags)} -- sh -c \'({STATE}) >&2\'')
        assert done.code == 0, done
        said.append(done.err)
    assert said[0] == said[1]


def test_the_same_walls_stand(ward):
    walls = [ward.result(*flags, '--', 'true')['attempts'][0]['walls'] for flags in ((), LATER)]
    assert walls[0] == walls[1] and 'netns' in walls[0]


REAPER = '''if True:
    import ctypes, os, subprocess, sys
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans are ours
    done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        os.waitpid(-1, 0)
        print('somebody was left')
    except ChildProcessError:
        print(done.returncode)'''


@pytest.mark.parametrize('words, code', [(['run', '--no-such-flag'], 125), (['run'], 125), (['run', '--profile', 'none-such', '--', 'true'], 125),
                                         (['run', '--policy', '/none', '--', 'true'], 125)])
def test_nobody_is_left_where_it_began_in_vain(ward, words, code):
    done = ward('-I', '-c', REAPER, ward.binary, *words, program='/usr/bin/python3')
    assert (done.code, done.out) == (0, f'{code}\n'), done


def test_a_command_that_wants_less_gets_what_it_wants(ward):
    """The policy is read behind the beginning."""
    ward.policy('sandbox: {network: {mode: full}}\n')
    result = ward.result('--', 'true')
    assert result['exit_code'] == 0 and 'netns' not in result['attempts'][0]['walls'], result


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root to be somebody with groups')
def test_groups_of_root_are_left_behind(ward):
    if ward.person.uid != 0:
        return
    done = subprocess.run(['setpriv', '--groups', '4,27', ward.binary, 'run', '--', 'grep', 'Groups', '/proc/self/status'], env=ward.variables, cwd=ward.work,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert done.stdout.split() == ['Groups:'], done.stdout


def test_it_is_begun_at_all():
    """Else everything here would hold of something else. Sanitized builds begin at their loader."""
    ward = pathlib.Path(os.environ.get('WARD') or pathlib.Path(__file__).parents[2] / 'build' / 'ward')
    symbols = subprocess.run(['nm', ward], stdout=subprocess.PIPE, text=True, check=True).stdout
    header = subprocess.run(['readelf', '-h', ward], stdout=subprocess.PIPE, text=True, check=True).stdout
    entry = int(header.split('Entry point address:')[1].split()[0], 16)
    places = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if len(line.split()) == 3}
    assert '__asan_init' in symbols or entry == places['ward_entry']
