# SPDX-License-Identifier: Apache-2.0
"""The floor as a user meets it: what is masked and what is not, /tmp, /run, /dev, /proc."""
import os
import shutil
import subprocess
import time

import pytest

from support import PATIENCE, marker, wait_until

SECRETS = ['.ssh/id_rsa', '.ssh/id_ed25519', '.ssh/work_key', '.gnupg/private-keys-v1.d/a.key', '.aws/credentials', '.netrc',
           '.git-credentials', '.config/gh/hosts.yml', '.docker/config.json', '.kube/config', '.pypirc', '.cargo/credentials.toml',
           '.config/gcloud/credentials.db', '.azure/token', '.mozilla/firefox/p/logins.json', '.config/google-chrome/Default/Cookies',
           '.bash_history', '.zsh_history', '.python_history', '.pgpass', '.claude/.credentials.json', '.codex/auth.json',
           '.local/share/keyrings/login.keyring', '.password-store/a.gpg', '.vault-token', '.config/rclone/rclone.conf', '.my.cnf']
OPEN = ['.ssh/id_rsa.pub', '.ssh/config', '.ssh/known_hosts', '.gitconfig', '.config/git/config', '.aws/config', '.gnupg/pubring.kbx',
        '.profile', '.bashrc', '.config/app/settings', 'notes.txt']


@pytest.fixture
def furnished(ward):
    for name in SECRETS + OPEN:
        ward.file(ward.home / name, f'content of {name}\n', mode=0o600)
    return ward


def test_credentials_keys_and_histories_are_masked(furnished):
    done = furnished('run', '--', 'sh', '-c', 'cd ~; for f; do cat "$f" 2>&1 && echo LEAKED "$f"; done', 'sh', *SECRETS)
    assert 'LEAKED' not in done.out and 'content of' not in done.out
    assert done.out.count('Permission denied') == len(SECRETS), done.out


@pytest.mark.parametrize('above, secret', [('.config', '.config/gh/hosts.yml'), ('.local/share', '.local/share/keyrings/login.keyring')])
@pytest.mark.parametrize('how', ['a link', 'cannot be listed'])
def test_credentials_are_masked_wherever_their_directory_is(furnished, above, secret, how):
    directory = furnished.home / above
    if how == 'a link':
        directory.rename(furnished.home / 'elsewhere')
        directory.symlink_to(furnished.home / 'elsewhere')
    else:
        directory.chmod(0o311)
    done = furnished('run', '--', 'sh', '-c', 'cat ~/"$0"', secret)
    directory.chmod(0o700)
    assert (done.code, done.out) == (1, '') and 'Permission denied' in done.err, done


def test_what_is_not_secret_stays_readable(furnished):
    done = furnished('run', '--', 'sh', '-c', 'cd ~; for f; do cat "$f"; done', 'sh', *OPEN)
    assert done.out == ''.join(f'content of {name}\n' for name in OPEN), done


def test_a_mask_is_refused_whatever_the_way_to_it(furnished):
    (furnished.work / 'link').symlink_to(furnished.home / '.netrc')
    done = furnished.sh('cat link; cat ~/./.netrc; cd ~ && cat .netrc; cp .netrc /tmp/x; head -c1 < .netrc; tar c .netrc | tr -d "\\0"')
    assert 'content of' not in done.out


def test_shadow_is_unreadable(ward):
    done = ward.sh('cat /etc/shadow /etc/gshadow')
    assert done.code == 1 and done.out == ''


@pytest.mark.skipif(os.geteuid() != 0, reason='needs mounts of its own')
@pytest.mark.parametrize('flags', [(), ('--level', 'restricted')])  # the flag keeps it from being covered beforehand
def test_what_most_sandboxes_hide_is_seen_where_it_is_meant(plain, flags):
    """It is covered before it is known what is meant."""
    if plain.person.uid != 0:
        pytest.skip('others cannot read it anyway')
    script = ('cp -a /etc etc && mkdir -p etc/ssl/private && echo meant > etc/ssl/private/key && mount --bind etc /etc && exec "$WARD" run '
              + ' '.join(flags) + ' --read /etc/ssl/private --read /etc/passwd -- sh -c "cat /etc/ssl/private/key; wc -l < /etc/passwd; wc -l < /etc/group; cat /etc/shadow"')
    done = plain('-m', '--propagation', 'private', 'sh', '-c', script, program='/usr/bin/unshare')
    users = len(open('/etc/passwd').readlines())
    assert done.code == 1 and done.out == f'meant\n{users}\n2\n' and 'Permission denied' in done.err, done


@pytest.mark.parametrize('name', ['.env', 'a/.env', 'a/b/c/d/.env', '.env.local', '.env.production', 'web/.env.development.local'])
def test_env_files_are_masked_at_every_depth(ward, name):
    ward.file(name, 'KEY=1\n')
    done = ward.run('cat', name)
    assert (done.code, done.out) == (1, '')
    assert 'Permission denied' in done.err


@pytest.mark.parametrize('name', ['.env.example', 'a/.env.sample', 'a/b/.env.template', '.environment', 'env', '.envrc'])
def test_examples_of_env_files_are_readable(ward, name):
    ward.file(name, 'KEY=1\n')
    assert ward.run('cat', name).out == 'KEY=1\n'


def test_an_env_file_made_inside_is_the_commands_own(ward):
    assert ward.sh('echo KEY=1 > .env && cat .env && rm .env').out == 'KEY=1\n'


def test_wards_own_state_and_configuration_are_unreadable(ward):
    ward.allow('rm')
    assert ward.run('true').code == 0
    done = ward.sh(f'cat {ward.log}; ls {ward.state}/ward; cat {ward.config}/ward/ward.yaml; echo x >> {ward.log}; '
                   f'rm -rf {ward.state}/ward')
    assert done.out == ''
    assert ward.verify().code == 0
    kinds = [record['kind'] for record in ward.records()]
    assert [kind for kind in kinds if kind != 'run.denials'] == ['run.start', 'run.end', 'run.start', 'run.end']


def test_wards_state_is_unreadable_in_the_workspace_and_with_flags(ward):
    """No exception lifts it."""
    variables = {'XDG_STATE_HOME': str(ward.work / 'state')}
    (ward.work / 'state').mkdir()
    ward.person.own(ward.work / 'state')
    flags = ['--read', 'state', '--read', 'state/ward/audit.log', '--write', 'state']
    assert ward.run('true', env=variables).code == 0
    done = ward.sh('cat state/ward/audit.log; ls state/ward; echo x >> state/ward/audit.log; mv state/ward away', *flags, env=variables)
    assert done.out == ''
    assert (ward.work / 'state' / 'ward' / 'audit.log').exists()
    assert ward('audit', 'verify', env=variables).code == 0


def test_tmp_is_private(ward):
    name = '/tmp/ward-test-' + marker()
    with open(name, 'w') as secret:
        secret.write('of the host')
    os.chmod(name, 0o644)
    try:
        done = ward.sh(f'cat {name}; ls -A /tmp; echo x > /tmp/inside; cat /tmp/inside; stat -c %a /tmp')
        assert done.out == 'x\n1777\n', done
        assert not os.path.exists('/tmp/inside')
    finally:
        os.unlink(name)


def test_tmp_is_shared_within_a_session_and_not_beyond(ward):
    assert ward.sh('echo 1 > /tmp/f', '--session', 'one').code == 0
    assert ward.sh('cat /tmp/f', '--session', 'one').out == '1\n'
    assert ward.sh('cat /tmp/f', '--session', 'two').out == ''
    assert ward.sh('ls -A /tmp').out == ''


def test_runs_of_one_calling_process_share_their_tmp(ward):
    done = ward.shell('$WARD run -- sh -c "echo 1 > /tmp/f"; $WARD run -- cat /tmp/f; (exec bash -c "$WARD run -- cat /tmp/f; :")')
    assert done.out == '1\n'


def test_tmp_is_swept_when_its_owner_has_ended(ward):
    sessions = ward.state / 'ward' / 'sessions'
    assert ward.shell('$WARD run -- sh -c "echo 1 > /tmp/f; mkdir -p /tmp/d/e; chmod 000 /tmp/d; ln -s / /tmp/root"; :').code == 0
    ended, = os.listdir(sessions)
    assert ward.shell('$WARD run -- true; :').code == 0
    assert ended not in os.listdir(sessions)
    assert os.path.isdir('/usr/bin')


def test_tmp_of_a_living_owner_is_kept(ward):
    holder = ward.popen('-c', '$0 run -- sh -c "echo 1 > /tmp/f"; read x; $0 run -- cat /tmp/f', ward.binary, program='/bin/sh',
                        stdin=subprocess.PIPE)
    assert wait_until(lambda: ward.log.exists() and b'run.end' in ward.log.read_bytes())
    assert ward.run('true').code == 0
    assert ward.finish(holder, b'\n').out == '1\n'


def test_tmp_is_not_swept_under_a_run_that_outlives_its_owner(ward):
    ward.shell('$WARD run -- sh -c "echo 1 > /tmp/f; touch up; for i in \\$(seq 600); do [ -e go ] && break; sleep 0.05; done; cat /tmp/f > got" '
               '> /dev/null 2>&1 &')
    assert wait_until((ward.work / 'up').exists)
    assert ward.shell('$WARD run -- true; $WARD run -- true; :').code == 0
    ward.file('go')
    assert wait_until(lambda: (ward.work / 'got').exists() and (ward.work / 'got').read_text() == '1\n', 30)


def test_tmp_of_a_named_session_is_swept_when_it_was_not_used_for_long(ward):
    day = 24 * 3600
    for name, days in (('old', 8), ('recent', 6)):
        assert ward.sh('echo 1 > /tmp/f', '--session', name).code == 0
        directory = ward.state / 'ward' / 'sessions' / name
        for path in (directory, directory / '.ward-inside-tmp'):
            os.utime(path, (time.time() - days * day,) * 2)
    assert ward.run('true').code == 0
    names = os.listdir(ward.state / 'ward' / 'sessions')
    assert 'old' not in names and 'recent' in names


def test_programs_may_be_run_from_tmp(ward):
    assert ward.sh('printf "#!/bin/sh\\necho ran\\n" > /tmp/x; chmod +x /tmp/x; /tmp/x; cp /bin/true /tmp/t; /tmp/t && echo fine').out == 'ran\nfine\n'


def test_a_workspace_below_tmp_stays_visible(below_tmp):
    below_tmp.file('here', 'mine\n')
    below_tmp.file('.env', 'KEY')
    done = below_tmp.sh(f'cat here; echo new > made; cat .env; ls -A /tmp; ls -A {below_tmp.place}; echo x > /tmp/other; '
                        f'cat {below_tmp.work}/made')
    assert done.out == f'mine\n{below_tmp.place.name}\nwork\nnew\n', done
    assert (below_tmp.work / 'made').read_text() == 'new\n'
    assert not os.path.exists('/tmp/other')


def test_a_home_below_tmp_does_not_break_a_run(below_tmp):
    assert below_tmp.sh('cd ~ 2>/dev/null; echo $HOME; git --version >/dev/null').code == 0


def test_run_is_hidden(ward):
    done = ward.sh('ls -A /run; ls -A /var/run/; touch /run/x; cat /run/.ward/hosts')
    assert all(name.startswith('.ward') or name == 'systemd' or name == 'resolvconf' for name in done.out.split()), done


def test_devices_are_few(ward):
    names = set(ward.run('ls', '/dev').out.split())
    assert names <= {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'fd', 'stdin', 'stdout', 'stderr', 'ptmx', 'pts', 'shm',
                     'console', 'core', 'mqueue'}, names
    assert names >= {'null', 'zero', 'urandom', 'tty', 'pts', 'shm'}
    done = ward.sh('head -c 4 /dev/zero | od -An -tx1; head -c 100 /dev/urandom | wc -c; echo x > /dev/null; cat /dev/null; '
                   'echo x > /dev/full || echo full')
    assert done.out.split() == ['00', '00', '00', '00', '100', 'full'], done


def test_the_mounts_of_the_host_are_unchanged(ward):
    """In a host of this test's own, whose mounts are as shared as they can be and which nobody else changes."""
    script = ('mount --make-rshared / && cat /proc/self/mountinfo > "$0/before" && for i in 1 2 3; do "$@" || exit; done && '
              'cat /proc/self/mountinfo > "$0/after"')
    person = ward.person
    host = ['unshare', '--mount'] if os.geteuid() == 0 else ['unshare', '--user', '--map-current-user', '--keep-caps', '--mount']
    become = [] if person.uid == os.geteuid() else ['setpriv', f'--reuid={person.uid}', f'--regid={person.gid}', '--clear-groups']
    done = subprocess.run([*host, 'sh', '-c', script, ward.place, *become, ward.binary, 'run', '--', 'sh', '-c', 'echo x > file'],
                          cwd=ward.work, env=ward.variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done
    assert (ward.place / 'before').read_text() == (ward.place / 'after').read_text() != ''


def test_set_user_id_programs_gain_nothing(ward):
    assert shutil.which('su') or shutil.which('mount')
    assert ward.sh('grep -E "^(Cap|NoNewPrivs)" /proc/self/status').out.split() == [
        word for name in ('CapInh:', 'CapPrm:', 'CapEff:', 'CapBnd:', 'CapAmb:') for word in (name, '0' * 16)] + ['NoNewPrivs:', '1']


@pytest.mark.parametrize('mount', ['"/", AT_RECURSIVE', '"/run", 0,'], ids=['tree', 'run'])
def test_a_mount_that_somebody_still_writes_to_is_closed_a_moment_later(plain, mount):
    """Whoever the supervisor forks while its sandbox is built holds copies of the sandbox's files for a moment: the kernel is made to say so once."""
    log = plain.place / 'home' / 'calls'
    for number in range(1, 20):
        # Whoever is traced cannot look for its own leaks. A log for each process, where no line comes in the middle of another.
        done = plain(f'ASAN_OPTIONS={os.environ.get("ASAN_OPTIONS", "")}:detect_leaks=0', 'strace', '-ff', '-o', log, '-e', 'trace=mount_setattr',
                     '-e', f'inject=mount_setattr:error=EBUSY:when={number}', plain.binary, 'run', '--', 'true', program='/usr/bin/env')
        met = [line for part in log.parent.glob('calls.*') for line in part.read_text().splitlines() if 'INJECTED' in line and mount in line]
        if met:
            assert done.code == 0, done
            return
    raise AssertionError('it is not closed by this call any more')
