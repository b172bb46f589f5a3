# SPDX-License-Identifier: Apache-2.0
"""Caches in the home directory: a layer of the workspace's own over them, the real ones as they were."""
import hashlib
import json
import os
import shutil
import signal
import stat
import time
import zipfile

import pytest

from support import Terminal, all_gone, resters, resting, rests, wait_until
from test_programs import needs


def fill(ward, *names, text='real\n'):
    """Files in the home directory, with all that is missing above them."""
    for name in names:
        ward.file(ward.home / name, text)


def picture(path):
    """Everything about a tree that a command could change."""
    seen = {}
    for top, directories, files in os.walk(path):
        for name in ['.', *directories, *files]:
            whole = os.path.join(top, name)
            about = os.lstat(whole)
            content = hashlib.sha256(open(whole, 'rb').read()).hexdigest() if stat.S_ISREG(about.st_mode) else ''
            seen[whole] = (about.st_mode, about.st_uid, about.st_mtime_ns, about.st_ctime_ns if name != '.' or top != str(path) else 0, about.st_ino, content,
                           os.listxattr(whole, follow_symlinks=False))
    return seen


@pytest.fixture
def untouched(ward):
    """Checks in the end that the home directory is what it was."""
    fill(ward, '.cache/tool/old', '.npm/old', '.cargo/registry/old', 'go/pkg/old')
    before = picture(ward.home)
    yield ward
    assert picture(ward.home) == before


def listed(ward, **how):
    done = ward('caches', '--json', **how)
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def test_what_is_there_is_read_and_what_is_written_is_kept(untouched):
    script = '''cd ~/.cache/tool && cat old && echo new > new && echo changed > old && mkdir deep && echo x > deep/x && chmod 700 deep &&
mv new newer && ln newer second && ln -s second third && touch -d 2001-01-01 newer && cat old third'''
    done = untouched.sh(script)
    assert done.code == 0 and done.out == 'real\nchanged\nnew\n', done
    assert done.err == ''
    again = untouched.sh('cd ~/.cache/tool && ls && cat old deep/x && rm deep/x old && rmdir deep && ls')
    assert again.out.split() == ['deep', 'newer', 'old', 'second', 'third', 'changed', 'x', 'newer', 'second', 'third'], again
    assert untouched.sh('cat ~/.cache/tool/old').code != 0  # it stays removed


CHANGES = '''
import mmap, os
old = os.path.expanduser("~/.npm/old")
reader = os.open(old, os.O_RDONLY)
again = os.open(f"/proc/self/fd/{reader}", os.O_RDWR)
os.write(again, b"R")
both = os.open(os.path.expanduser("~/.cargo/registry/old"), os.O_RDWR)
memory = mmap.mmap(both, 4)
memory[:4] = b"MAPS"
memory.flush()
tool = os.path.expanduser("~/.cache/tool")
os.utime(tool + "/old", (1, 1)); os.chmod(tool + "/old", 0o600); os.chmod(tool, 0o700); os.chown(tool, os.getuid(), os.getgid())
os.setxattr(tool + "/old", "user.x", b"y"); os.truncate(tool + "/old", 1); os.fsync(both)
os.rename(tool + "/old", old)
print(open(old).read(), oct(os.stat(old).st_mode), os.stat(old).st_mtime, os.listxattr(old), os.path.exists(tool + "/old"))
'''


def test_no_way_of_changing_a_file_changes_the_real_one(untouched):
    done = untouched.python(CHANGES)
    assert done.code == 1 and 'OSError: [Errno 18]' in done.err, done  # from one cache to another is as from disk to disk
    done = untouched.python(CHANGES.replace('os.rename(tool + "/old", old)', 'old = tool + "/old"'))
    assert done.code == 0 and done.out.split()[:2] == ['r', '0o100600'] and done.out.split()[-2:] == ["['user.x']", 'True'], done


def test_every_cache_that_is_there_gets_a_layer_and_nothing_else(untouched):
    done = untouched.sh('for d in .cache .npm .cargo/registry .cargo .; do echo x > ~/$d/x && echo $d; done')
    assert done.out.split() == ['.cache', '.npm', '.cargo/registry']
    assert done.err.count('ward: refused: write') == 2, done


def test_access_says_the_truth(untouched):
    done = untouched.python('import os; print([os.access(os.path.expanduser(p), os.W_OK) for p in ("~/.npm", "~/.cache/tool/old", "~")])')
    assert done.out == '[True, True, False]\n', done


def test_another_workspace_has_another_layer(untouched):
    assert untouched.sh('echo mine > ~/.npm/mine').code == 0
    other = untouched.place / 'other'
    other.mkdir()
    untouched.person.own(other)
    assert untouched.sh('ls ~/.npm', cwd=other).out == 'old\n'
    assert untouched.sh('ls ~/.npm').out == 'mine\nold\n'


def test_what_only_reads_sees_the_layer_and_writes_nothing(untouched):
    untouched.file('script', 'echo mine > ~/.npm/mine; rm ~/.npm/old\n')  # in a file, because text that deletes outside is asked about
    assert untouched.run('sh', 'script').code == 0
    assert untouched.run('ls', untouched.home / '.npm').out == 'mine\n'
    assert untouched.run('cat', untouched.home / '.npm/mine').out == 'mine\n'
    shown = untouched.run('cat', '/proc/self/mountinfo').out
    assert ' overlay none ro' in shown
    untouched.file('cat', '#!/bin/sh\necho x > ~/.npm/x\n', 0o755)
    done = untouched.run('./cat')  # taken for one that reads
    assert 'refused: write' in done.err and not (untouched.home / '.npm/x').exists()


def test_a_command_that_only_reads_makes_no_layer(untouched):
    assert untouched.run('ls', untouched.home / '.npm').out == 'old\n'
    assert not (untouched.state / 'ward/caches').exists()
    assert listed(untouched) == []


def test_an_account_without_caches_has_no_layer(ward):
    assert ward.sh('echo x > x').code == 0
    assert not (ward.state / 'ward/caches').exists()


def test_what_is_not_there_yet_is_opened_by_its_own_name_and_not_by_the_home(ward):
    where = ward.home / '.npm'
    done = ward.sh(f'mkdir {where}')
    assert f'to allow: --make {where}\n' in done.err, done
    assert ward.sh(f'mkdir {where}; ! mkdir {where}-other', '--make', where).code == 0 and where.is_dir()


@pytest.mark.parametrize('manifest, command, caches', [
    ('package.json', 'echo x > ~/.npm/x', ['.npm']), ('go.mod', 'mkdir ~/.cache/go-build; echo x > ~/go/pkg/x', ['.cache', 'go/pkg']),
    ('Cargo.toml', 'echo x > ~/.cargo/registry/x', ['.cargo/registry', '.cargo/git'])])
def test_a_tool_of_the_workspace_finds_its_cache_in_a_new_home(ward, manifest, command, caches):
    ward.file(manifest, '{}\n')
    assert ward.run('ls').code == 0 and list(ward.home.iterdir()) == [], 'who only reads needs none'
    assert ward.sh('echo x > x', '--caches', 'off').code == 0 and list(ward.home.iterdir()) == []
    for _ in range(2):
        done = ward.sh(command + '; test -e x')
        assert done.code == 0 and 'refused' not in done.err, done
        command = 'ls ' + command.split()[-1]
    for name in caches:
        made = (ward.home / name).stat()
        assert (made.st_uid, made.st_mode & 0o777) == (ward.person.uid, 0o700)
        assert list((ward.home / name).iterdir()) == [], 'the layer is the workspace\'s'


def test_a_tool_that_is_named_finds_its_cache(ward):
    npm = ward.file('npm', '#!/bin/sh\necho x > ~/.npm/x\n', 0o755)
    assert ward.run('env', 'A=b', npm).code == 0 and (ward.home / '.npm').is_dir()
    assert ward.run('python3', '-m', 'pip', '--version').code in (0, 1) and (ward.home / '.cache').is_dir()
    assert ward.run('touch', 'cargo').code == 0 and not (ward.home / '.cargo').exists()


def test_a_cache_is_not_made_where_a_link_leads(ward):
    outside = ward.place / 'outside'
    outside.mkdir()
    ward.person.own(outside)
    (ward.home / '.cargo').symlink_to(outside)
    ward.file('Cargo.toml')
    assert ward.sh('echo x > ~/.cargo/registry/x').code != 0
    assert list(outside.iterdir()) == []


def test_off_means_off(untouched):
    for how in (['--caches', 'off'], []):
        if not how:
            untouched.policy('sandbox: {caches: off}\n')
        done = untouched.sh('echo x > ~/.npm/x', *how)
        assert done.code != 0 and 'refused: write' in done.err
    assert untouched.sh('echo x > ~/.npm/x', '--caches', 'private').code == 0
    assert untouched('run', '--caches', 'some', '--', 'true').code == 125


@pytest.mark.parametrize('flag', ['--deny', '--read-only'])
def test_a_rule_in_a_cache_takes_the_place_of_its_layer(ward, flag):
    fill(ward, '.cache/pip/x', '.cache/uv/x')
    before = picture(ward.home)
    done = ward.sh('echo y > ~/.cache/pip/y; echo y > ~/.cache/uv/y; echo y > ~/.cache/y; cat ~/.cache/uv/y', flag, '~/.cache/pip')
    assert done.out == 'y\n' and done.err.count('refused: write') == 2, done
    assert picture(ward.home) == before


def test_what_is_named_to_be_written_is_written(ward):
    fill(ward, '.npm/old')
    assert ward.sh('echo x > ~/.npm/x', '--write', '~/.npm').code == 0
    assert (ward.home / '.npm/x').read_text() == 'x\n'
    assert ward.sh('echo x > ~/y', '--write', '~').code == 0


def test_what_is_masked_in_a_cache_stays_masked(ward):
    fill(ward, '.cache/mozilla/secret', '.cache/pip/x', '.cargo/credentials.toml', '.cargo/registry/x')
    fill(ward, '.gradle/caches/x', '.gradle/gradle.properties')
    script = '''cat ~/.cache/mozilla/secret ~/.cargo/credentials.toml; ls ~/.cache/mozilla; rm ~/.cache/mozilla/secret; rmdir ~/.cache/mozilla; mv ~/.cache/mozilla ~/.cache/m
ln ~/.cache/mozilla/secret ~/.cache/s; ls -A ~/.cache; echo ok > ~/.cache/pip/y && cat ~/.cache/pip/y'''
    done = ward.sh(script)
    assert 'real' not in done.out and done.out.split() == ['mozilla', 'pip', 'ok'], done
    assert (ward.home / '.cache/mozilla/secret').read_text() == 'real\n'
    # Read once it is asked for by name.
    assert ward.sh('cat ~/.cache/mozilla/secret; echo x > ~/.cache/pip/z', '--read', '~/.cache/mozilla').out == 'real\n'


def test_a_secret_that_comes_later_is_masked_under_whatever_a_command_put_there(ward):
    fill(ward, '.cache/pip/x')
    for made in ('echo mine > ~/.cache/mozilla', 'mkdir ~/.cache/mozilla; echo mine > ~/.cache/mozilla/mine', 'ln -s pip ~/.cache/mozilla'):
        assert ward.sh(made).code == 0
        fill(ward, '.cache/mozilla/secret', text='secret\n')
        done = ward.sh('cat ~/.cache/mozilla ~/.cache/mozilla/secret; echo y > ~/.cache/pip/y')
        assert 'secret' not in done.out and 'building the sandbox' not in done.err, done
        shutil.rmtree(ward.home / '.cache/mozilla')
        assert ward('caches', 'clear').code == 0


def test_a_link_is_no_cache(ward):
    fill(ward, 'elsewhere/x')
    (ward.home / '.npm').symlink_to('elsewhere')
    ward.person.own(ward.home / '.npm')
    assert 'refused: write' in ward.sh('echo y > ~/.npm/y').err
    assert not (ward.home / 'elsewhere/y').exists()


def test_a_home_that_a_link_leads_to(ward):
    fill(ward, '.npm/old', '.cache/pip/old')
    before = picture(ward.home)
    link = ward.place / 'link'
    link.symlink_to('home')
    named = {'env': {'HOME': str(link)}}
    assert ward.sh('cat ~/.npm/old; echo x > ~/.npm/x; ls ~/.npm', **named).out == 'real\nold\nx\n'
    for rule in (f'{ward.home}/.cache', f'{link}/.cache'):  # whichever way it is named
        done = ward.sh('echo x > ~/.cache/x; echo x > ~/.npm/y', '--read-only', rule, **named)
        assert done.err.count('refused: write') == 1, done
    assert picture(ward.home) == before


WORK = '''cd ~/.cache/tool
printf '#!/bin/sh\\necho ran\\n' > run && chmod +x run && ./run
git init -q repository && cd repository && git config user.name N && git config user.email n@example.org
echo a > a && git add a && git commit -q -m first && printf '#!/bin/sh\\necho hook\\n' > .git/hooks/post-commit && chmod +x .git/hooks/post-commit
echo b > a && git commit -q -a -m second && git log --format=%s && cd .. && git clone -q repository clone && ls clone
mkfifo pipe && (echo piped > pipe &) && cat pipe
/usr/bin/python3 -I -c 'import socket, mmap, tempfile
a = socket.socket(socket.AF_UNIX); a.bind("s"); a.listen(); b = socket.socket(socket.AF_UNIX); b.connect("s"); b.send(b"spoken"); print(a.accept()[0].recv(9).decode())
with tempfile.TemporaryFile(dir=".") as f: f.write(b"x"); print("nameless")'
'''


def test_a_layer_is_a_place_to_work_in(untouched):
    needs('git')
    done = untouched.sh(WORK)
    assert done.out.split() == ['ran', 'second', 'first', 'a', 'piped', 'spoken', 'nameless'], done
    assert done.err == 'hook\n'


def test_where_the_variables_point(ward):
    fill(ward, 'tools/npm/x', 'tools/cargo/registry/x', 'tools/go/pkg/x')
    outside = ward.place / 'outside'
    outside.mkdir()
    ward.person.own(outside)
    before = picture(ward.home)
    home = str(ward.home)
    script = 'for d in ~/tools/npm ~/tools/cargo/registry ~/tools/go/pkg ~/tools $CCACHE_DIR; do echo y > $d/y && echo $d; done'
    done = ward.sh(script, env={'npm_config_cache': home + '/tools/npm', 'CARGO_HOME': home + '/tools/cargo', 'GOPATH': home + '/tools/go',
                                'CCACHE_DIR': str(outside), 'XDG_CACHE_HOME': home})
    assert done.out.split() == [home + '/tools/' + name for name in ('npm', 'cargo/registry', 'go/pkg')], done
    assert picture(ward.home) == before and list(outside.iterdir()) == []


def test_two_at_once_do_not_share_a_layer(untouched):
    rest = resting()
    first = untouched.popen('run', '--', 'sh', '-c', f'echo first > ~/.npm/first; sleep {rest}; cat ~/.npm/first')
    assert rests(rest)
    second = untouched.sh('ls ~/.npm; echo second > ~/.npm/second')
    assert second.out == 'old\n' and second.code == 0, second
    about, = listed(untouched)
    assert about['slots'] == 2 and about['in_use'] == 1
    refused = untouched('caches', 'clear')
    assert refused.code == 125 and 'a command uses it' in refused.err
    for pid in resters(rest):
        os.kill(pid, signal.SIGKILL)
    assert 'first' in untouched.finish(first).out
    # Alone again, it is the first one's.
    assert untouched.sh('ls ~/.npm').out == 'first\nold\n'


def test_nothing_is_left_when_the_supervisor_is_killed(untouched):
    rest = resting()
    process = untouched.popen('run', '--', 'sh', '-c', f'echo x > ~/.npm/x; sleep {rest}')
    assert rests(rest)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert all_gone(rest)
    assert str(untouched.home) not in open('/proc/self/mountinfo').read()
    assert wait_until(lambda: listed(untouched)[0]['in_use'] == 0)
    done = untouched.sh('ls ~/.npm')
    assert done.out == 'old\nx\n', done


def test_the_layer_is_kept_where_nobody_inside_can_reach_it(untouched):
    assert untouched.sh('echo x > ~/.npm/x').code == 0
    done = untouched.sh(f'ls {untouched.state}/ward; cat /proc/self/mountinfo; ls /run/.ward; ls -la /proc/self/fd /proc/1/fd')
    assert 'upper' not in done.out.replace('upperdir=/proc/self/fd/', '') and '/caches/' not in done.out, done


def test_list_and_clear(untouched):
    assert listed(untouched) == [] and untouched('caches').out == ''
    assert untouched.sh('dd if=/dev/zero of=$HOME/.npm/big bs=1M count=3 2>/dev/null; mkdir -m 0 ~/.npm/shut').code == 0
    about, = listed(untouched)
    assert about['workspace'] == str(untouched.work) and 3 << 20 <= about['bytes'] < 4 << 20
    assert (about['slots'], about['in_use'], about['gone']) == (1, 0, False) and abs(about['used'] - time.time()) < 60
    assert about['whole'] == untouched.person.is_root
    text = untouched('caches').out
    assert str(untouched.work) in text and 'MiB' in text
    assert untouched('caches', 'clear', '/nowhere').code == 125
    other = untouched.place / 'other'
    other.mkdir()
    untouched.person.own(other)
    assert untouched.sh('echo x > ~/.npm/x', cwd=other).code == 0
    assert untouched('caches', 'clear', str(other)).code == 0
    assert [about['workspace'] for about in listed(untouched)] == [str(untouched.work)]
    assert untouched('caches', 'clear', '--all').code == 0
    assert listed(untouched) == [] and list((untouched.state / 'ward/caches').iterdir()) == []
    assert untouched.sh('ls ~/.npm').out == 'old\n'
    for words in (['clear', 'a', 'b'], ['clear', '--all', 'a'], ['what'], ['--all']):
        assert untouched('caches', *words).code == 125, words


def test_where_something_is_mounted_in_the_home_each_cache_has_its_own(untouched):
    if not untouched.person.is_root:
        pytest.skip('only root mounts there')
    def sh(script):
        (untouched.home / 'mounted').mkdir()
        done = untouched.shell(f"unshare -m sh -c 'mount -t tmpfs none ~/mounted && $WARD run -- {script}'")
        (untouched.home / 'mounted').rmdir()
        return done
    before = os.stat(untouched.home)
    done = sh('sh -c "cat ~/.npm/old; echo x > ~/.npm/x; echo y > ~/.cargo/registry/y; mkdir ~/.cache/d; ls ~/.npm ~/.cargo/registry ~/.cache"')
    assert done.out.split() == ['real', *'/.cache: d tool /.cargo/registry: old y /.npm: old x'.replace('/.', f'{untouched.home}/.').split()], done
    assert sh('sh -c "ls -A ~/.npm; cat /proc/self/mountinfo"').out.count(' overlay none rw') == 4
    assert sh('ls ~/.npm').out == 'old\nx\n'  # which only reads
    assert untouched.sh('ls ~/.npm ~/.cache').out.split()[1:3] == ['d', 'tool']  # the same layer, without the mount
    os.utime(untouched.home, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_what_is_not_used_goes_away(untouched):
    def an_hour_later():
        caches = untouched.state / 'ward/caches'
        os.utime(caches, (time.time() - 3601, caches.stat().st_mtime))
    assert untouched.sh('echo x > ~/.npm/x', '--session', 'one').code == 0
    lock = next((untouched.state / 'ward/caches').glob('*/0/lock'))
    old = time.time() - 31 * 24 * 3600
    os.utime(lock, (old, old))
    other = untouched.place / 'other'
    other.mkdir()
    untouched.person.own(other)
    assert untouched.sh('true', '--session', 'two', cwd=other).code == 0
    assert str(untouched.work) in [about['workspace'] for about in listed(untouched)], 'looked for once an hour'
    an_hour_later()
    assert untouched.sh('true', '--session', 'three', cwd=other).code == 0
    assert str(untouched.work) not in [about['workspace'] for about in listed(untouched)]
    # Of a workspace that is gone, after a day.
    gone = untouched.place / 'gone'
    gone.mkdir()
    untouched.person.own(gone)
    assert untouched.sh('echo x > ~/.npm/x', '--session', 'four', cwd=gone).code == 0
    gone.rmdir()
    an_hour_later()
    assert untouched.sh('true', '--session', 'five', cwd=other).code == 0
    assert str(gone) in [about['workspace'] for about in listed(untouched)]
    for lock in (untouched.state / 'ward/caches').glob('*/0/lock'):
        day = time.time() - 25 * 3600
        os.utime(lock, (day, day))
    an_hour_later()
    assert untouched.sh('true', '--session', 'six', cwd=other).code == 0
    assert [about['workspace'] for about in listed(untouched)] == [str(other)]


def test_a_person_is_not_asked_about_a_cache(ward):
    fill(ward, '.npm/old')
    desk = Terminal(ward, columns=150)
    printed = desk.does('ward run -- sh -c "echo x > ~/.npm/x && mkdir ~/.npm/d && cat ~/.npm/x"')
    assert printed.strip() == 'x', printed
    desk.close(force=True)
    assert sorted(path.name for path in (ward.home / '.npm').iterdir()) == ['old']


def tool(ward, *command, **how):
    """Runs it as a plain command, permitted by a rule; nothing but the network may be refused."""
    ward.policy(f'rules: [{{command: "{command[0]} **", do: allow, why: the test}}]\n')
    result = ward.result('--', *command, timeout=180, **how)
    assert result['exit_code'] == 0, result['aggregated_output'][-3000:]
    assert [denial for denial in result['attempts'][0]['denials'] if denial['operation'] != 'connect'] == []
    return result['stdout']


def test_npm_installs_a_package(untouched):
    needs('npm')
    untouched.file('dep/package.json', '{"name": "dep", "version": "1.0.0", "main": "index.js"}')
    untouched.file('dep/index.js', 'module.exports = 7')
    untouched.file('app/package.json', '{"name": "app", "version": "1.0.0"}')
    tool(untouched, 'npm', 'pack', '--silent', '--offline', './dep')
    npm = ['npm', 'install', '--offline', '--no-audit', '--no-fund', '--update-notifier=false']
    tool(untouched, *npm, '../dep-1.0.0.tgz', cwd=untouched.work / 'app')
    assert untouched.sh('node -p "require(\'dep\')"', cwd=untouched.work / 'app').out == '7\n'
    assert 'content-v2' in untouched.run('ls', untouched.home / '.npm/_cacache', cwd=untouched.work / 'app').out


def test_pip_installs_a_wheel_and_keeps_its_cache(untouched):
    needs('pip3')
    wheel = untouched.work / 'thing-1.0-py3-none-any.whl'
    with zipfile.ZipFile(wheel, 'w') as archive:
        archive.writestr('thing.py', 'x = 7\n')
        archive.writestr('thing-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n')
        archive.writestr('thing-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        archive.writestr('thing-1.0.dist-info/RECORD', '')
    untouched.person.own(wheel)
    tool(untouched, 'pip3', 'install', '--no-index', '--root-user-action=ignore', '--target', 'lib', './' + wheel.name)
    assert untouched.sh('PYTHONPATH=lib python3 -c "import thing; print(thing.x)"').out == '7\n'
    cached = 'import pip._internal.utils.filesystem as f, os; print(f.check_path_owner(os.path.expanduser("~/.cache/pip")))'
    assert untouched.run('python3', '-c', cached).out == 'True\n'


def test_go_builds_with_its_cache(untouched):
    needs('go')
    untouched.file('go.mod', 'module m\ngo 1.19\n')
    untouched.file('main.go', 'package main\nimport "fmt"\nfunc main() { fmt.Println(7) }\n')
    tool(untouched, 'go', 'build', '-o', 'm', '.')
    assert untouched.sh('./m').out == '7\n'
    assert untouched.run('ls', untouched.home / '.cache/go-build').out != ''


def test_cargo_builds_and_locks_its_cache(ward):
    needs('cargo')
    fill(ward, '.cargo/registry/old', '.cargo/.package-cache', '.cache/old')
    before = picture(ward.home)
    ward.file('Cargo.toml', '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nd = { path = "d" }\n')
    ward.file('src/main.rs', 'fn main() { println!("{}", d::seven()); }\n')
    ward.file('d/Cargo.toml', '[package]\nname = "d"\nversion = "0.1.0"\nedition = "2021"\n')
    ward.file('d/src/lib.rs', 'pub fn seven() -> u8 { 7 }\n')
    tool(ward, 'cargo', 'build', '-q', '--offline')
    assert ward.sh('target/debug/m').out == '7\n'
    assert picture(ward.home) == before


def test_ccache_keeps_what_it_compiled(untouched):
    needs('ccache', 'gcc')
    untouched.file('a.c', 'int main(void) { return 0; }\n')
    tool(untouched, 'ccache', 'gcc', '-c', 'a.c')
    tool(untouched, 'ccache', 'gcc', '-c', 'a.c')
    assert 'Hits' in tool(untouched, 'ccache', '-s')


def test_who_only_reads_sees_what_was_kept_and_gets_no_layer_where_nothing_was(untouched):
    assert untouched.sh('echo kept > ~/.npm/new').code == 0
    assert untouched.run('cat', untouched.home / '.npm/new').out == 'kept\n'
    mounts = untouched.run('cat', '/proc/self/mountinfo').out
    assert f'{untouched.home}/.npm ' in mounts and f'{untouched.home}/.cache ' not in mounts, mounts
