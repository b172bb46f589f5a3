# SPDX-License-Identifier: Apache-2.0
"""The floor as a user meets it: processes, environment, descriptors, identity, namespaces."""
import grp
import json
import os
import subprocess

import pytest

from support import marker, warnings_here


def inside(ward, *flags, **env):
    """The environment that the command sees."""
    done = ward.run('env', '-0', flags=flags, env=env)
    assert done.code == 0, done
    return dict(item.split('=', 1) for item in done.out.split('\0') if item), done.err


def test_only_its_own_processes_are_seen(ward):
    done = ward.sh('ls -d /proc/[0-9]* | wc -l; ps -e -o args=')
    lines = done.out.splitlines()
    assert int(lines[0]) <= 4
    assert len(lines) <= 6, done
    assert not any('pytest' in line for line in lines)


def test_the_command_is_not_the_first_process(ward):
    pid, parent = map(int, ward.sh('echo $$ $PPID').out.split())
    assert pid > 1 and parent == 1


def test_wards_own_command_line_is_not_seen_inside(ward):
    word = marker()
    done = ward.sh('cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"', '--reason', word,
                   env={'A_SECRET_TOKEN': word})
    assert word not in done.out


def test_init_cannot_be_looked_into_or_killed(ward):
    # In a file, because text that ends pid 1 is asked about.
    ward.file('script', 'ls -l /proc/1/fd /proc/1/cwd; cat /proc/1/maps; kill -9 1; kill -TERM 1; kill -STOP 1; sleep 0.2; echo alive\n')
    done = ward.run('sh', 'script')
    assert done.out.strip().endswith('alive') and '->' not in done.out, done


def test_processes_of_the_host_cannot_be_signalled(ward):
    victim = subprocess.Popen(['sleep', '300'], **ward.person.identity())
    try:
        assert ward.sh(f'kill -9 {victim.pid}').code != 0
        ward.file('script', 'kill -9 -1; true\n')
        assert ward.run('sh', 'script').code in (0, 137)
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_identity_is_the_callers(ward):
    done = ward.sh('id -u; id -g; id -ru; id -rg; whoami')
    person = ward.person
    assert done.out.split() == [str(person.uid), str(person.gid), str(person.uid), str(person.gid), person.name]


def test_groups_that_cannot_be_dropped_are_reported(plain):
    """Without root they cannot be given up, and some are as good as root: docker, disk."""
    if os.geteuid() != 0:
        pytest.skip('needs root to give the user a group')
    how = {'user': plain.person.uid, 'group': plain.person.gid, 'extra_groups': [grp.getgrnam('disk').gr_gid]}
    done = subprocess.run([plain.binary, 'run', '--json', '--', 'id', '-G'], env=plain.variables, cwd=plain.work, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, **how)
    result = json.loads(done.stdout)
    assert result['exit_code'] == 0
    assert any('disk' in warning for warning in result['sandbox_warnings']), result['sandbox_warnings']
    assert plain.result('--', 'true')['sandbox_warnings'] == warnings_here()


def test_identity_cannot_be_changed(ward):
    other = '1' if ward.person.is_root else '0'
    done = ward.python(f'import os\nfor f in (os.setuid, os.setgid):\n try: f({other})\n except OSError as e: print(e.errno)\n'
                       f'try: os.setgroups([{other}])\nexcept OSError as e: print(e.errno)')
    assert done.out.split() == ['22', '22', '1'] or set(done.out.split()) <= {'1', '22'} and len(done.out.split()) == 3


def test_namespaces_are_its_own(ward):
    names = ['user', 'mnt', 'pid', 'ipc', 'uts', 'net', 'cgroup']
    here = [os.readlink(f'/proc/self/ns/{name}') for name in names]
    there = ward.sh('for n in ' + ' '.join(names) + '; do readlink /proc/self/ns/$n; done').out.split()
    assert len(there) == len(names) and not set(here) & set(there)


def test_no_namespaces_or_mounts_inside(ward):
    for command in ('unshare -U true', 'unshare -m true', 'mount -t tmpfs none /tmp', 'chroot / true'):
        assert ward.run(*command.split()).code != 0, command


def test_where_user_namespaces_are_refused_nothing_runs_without_them_unsaid(plain):
    done = plain('-Ur', 'sh', '-c', 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', 'sh', plain.binary, 'run', '--', 'touch', 'ran',
                 program='/usr/bin/unshare')
    assert done.err.startswith('ward: fewer walls stand here: ') and 'ward doctor' in done.err
    assert done.code == 0 and (plain.work / 'ran').exists()


def test_secret_looking_variables_are_dropped(ward):
    secrets = ['GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID', 'OPENAI_API_KEY', 'DB_PASSWORD', 'MY_PASSPHRASE', 'NPM_TOKEN',
               'SOME_PRIVATE_KEY', 'DATABASE_URL', 'STRIPE_KEY', 'MYSQL_PWD', 'PGPASSWORD', 'REDISCLI_AUTH', 'SSHPASS', 'LDAP_PW']
    seen, err = inside(ward, **dict.fromkeys(secrets, 'hidden-value'))
    assert not set(secrets) & set(seen)
    assert 'hidden-value' not in seen.values()
    line, = [line for line in err.splitlines() if 'look secret' in line]
    assert all(name in line for name in secrets) and '--keep-env' in line
    assert 'hidden-value' not in err


def test_the_dropped_are_named_once_per_session(ward):
    variables = {'GITHUB_TOKEN': 'x'}
    assert 'GITHUB_TOKEN' in ward.run('true', flags=['--session', 'a'], env=variables).err
    assert ward.run('true', flags=['--session', 'a'], env=variables).err == ''
    assert 'GITHUB_TOKEN' in ward.run('true', flags=['--session', 'b'], env=variables).err


def test_keep_env_keeps_what_it_names(plain):
    seen, err = inside(plain, '--keep-env', 'A_TOKEN', A_TOKEN='1', B_TOKEN='2')
    assert seen.get('A_TOKEN') == '1' and 'B_TOKEN' not in seen
    assert 'B_TOKEN' in err and 'A_TOKEN' not in err


def test_env_sets_and_overrides(plain):
    seen, _ = inside(plain, '--env', 'NEW=a b=c', '--env', 'LANG=xx', '--env', 'MY_TOKEN=given', '--env', 'EMPTY=', LANG='yy')
    assert (seen['NEW'], seen['LANG'], seen['MY_TOKEN'], seen['EMPTY']) == ('a b=c', 'xx', 'given', '')


def test_ordinary_variables_pass(ward):
    variables = {'EDITOR': 'vi', 'CFLAGS': '-O2', 'KEYBOARD': 'de', 'MONKEY': '1', 'TZ': 'UTC', 'LC_ALL': 'C', 'WITH SPACE': '1'}
    seen, _ = inside(ward, **variables)
    assert {name: seen.get(name) for name in variables} == variables
    assert seen['HOME'] == str(ward.home) and seen['PATH'] == ward.variables['PATH']


def test_what_leads_to_the_hosts_sockets_is_unset(ward):
    names = ['DISPLAY', 'WAYLAND_DISPLAY', 'SSH_AUTH_SOCK', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS', 'TMUX', 'XAUTHORITY']
    seen, _ = inside(ward, **dict.fromkeys(names, '/run/user/1/x'))
    assert not set(names) & set(seen)


def test_tmpdir_never_leads_where_nothing_can_be_written(ward):
    for value in (str(ward.place), '/tmp/of-the-host', '/no/such'):
        done = ward.run('mktemp', env={'TMPDIR': value})
        assert done.code == 0 and done.out.startswith('/tmp/'), done
    assert ward.run('mktemp', env={'TMPDIR': str(ward.work)}).out.startswith(str(ward.work))


def descriptors(done):
    return {int(line.split(' -> ')[0].split()[-1]): line.split(' -> ')[1] for line in done.out.splitlines() if ' -> ' in line}


@pytest.mark.parametrize('stdin', ['/dev/null', '/etc/passwd', 'pipe', 'closed'])
def test_no_descriptor_of_the_host_gets_in(ward, stdin):
    ward.file('secret', 'x')
    source = {'pipe': '< <(echo x)', 'closed': '<&-'}.get(stdin, f'< {stdin}')
    done = ward.shell(f'exec 3< secret 4<> secret 5< . 7< / 9> {ward.place}/out 63< /etc/passwd 200< secret; '
                      f'$WARD run -- ls -l /proc/self/fd {source}')
    found = descriptors(done)
    assert done.code == 0 and set(found) == {0, 1, 2, 3}, done
    assert found[3].startswith('/proc/')


def test_many_inherited_descriptors_do_not_get_in(plain):
    fds = [os.open('/etc/passwd', os.O_RDONLY) for _ in range(200)]
    try:
        done = plain('run', '--', 'ls', '-l', '/proc/self/fd', pass_fds=fds)
        assert set(descriptors(done)) == {0, 1, 2, 3}
    finally:
        for fd in fds:
            os.close(fd)


def test_standard_descriptors_are_never_the_hosts_own(ward):
    """Through a descriptor of a mount of the host a mode could be changed, or a directory left."""
    ward.file('../outside/in', 'x')
    line = '$WARD run -- sh -c "chmod 777 /proc/self/fd/1; chmod 777 /dev/stdin; chmod 777 /proc/self/fd/2" < in > out 2> err'
    ward.shell(f'cd ../outside && $WARD run --workspace {ward.work} -- {line[13:]}')
    for name in ('in', 'out', 'err'):
        assert (ward.place / 'outside' / name).stat().st_mode & 0o111 == 0, name


def test_limits_against_fork_bombs_and_core_dumps_stand(plain):
    done = plain.run('bash', '-c', 'ulimit -u; ulimit -c')
    processes, core = done.out.split()
    assert int(processes) <= 8192
    assert core in ('0', '1')


def test_the_umask_is_the_callers(ward):
    assert ward.shell('umask 027; $WARD run -- sh -c umask').out.strip() in ('0027', '027')


def test_ignored_signals_and_mask_are_the_callers(plain):
    """A program that was started by nohup must stay so; one that was not must not inherit what ward itself ignores."""
    look = 'grep -E "^Sig(Ign|Blk)" /proc/self/status | cut -f2'
    ours = plain.shell(look).out.split()
    assert plain.shell(f"$WARD run -- sh -c '{look}'").out.split() == ours
    assert plain.shell(f"trap '' HUP PIPE USR1; $WARD run -- sh -c '{look}'").out.split() == plain.shell(
        f"trap '' HUP PIPE USR1; sh -c '{look}'").out.split()
