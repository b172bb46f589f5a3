# SPDX-License-Identifier: Apache-2.0
"""Programs of every day, as root and as a plain user: they work, and nothing is refused to them."""
import shutil

import pytest

from support import PATH


def works(ward, script, *flags, shell='bash', **how):
    """Runs a script that stops at its first failure; nothing may be refused to it."""
    result = ward.result(*flags, '--', shell, '-c', f'set -e\n{script}', **how)
    assert result['exit_code'] == 0, f'exit {result["exit_code"]}\n{result["aggregated_output"][-4000:]}'
    assert result['attempts'][0]['denials'] == [], result['attempts'][0]['denials']
    return result['stdout']


def needs(*programs):
    missing = [program for program in programs if not shutil.which(program, path=PATH)]
    if missing:
        pytest.skip('not installed: ' + ', '.join(missing))


GIT = '''
git init -q -b main . && git config user.name N && git config user.email n@example.org
echo one > a; mkdir d; echo two > d/b; git add -A; git commit -q -m first; git status --porcelain
echo more >> a; git diff --stat > /dev/null; git commit -q -am second
git checkout -q -b side; echo side > s; git add s; git commit -q -m side; git checkout -q main; git merge -q side -m merge
git branch > /dev/null; git stash list; git tag v1; git show --stat HEAD > /dev/null; git clone -q . /tmp/clone
git gc -q; git fsck --no-progress; git rm -q s; git reset -q --hard HEAD; git worktree add -q /tmp/tree side; test -e /tmp/tree/s
git log --format=%s
'''


def test_git(ward):
    ward.allow('git reset', 'git branch', 'git worktree', 'git stash', 'git clean', 'git push', 'git rebase', 'rm')
    assert works(ward, GIT).split() == ['side', 'second', 'first']
    assert (ward.work / '.git' / 'HEAD').stat().st_uid == ward.person.uid


def test_make_and_gcc(ward):
    ward.file('main.c', '#include <stdio.h>\nint f(int);\nint main(void) { printf("%d\\n", f(20)); return 0; }\n')
    ward.file('f.c', 'int f(int x) { return 2 * x + 2; }\n')
    ward.file('Makefile', 'CFLAGS = -O2 -Wall -Werror\nprogram: main.o f.o\n\t$(CC) -o $@ $^\n')
    out = works(ward, 'make -s -j2 && ./program && make -s && rm *.o program && make -s program && ./program')
    assert out == '42\n42\n'


def test_make_that_fails_fails(plain):
    plain.file('Makefile', 'all:\n\tfalse\n')
    assert plain.run('make').code == 2


def test_a_sanitized_program(ward):
    """LeakSanitizer traces its own process: ptrace inside must work."""
    ward.file('good.c', '#include <stdlib.h>\n#include <stdio.h>\nint main(void) { free(malloc(9)); puts("clean"); }\n')
    ward.file('leak.c', '#include <stdlib.h>\nvoid *p; int main(void) { p = malloc(77); p = 0; return 0; }\n')
    out = works(ward, 'gcc -g -fsanitize=address,undefined -o good good.c; gcc -g -fsanitize=address -o leak leak.c; ./good\n'
                '! ./leak 2> report; grep -o "77 byte" report | head -1', env={'ASAN_OPTIONS': 'detect_leaks=1'})
    assert out == 'clean\n77 byte\n'


PYTHON = '''
import concurrent.futures, json, multiprocessing, os, random, socket, sqlite3, ssl, subprocess, sys, tempfile, threading, time
def square(x): return x * x
if __name__ == "__main__":
    print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
    print(subprocess.run("exit 3", shell=True).returncode)
    found = []
    threads = [threading.Thread(target=found.append, args=(i,)) for i in range(50)]
    [t.start() for t in threads]; [t.join() for t in threads]
    print(sorted(found) == list(range(50)))
    with multiprocessing.Pool(4) as pool: print(sum(pool.map(square, range(100))))
    with concurrent.futures.ProcessPoolExecutor(2) as pool: print(sum(pool.map(square, range(10))))
    queue = multiprocessing.Queue(); p = multiprocessing.Process(target=queue.put, args=("queued",)); p.start()
    print(queue.get()); p.join()
    shared = multiprocessing.Value("i", 5); lock = multiprocessing.Lock(); print(shared.value)
    with multiprocessing.Manager() as manager: d = manager.dict(a=1); print(d["a"])
    with tempfile.TemporaryDirectory() as d: open(d + "/f", "w").write("x"); print(os.listdir(d))
    with tempfile.NamedTemporaryFile() as f: f.write(b"x"); print(f.name.startswith("/tmp/"))
    db = sqlite3.connect("test.db"); db.execute("pragma journal_mode=wal"); db.execute("create table t(x)")
    db.execute("insert into t values (1)"); db.commit(); print(db.execute("select count(*) from t").fetchone()[0])
    print(os.cpu_count() >= 1, len(os.urandom(4)), time.time() > 0)
'''


def test_python(ward):
    ward.file('program.py', PYTHON)
    out = works(ward, '/usr/bin/python3 program.py')
    assert out.splitlines() == ['child', '3', 'True', '328350', '285', 'queued', '5', '1', "['f']", 'True', '1', 'True 4 True']


def test_python_environments(plain):
    out = works(plain, 'python=/usr/bin/python3; $python -c "import ensurepip" 2> /dev/null || flag=--without-pip\n'
                '$python -m venv $flag env && env/bin/python -c "import sys; print(sys.prefix != sys.base_prefix)"\n'
                'test ! -x env/bin/pip || env/bin/pip --version > /dev/null')
    assert out == 'True\n'


NODE = '''
const { execFileSync, spawn } = require("child_process"), http = require("http"), fs = require("fs"), os = require("os");
const { Worker } = require("worker_threads");
console.log(execFileSync("echo", ["from a child"]).toString().trim());
fs.mkdirSync("made"); fs.writeFileSync("made/file", "x"); fs.renameSync("made/file", "made/other");
console.log(fs.readdirSync("made").join());
const child = spawn("sh", ["-c", "read x; echo got $x"]); child.stdin.end("input\\n");
child.stdout.on("data", d => console.log(d.toString().trim()));
child.on("close", () => {
  const server = http.createServer((q, r) => r.end("hello " + q.url)).listen(0, "127.0.0.1", () =>
    http.get({ port: server.address().port, host: "localhost", family: 4, path: "/x" }, r => {
      let text = ""; r.on("data", d => text += d).on("end", () => { console.log(text); server.close();
        new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", { eval: true }).on("message", m => {
          console.log(m); fs.watch(".", () => {}).close();
          console.log(fs.mkdtempSync(os.tmpdir() + "/n-").startsWith("/tmp/n-")); }); }); }));
});
'''


def test_node(ward):
    needs('node')
    ward.file('program.js', NODE)
    assert works(ward, 'node program.js').splitlines() == ['from a child', 'other', 'got input', 'hello /x', '42', 'true']


def test_npm(ward):
    needs('npm')
    result = ward.result('--', 'npm', '--version')
    assert result['exit_code'] == 0 and result['stdout'].strip()[0].isdigit(), result


BASH = r'''
cat <<END
here $((1 + 1))
END
cat <<'END'
literal $x
END
cat <<< "string"
diff <(echo a) <(echo a) && echo same
tee >(cat > copy) <<< "both" > /dev/null; sleep 0.3; cat copy
coproc C { while read x; do echo "co-$x"; done; }
echo hi >&${C[1]}; read -u ${C[0]} y; echo $y; end=${C[1]}; exec {end}>&-; wait
for i in {1..3}; do echo -n $i; done; echo
f() { local x=$1; (( x <= 1 )) && echo 1 || echo $(( x * $(f $((x - 1))) )); }; f 5
trap 'echo trapped' EXIT
a=(x y z); echo ${#a[@]} ${a[-1]}
echo a b c | while read x y; do echo "$y"; done
[[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}
printf '%s\n' *.none | wc -l
sleep 0.01 & wait $!; echo waited $?
exec 5> five; echo to-five >&5; exec 5>&-; cat five
mapfile -t lines < <(seq 3); echo ${#lines[@]}
'''


def test_bash(ward):
    assert works(ward, BASH).splitlines() == [
        'here 2', 'literal $x', 'string', 'same', 'both', 'co-hi', '123', '120', '3 z', 'b c', 'c', '1', 'waited 0', 'to-five', '3',
        'trapped']


ARCHIVES = '''
mkdir -p t/a/b; for i in $(seq 100); do echo $i > t/a/b/f$i; done; ln -s f1 t/a/b/link; chmod 750 t/a
tar czf t.tgz t && rm -r t && tar xzf t.tgz && find t -type f | wc -l && readlink t/a/b/link && stat -c %a t/a
find t -name "f1*" -print0 | xargs -0 -P4 -n3 cat | sort -n | tail -1; grep -rlx 42 t; find t -name f7 -delete; ls t/a/b | wc -l
cp -a t u && diff -r t u && echo equal; mv u v; rm -rf v; du -s t > /dev/null; sort -R t/a/b/f9; split -n 2 t.tgz; cat x?? | cmp - t.tgz
'''


def test_archives_and_searching(ward):
    ward.allow('rm', 'find')
    assert works(ward, ARCHIVES).split() == ['100', 'f1', '750', '100', 't/a/b/f42', '100', 'equal', '9']


def test_sqlite(ward):
    needs('sqlite3')
    assert works(ward, 'sqlite3 d.db "create table t(x); insert into t values (1), (2); select sum(x) from t"') == '3\n'


def test_tracing_of_its_own_children(ward):
    out = works(ward, 'strace -f -o trace -e trace=openat,execve sh -c "cat /etc/hostname > /dev/null; :"; grep -c execve trace')
    assert int(out) >= 2


def test_debugging_of_its_own_children(ward):
    needs('gdb')
    ward.file('d.c', '#include <stdio.h>\nint answer(int x) { return x * 2; }\nint main(void) { printf("%d\\n", answer(21)); return 0; }\n')
    out = works(ward, 'gcc -g -O0 -o d d.c; gdb -nx -batch -ex "break answer" -ex run -ex "print x" -ex bt -ex continue ./d 2>&1',
                env={'PYTHONDONTWRITEBYTECODE': '1'})
    assert '$1 = 21' in out and '#1 ' in out and '\n42\n' in out, out


def test_a_thousand_forks(ward):
    script = 'i=0; while [ $i -lt 1000 ]; do /bin/true & i=$((i+1)); if [ $((i % 50)) -eq 0 ]; then wait; fi; done; wait; echo $i'
    assert works(ward, script, shell='sh') == '1000\n'


def test_many_files(plain):
    plain.file('../program.py', 'import os\nfor i in range(2000): open(f"f{i}", "w").close()\n'
               'for i in range(2000): os.rename(f"f{i}", f"g{i}")\nfor i in range(2000): os.unlink(f"g{i}")\nprint(len(os.listdir()))\n')
    assert works(plain, '/usr/bin/python3 ../program.py') == '0\n'


def test_editors_and_viewers_without_a_terminal(plain):
    plain.file('text', 'one\n')
    assert works(plain, 'vi -es -c "%s/one/two/" -c wq text; cat text; ls --color=always > /dev/null; less text | cat') == 'two\ntwo\n'


def test_access_tells_the_truth(ward):
    """Programs look first and fall back by themselves; gcc is one of them."""
    script = 'for p in . /tmp /usr /etc/passwd /var/tmp; do test -w $p && echo yes $p || echo no $p; done'
    assert ward.sh(script).out.splitlines() == ['yes .', 'yes /tmp', 'no /usr', 'no /etc/passwd', 'no /var/tmp']


def test_time_and_users_are_there(ward):
    out = works(ward, 'date +%Y; TZ=UTC date +%Z; getent passwd $(id -u) | cut -d: -f1; hostname > /dev/null; nproc > /dev/null; '
                'uptime > /dev/null; locale > /dev/null')
    assert out.split()[1:] == ['UTC', ward.person.name]


def test_shared_memory_and_semaphores(plain):
    script = ('import multiprocessing.shared_memory as m, multiprocessing as mp, mmap\ns = m.SharedMemory(create=True, size=1000)\n'
              's.buf[0] = 7; t = m.SharedMemory(s.name); print(t.buf[0]); t.close(); s.close(); s.unlink()\n'
              'print(mp.Semaphore(2).acquire())\n'
              'f = open("mapped", "w+b"); f.truncate(4096); x = mmap.mmap(f.fileno(), 4096); x[:2] = b"ok"; x.flush()\n'
              'print(open("mapped", "rb").read(2))')
    result = plain.result('--', '/usr/bin/python3', '-c', script)
    assert result['stdout'] == "7\nTrue\nb'ok'\n", result['stderr']
    assert result['attempts'][0]['denials'] == []


def test_locks_between_processes(plain):
    script = 'for i in $(seq 40); do (flock 9; x=$(cat n 2>/dev/null || echo 0); echo $((x + 1)) > n) 9> lock & done; wait; cat n'
    assert works(plain, script) == '40\n'


def test_two_runs_share_a_workspace(ward):
    wait = 'for i in $(seq 600); do [ -e {0} ] && break; sleep 0.05; done; cat {0}'
    first = ward.popen('run', '--', 'sh', '-c', 'echo one > shared.new; mv shared.new shared; ' + wait.format('answer'))
    assert ward.sh(wait.format('shared') + '; echo two > answer.new; mv answer.new answer').out == 'one\n'
    assert ward.finish(first).out == 'two\n'


def test_ward_runs_inside_ward_and_says_what_is_lost(ward):
    done = ward.run(ward.binary, 'run', '--', 'true')
    assert done.code == 0 and 'ward: fewer walls stand here: ' in done.err, done
    assert ward.verify().code == 0


def test_an_archive_with_other_owners_is_unpacked(ward):
    """Root has no powers inside, and tar does not know."""
    script = 'echo x > f && tar cf t.tar --owner=4321 --group=4321 f && rm f && tar xf t.tar && cat f && test -O f'
    assert works(ward, script) == 'x\n'
    assert ward.run('printenv', 'TAR_OPTIONS', env={'TAR_OPTIONS': '--verbose'}).out == '--verbose\n'
