# SPDX-License-Identifier: Apache-2.0
"""Programs of every day that write outside the permissions: they wait for the answer, go on, and do their work as if it had always
been allowed. Each says how often a person is asked for it: more would wear him down."""
import json
import os
import re
import shutil
import stat

import pytest

from support import Person, Terminal, Ward
from test_asking import press
from test_asking_in_place import last_result
from test_story import wheel

QUESTION = re.compile(r'ward asks: .*?help\r\n> |READY> ', re.S)


def questions(desk, wide):
    """Answers all with yes, the first for all that lies beside it if that is said, until the prompt comes back."""
    wanted = []
    while True:
        desk.expect(QUESTION)
        if desk.after == desk.PROMPT:
            return wanted
        shown = re.sub(r'\x1b\[[0-9;]*m', '', desk.after)
        gives = re.findall(r'yes gives  (\S.*?)\r\n', shown)
        desk.listens = False
        assert not gives[0].startswith('connect ') and len(wanted) < 30, [*wanted, *gives]  # nothing leaves the machine
        if wide and not wanted:
            wide = False
            press(desk, 'w')
            continue
        wanted += gives
        press(desk, 'y')


def needs(*programs):
    for program in programs:
        if not shutil.which(program, path='/usr/local/bin:/usr/bin:/bin'):
            pytest.skip(f'{program} is not there')


def furnish(ward, outside):
    """Something of each kind, here and there."""
    commit = 'git add . && git -c user.name=n -c user.email=e commit -q -m one'
    ward.file(outside / 'file', 'old\n')
    ward.file('file', 'mine\n')
    ward.file('.env', 'KEY=1\n')
    ward.file('tree/a', 'a')
    ward.file('tree/sub/b', 'b', 0o755)
    ward.file('program.c', '#include <stdio.h>\nint main(void) { puts("it works"); return 0; }\n')
    ward.file('change.patch', '--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n')
    ward.file('Makefile', 'install:\n\tinstall -d $(DESTDIR)/usr/bin\n\tinstall -m 755 file $(DESTDIR)/usr/bin/file\n'
              '\tinstall -D -m 644 file $(DESTDIR)/usr/share/x/file\n')
    ward.file('thing-1.0-py3-none-any.whl', wheel('thing'))
    ward.file('package/package.json', json.dumps({'name': 'thing', 'version': '1.0.0', 'bin': {'thing': 'thing.js'}}))
    ward.file('package/thing.js', '#!/usr/bin/env node\nconsole.log("it works")\n', 0o755)
    ward.file('work.js', NODE)
    ward.file('work.py', PYTHON)
    done = ward.shell(f'ln -s a tree/link && touch -d @1000000000 tree/a && tar cf tree.tar tree && mkdir -p {outside}/old/sub repo {outside}/repo && '
                      f'touch {outside}/old/a {outside}/old/sub/b && for r in repo {outside}/repo; do '
                      f'(cd $r && git init -q -b main . && echo 1 > one && {commit}) || exit 1; done')
    assert done.code == 0, done


NODE = '''const fs = require("fs"), threads = require("worker_threads"), place = process.argv[2];
if (threads.isMainThread) {
  fs.mkdirSync(place + "/a/b", {recursive: true});
  fs.writeFileSync(place + "/one", "1"); fs.appendFileSync(place + "/one", "2"); fs.renameSync(place + "/one", place + "/two");
  fs.promises.writeFile(place + "/three", "3").then(() => fs.copyFileSync(place + "/three", place + "/four"));
  for (let i = 0; i < 4; i++) new threads.Worker(__filename, {argv: [place, String(i)]});
} else for (let i = 0; i < 20; i++) fs.writeFileSync(`${place}/w${process.argv[3]}-${i}`, "x");
'''
PYTHON = '''import shutil, sys
place = sys.argv[1] + "/python"
shutil.copytree("tree", place, symlinks=True); shutil.copy2("file", place + "/file"); shutil.move(place + "/file", place + "/sub/file")
shutil.rmtree(place + "/sub"); shutil.make_archive(place + "/made", "zip", "tree")
'''


def text(name, content):
    return lambda place: (place / name).read_text() == content


def tree(name):
    """A true copy."""
    return lambda place: (os.readlink(place / name / 'link') == 'a' and (place / name / 'a').stat().st_mtime == 1000000000 and
                          stat.S_IMODE((place / name / 'sub/b').stat().st_mode) == 0o755)


# What is run, with O for the place outside; what it needs; what is asked for, as a pattern each; what is there then.
PROGRAMS = {
    'touch': ('touch O/f; touch O/f', [], ['write O/f'], text('f', '')),
    'mkdir': ('mkdir -p O/a/b/c; mkdir -p O/a/b/d; mkdir -p O', [], [r'write O/a/\*\*'], lambda place: (place / 'a/b/d').is_dir()),
    'redirections': ('echo a > O/f; echo b >> O/f; cat >> O/f <<E\nhere\nE\nexec 5<> O/f; read -u 5 x; echo $x > O/g', ['bash'],
                     ['write O/f', 'write O/g'], lambda place: text('f', 'a\nb\nhere\n')(place) and text('g', 'a\n')(place)),
    'tee': ('echo a | tee O/f | tee -a O/f > copy', [], ['write O/f'], lambda place: 'a\n' in (place / 'f').read_text()),
    'dd': ('dd if=/dev/zero of=O/f bs=1k count=3 conv=fsync status=none', [], ['write O/f'], lambda place: (place / 'f').stat().st_size == 3072),
    'sed': ('sed -i s/old/new/ O/file', [], [r'write O/sed\w+', 'write O/file'], text('file', 'new\n')),
    'cp': ('cp file O/copy', [], ['write O/copy'], text('copy', 'mine\n')),
    'cp-a': ('cp -a tree O/', [], [r'write O/tree/\*\*'], tree('tree')),
    'mv': ('mv file O/moved; mv tree O/tree; mv O/file back', [], ['write O/moved', r'write O/tree/\*\*', 'delete O/file'],
           lambda place: text('moved', 'mine\n')(place) and tree('tree')(place) and not (place / 'file').exists()),
    'ln': ('ln -s target O/link; ln -f file O/hard 2> /dev/null || cp file O/hard', [], ['write O/link', 'write O/hard'],
           lambda place: os.readlink(place / 'link') == 'target' and text('hard', 'mine\n')(place)),
    'tar': ('tar xf tree.tar -C O', ['tar'], [r'write O/tree/\*\*'], tree('tree')),
    'rsync': ('rsync -a tree/ O/tree/', ['rsync'], [r'write O/tree/\*\*'], tree('tree')),
    'vim': ('vim -es -u NONE -i NONE -n -c "%s/old/new/" -c wq O/file < /dev/null', ['vim'], ['write O/file~', 'write O/file'],
            text('file', 'new\n')),
    'access': ('for p in O O/file O/old; do test -w $p; done; ! test -w /proc/version; ! test -w /etc/passwd || test $(id -u) = 0; '
               '! test -w O/none; ! test -x O/file; ! test -w .env', [], [], lambda place: True),
    'patch': ('patch -s O/file < change.patch', ['patch'], [r'write O/file\.o\w+', 'write O/file'], text('file', 'new\n')),
    'gcc': ('gcc -o O/program program.c; test "$(O/program)" = "it works"', ['gcc'], ['write O/program'],
            lambda place: stat.S_IMODE((place / 'program').stat().st_mode) & 0o111),
    'make': ('make -s install DESTDIR=O/root', ['make'], [r'write O/root/\*\*'], text('root/usr/share/x/file', 'mine\n')),
    'sqlite': ('sqlite3 O/db "create table t(x); insert into t values (1); begin; insert into t values (41); commit" && '
               'test "$(sqlite3 O/db "select sum(x) from t")" = 42', ['sqlite3'], ['write O/db', 'write O/db-journal'],
               lambda place: not (place / 'db-journal').exists()),
    'git-clone': ('git clone -q repo O/clone; cd O/clone; echo 2 > two; git add two; git -c user.name=n -c user.email=e commit -q -m two; '
                  'git checkout -q -b other; test $(git log --oneline | wc -l) = 2', ['git'], [r'write O/clone/\*\*'], text('clone/two', '2\n')),
    'git-commit': ('cd O/repo; echo 2 > two; git add two; git -c user.name=n -c user.email=e commit -q -m two; test $(git log --oneline | wc -l) = 2',
                   ['git'], [r'write O/repo/\*\*'], text('repo/two', '2\n')),
    'git-config': ('cd repo; git config core.hooksPath /tmp/x; test "$(git config core.hooksPath)" = /tmp/x', ['git'], ['write .*/work/repo/.git/config'],
                   lambda place: 'hooksPath = /tmp/x' in (place.parent / 'work/repo/.git/config').read_text()),
    'pip': ('/usr/bin/python3 -m pip install -q --no-index --no-cache-dir --target O/site ./thing-1.0-py3-none-any.whl; '
            'test "$(PYTHONPATH=O/site /usr/bin/python3 -B -c "import thing")" = "thing works"', ['pip'], [r'write O/site/\*\*'],
            lambda place: (place / 'site/thing.py').exists()),
    'npm': ('npm install -g --offline --no-audit --no-fund --no-update-notifier --silent --cache ./cache --prefix O/node ./package; '
            'test "$(O/node/bin/thing)" = "it works"', ['npm', 'node'], [r'write O/node/\*\*'], lambda place: (place / 'node/bin/thing').is_symlink()),
    'node': ('node work.js O/made', ['node'], [r'write O/made/\*\*'],
             lambda place: len(list((place / 'made').glob('w*'))) == 80 and text('made/two', '12')(place) and text('made/four', '3')(place)),
    'shutil': ('/usr/bin/python3 -I work.py O', [], [r'write O/python/\*\*'],
               lambda place: (place / 'python/made.zip').exists() and not (place / 'python/sub').exists()),
    'rm': ('rm -rf O/old', [], [r'delete O/old/sub/\*\*', 'delete O/old/a', 'delete O/old'], lambda place: not (place / 'old').exists()),
}
WIDE = {'git-commit', 'rm'}  # where the first question is widened to what lies beside it
BOTH = {'cp-a', 'tar', 'rsync', 'git-clone', 'sqlite', 'mv'}  # where it matters who runs it


def work(ward, outside, name):
    script, programs, expected, is_done = PROGRAMS[name]
    needs(*programs)
    furnish(ward, outside)
    ward.file('act.sh', 'set -e\n' + re.sub(r'\bO\b(?=[/ ;]|$)', str(outside), script))
    desk = Terminal(ward, columns=200, rows=50)
    try:
        desk.sendline('GIT_CONFIG_GLOBAL=/dev/null ward run -- bash act.sh')
        wanted = questions(desk, name in WIDE)
        printed = desk.before
        assert desk.last_code() == 0, (printed, wanted)
    finally:
        desk.close(force=True)
    wanted = [want.replace(str(outside), 'O') for want in wanted]
    assert len(wanted) == len(expected) and all(map(re.fullmatch, expected, wanted)), wanted
    attempt, = last_result(ward)['attempts']
    assert [denial for denial in attempt['denials'] if denial['answer'] != 'granted'] == []
    assert is_done(outside)


@pytest.mark.parametrize('name', PROGRAMS)
def test_a_program_is_granted_what_it_does(plain, name):
    outside = plain.place / 'outside'
    outside.mkdir()
    plain.person.own(outside)
    work(plain, outside, name)


@pytest.mark.parametrize('name', sorted(BOTH))
def test_a_program_of_root_is(binary, place, name):
    if os.geteuid() != 0:
        pytest.skip('needs root')
    ward = Ward(binary, Person('root'), place)
    (place / 'outside').mkdir()
    work(ward, place / 'outside', name)
