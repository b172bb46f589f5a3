# SPDX-License-Identifier: Apache-2.0
"""Shell text taken apart, held against what bash makes of it. Each script stands with the names of its commands, written by hand;
bash itself confirms that it is valid. What an agent writes every day must be read to the end, what is made to mislead must
never lose a command without saying that the plan is opaque."""
import json
import random
import resource
import subprocess

import pytest

# Names of the commands (argv[0], in any order; a function's definition is `function`), and the script.
EVERYDAY = [
    ('ls', 'ls -la'),
    ('cd make', 'cd src && make -j4'),
    ('git head', 'git status | head -3'),
    ('git git git', 'git add -A && git commit -m "fix: it works" && git log -1'),
    ('npm npm', 'npm ci && npm test'),
    ('make echo', 'make || echo "failed"'),
    ('grep grep', 'grep -rn "foo bar" src | grep -v test'),
    ('find xargs', "find . -name '*.c' | xargs grep -l main"),
    ('find xargs', 'find . -type f -print0 | xargs -0 wc -l'),
    ('find grep', r"find . -name '*.py' -exec grep -l foo {} \;"),
    ('find rm', r"find . -name '*.o' -exec rm {} +"),
    ('sed', "sed -i 's/foo/bar/g' src/a.c"),
    ('sed', 'sed -n "10,20p" file.txt'),
    ('awk', "awk '{ print $1, $NF }' file"),
    ('awk sort uniq sort', "awk -F: '{print $1}' /etc/passwd | sort | uniq -c | sort -rn"),
    ('cat', 'cat > out.txt <<EOF\nhello\nworld\nEOF'),
    ('cat', "cat > out.sh <<'EOF'\n#!/bin/sh\nrm -rf $x\necho $(date)\nEOF"),
    ('cat chmod', "cat > run.sh <<'EOF'\necho hi\nEOF\nchmod +x run.sh"),
    ('cat date', 'cat <<EOF\nnow: $(date)\nEOF'),
    ('cat grep', 'cat <<EOF | grep a\na\nb\nEOF'),
    ('python3', "python3 - <<'PY'\nimport os\nprint(os.getcwd())\nPY"),
    ('python3', 'python3 -c "import sys; print(sys.version)"'),
    ('node', "node -e 'console.log(process.version)'"),
    ('echo', 'echo "$HOME" > /dev/null 2>&1'),
    ('echo gcc', 'for f in *.c; do echo "$f"; gcc -c "$f"; done'),
    ('seq echo', 'for i in $(seq 1 10); do echo $i; done'),
    ('echo', 'for ((i=0; i<3; i++)); do echo $i; done'),
    ('read echo', 'while read -r line; do echo "$line"; done < file'),
    ('git read echo', 'git ls-files | while IFS= read -r f; do echo "$f"; done'),
    ('sleep curl', 'until curl -s localhost:3000; do sleep 1; done'),
    ('[ cat', 'if [ -f x ]; then cat x; fi'),
    ('[ cat echo', 'if [ -f x ]; then\n  cat x\nelse\n  echo none\nfi'),
    ('[[ mkdir', '[[ -d build ]] || mkdir build'),
    ('[[ echo', 'if [[ "$a" == "b" && -n $c ]]; then echo ok; fi'),
    ('[[ echo', '[[ $x =~ ^[0-9]+$ ]] && echo number'),
    ('test echo', 'test -z "$x" && echo empty'),
    ('echo echo', 'case "$1" in\n  start) echo a ;;\n  stop|halt) echo b ;;\nesac'),
    ('git echo', 'v=$(git rev-parse HEAD); echo "$v"'),
    ('git', 'X=$(git rev-parse --show-toplevel)'),
    ('dirname cd pwd cd', 'DIR="$(cd "$(dirname "$0")" && pwd)"; cd "$DIR"'),
    ('diff sort sort', 'diff <(sort a) <(sort b)'),
    ('export make', 'export CC=clang; make'),
    ('make', 'CC=clang CFLAGS="-O2 -g" make all'),
    ('set cd make', 'set -euo pipefail\ncd x\nmake'),
    ('function echo f echo', 'f() { echo "$1"; }\nf a'),
    ('function echo g', 'function g { echo hi; }; g'),
    ('function local echo main', 'main() {\n  local x=1\n  echo $x\n}\nmain "$@"'),
    ('pushd make popd', 'pushd sub >/dev/null; make; popd >/dev/null'),
    ('tar tar', 'tar czf - src | tar xzf - -C /tmp'),
    ('node sleep curl kill', 'node server.js & pid=$!; sleep 1; curl -s localhost:3000; kill $pid'),
    ('wait', 'wait'),
    ('trap mktemp rm', "tmp=$(mktemp -d); trap 'rm -rf \"$tmp\"' EXIT"),
    ('docker npm', 'docker run --rm -v "$PWD":/w -w /w node:20 npm test'),
    ('curl jq', 'curl -s https://example.com/api | jq -r ".items[].name"'),
    ('curl', "curl -s -X POST -H 'Content-Type: application/json' -d '{\"a\": 1}' http://localhost/"),
    ('pip python', 'pip install -r requirements.txt && python -m pytest -q'),
    ('. pip', '. .venv/bin/activate && pip install -e .'),
    ('source make', 'source env.sh; make'),
    ('cargo tail', 'cargo test 2>&1 | tail -20'),
    ('go', 'go test ./... -run "TestFoo|TestBar" -count=1'),
    ('mkdir cp mv', 'mkdir -p a/{b,c} && cp -r x/. a/b && mv y a/c'),
    ('printf', "printf '%s\\n' a b c > list"),
    ('echo', 'echo -e "a\\tb"'),
    ('echo', "echo 'it'\\''s'"),
    ('echo', 'echo "a \\"quoted\\" word"'),
    ('echo', 'echo $((1 + 2 * 3))'),
    ('echo', 'echo ${x:-default} ${y%.c} ${#z} ${a[0]} "${b[@]}"'),
    ('echo', 'echo {1..5} *.txt ~/x'),
    ('true false', 'true && ! false'),
    ('a b c', '{ a; b; } && (c)'),
    ('a b', '(a && b) > out 2>&1'),
    ('a b c d', 'a | b | c && d'),
    ('a b', 'a &\nb'),
    ('a b', 'a # comment; x\nb'),
    ('a', '# only\na'),
    ('a', 'a \\\n  --flag \\\n  --other'),
    ('a b c', 'a;b;c'),
    ('command if', 'command true && \\if'),
    ('ls', 'ls;'),
    ('make', 'time make -j4'),
    ('env', 'env FOO=bar make test'),
    ('timeout', 'timeout 60 make test'),
    ('sudo', 'sudo -E apt-get update'),
    ('nohup', 'nohup node x.js > log 2>&1 &'),
    ('bash make make', "bash -c 'make && make test'"),
    ('sh echo', 'sh -c "echo hi"'),
    ('bash npm', "bash -lc 'npm test'"),
    ('env ls', "env A=1 bash -c 'ls'"),
    ('xargs echo', "xargs -I{} sh -c 'echo {}' < list"),
    ('eval echo', "eval 'echo hi'"),
    ('exec node', 'exec 3>&1; node x.js >&3'),
    ('tee', 'tee log.txt < in.txt'),
    ('jq', "jq '.a | .b' file.json"),
    ('git', "git log --format='%h %s' --since='2 days ago'"),
    ('git git', 'git commit -m "$(git log -1 --format=%s)"'),
    ('git cat', "git commit -m \"$(cat <<'EOF'\nfix: a thing\n\nbody\nEOF\n)\""),
    ('ls wc', 'n=$(ls | wc -l)'),
    ('unset export', 'unset FOO; export BAR'),
    ('declare echo', 'declare -A m=([a]=1 [b]=2); echo "${m[a]}"'),
    ('local', 'local x="$1"'),
    ('read', 'read -r a b <<< "x y"'),
    ('mapfile ls', 'mapfile -t files < <(ls)'),
    ('shopt', 'shopt -s nullglob'),
    ('a', 'a 2>/dev/null'),
    ('a', 'a >out 2>&1 </dev/null'),
    ('a', 'a &> out'),
    ('a b', 'a |& b'),
    ('a', 'a >> log'),
    ('cat', 'cat <<-EOF\n\thi\n\tEOF'),
    ('a b', 'if a; then b; fi'),
    ('a b c d e', 'if a; then b; elif c; then d; else e; fi'),
    ('a b', 'while a; do b; done'),
    ('a break b', 'for x in 1 2; do a || break; b; done'),
    ('echo', 'arr=(a b c); echo "${arr[@]}"'),
    ('ls', 'FOO= ls'),
    ('[ exit', '[ $# -eq 0 ] && exit 1'),
    ('echo exit', 'echo "usage: $0" >&2; exit 1'),
    ('command echo', 'command -v node >/dev/null || echo missing'),
    ('ps grep awk', "ps aux | grep '[n]ode' | awk '{print $2}'"),
    ('ssh ls', 'ssh host ls'),
    ('make', 'make VAR="a b" target'),
    ('a', "a 'multi\nline'"),
    ('a', 'a "$(<file)"'),
    ('cut', "cut -d' ' -f1 < x"),
    ('kubectl', "kubectl get pods -o jsonpath='{.items[*].metadata.name}'"),
    ('python3', "python3 - <<EOF\nprint(1)\nEOF"),
    ('sort', 'sort -u a b > c'),
    ('test', 'test "$a" = "b"'),
    ('dd', 'dd if=/dev/zero of=x bs=1M count=1'),
    ('curl', "curl 'http://x/?a=1&b=2'"),
    ('echo', 'echo a=b c==d'),
    ('echo', 'echo !'),
    ('npx', 'npx --yes prettier --check "src/**/*.ts"'),
    ('yes head', 'yes | head -5'),
    ('bc echo', 'x=$(echo "1+2" | bc)'),
    ('ls', 'ls -- *'),
    ('rg', "rg -n 'foo\\(' -g '*.ts'"),
]

# Valid to bash, and read differently by one reader or the other. Every name must be in the plan, or the plan is opaque; here both.
TRAPS = [
    ('rm', 'r\\\nm -rf x'),
    ('rm ls', 'ls; r""m -rf x'),
    ('a', 'time { a; }'),
    ('a b', 'time -p { a; b; }'),
    ('a', 'coproc X { a; }'),
    ('a', 'coproc a b'),
    ('a b', 'a `b \\`echo c\\``'),
    ('echo rm', 'echo `echo \\`rm x\\``'),
    ('cat rm', 'cat <<A | rm x\nq\nA'),
    ('a b rm', 'a | b | rm x <<A\nq\nA'),
    ('cat rm', 'cat <<A && rm x\nq\nA'),
    ('cat rm', 'cat <<A; rm x\nq\nA'),
    ('cat rm', 'cat <<A\n$(rm x)\nA'),
    ('cat rm', 'cat <<A\n`rm x`\nA'),
    ('cat rm', 'cat <<"A"\n$(no)\nA\nrm x'),
    ('cat rm', 'cat <<\\A\n$(no)\nA\nrm x'),
    ('a b rm', 'a <<A <<B; b\n1\nA\n2\nB\nrm x'),
    ('cat rm', 'cat <<A\nx\n A\nA\nrm x'),
    ('cat rm', 'cat <<-A\n\tx\n\tA\nrm x'),
    ('echo rm', 'echo ${x:-$(rm y)}'),
    ('echo rm', 'echo "${x:-`rm y`}"'),
    ('echo rm', 'echo $((1 + $(rm x)))'),
    ('echo rm', 'echo "a$(rm x)b"'),
    ('echo rm', 'echo $(rm x # )\n)'),
    ('rm', 'x=$(rm y)'),
    ('rm', 'x[$(rm y)]=1'),
    ('rm', 'x=(1 $(rm y))'),
    ('declare rm', 'declare x=$(rm y)'),
    ('a rm', 'a > $(rm x)'),
    ('a rm', 'a < <(rm x)'),
    ('a rm', 'a <<< "$(rm x)"'),
    ('[[ rm', '[[ $(rm x) == y ]]'),
    ('[ rm', '[ "$(rm x)" = y ]'),
    ('rm', '(( $(rm x) ))'),
    ('rm a', 'for i in $(rm x); do a; done'),
    ('rm a', 'case $(rm x) in *) a;; esac'),
    ('a rm', 'case x in $(rm x)) a;; esac'),
    ('function rm', 'f() { rm x; }'),
    ('function rm', 'function f() ( rm x )'),
    ('function rm a', 'f() { rm x; } > y; a'),
    ('rm', 'rm x\r'),
    ('rm', 'rm\t-rf\tx'),
    ('a rm', 'a\n\n\nrm x'),
    ('a rm', 'a;\\\nrm x'),
    ('a rm', 'a &\\\n& rm x'),
    ('rm', '! rm x'),
    ('rm', '{ rm x; }'),
    ('rm', '( ( rm x ) )'),
    ('rm', '\\rm x'),
    ('rm', '"rm" x'),
    ('rm', "$'rm' x"),
    ('rm', "$'\\x72m' x"),
    ('rm', 'A=1 B=2 rm x'),
    ('rm', '>out rm x'),
    ('rm', '2>&1 rm x'),
    ('rm', 'rm >out x <in y'),
    ('a rm', 'a "b\\\nc"; rm x'),
    ('a rm', "a 'b\\'; rm x"),
    ('a rm', 'a "b\\\\"; rm x'),
    ('a rm', 'a #b\nrm x'),
    ('a rm', 'a b#c; rm x'),
    ('a rm', "a $'it\\'s'; rm x"),
    ('a rm', 'a "${x#"y"}"; rm x'),
    ('a rm', 'a ${x//\\//_}; rm x'),
    ('a rm', "a ${x:-'}'}; rm x"),
    ('a rm', 'a $#; rm x'),
    ('a rm', 'a ${#x}; rm x'),
    ('eval rm', "eval 'rm x'"),
    ('eval x\\', 'eval x\\\\'),
    ('a time', 'a | time -o out rm x'),
    ('a rm', 'a || time rm x'),
    ('a time', 'a |& time rm x'),
    ('bash rm', "bash <<< 'rm x'"),
    ('sh rm', 'sh <<E\nrm x\nE'),
    ('sudo rm', "sudo sh -c 'rm x'"),
    ('xargs rm', "xargs sh -c 'rm x'"),
    ('find sh rm', r"find . -exec sh -c 'rm x' \;"),
    ('find rm ls', r'find . -exec rm {} \; -exec ls {} \;'),
    ('ssh rm', "ssh -p 22 u@h 'rm x'"),
    ('watch rm', "watch -n 1 'rm x'"),
    ('trap rm', "trap 'rm x' EXIT"),
    ('su rm', "su - u -c 'rm x'"),
    ('echo sh rm', "echo 'rm x' | sh"),
    ('printf bash rm', "printf 'rm x\\n' | bash"),
    ('rm', 'select x in a; do rm x; done'),
    ('rm :', 'while rm x; do :; done'),
    ('a b rm', 'a <(b) && rm x'),
    ('a b rm', 'a >(b) ; rm x'),
    ('a rm', 'a {fd}>x; rm x'),
    ('a rm', 'a 1<>x; rm x'),
    ('[[ rm', '[[ a < b ]]; rm x'),
    ('[[ rm', '[[ a =~ (b|c) ]]; rm x'),
    ('[[ rm', '[[ ! ( -f a || -d b ) ]] && rm x'),
    ('rm', '((a < 3 && b > 2)) || rm x'),
    ('rm', 'a=1; rm x'),
    ('let rm', 'let x=1+2; rm x'),
    ('printf rm', 'printf "%s" "$(rm x)"'),
]

# Not valid, or beyond what is understood: the plan must say that it is opaque.
OPAQUE = ['a "b', "a 'b", 'a $(b', 'a `b', '(a', 'a)', 'a ;; b', 'if a; then b', 'a | ', 'a >', '$x', '"$x" y', '$(a) b', 'a() ', '{ a', 'case x in',
          'sh -c "$x"', 'eval "$x"', 'ls | sh', 'a b(c)', '${ a; }', 'for', 'while a; do b', '[[ a', 'a <<E\n$(\nE']


def check(ward, scripts):
    lines = ''.join(json.dumps({'command': script}) + '\n' for script in scripts)
    done = ward.finish(ward.popen('check', '--batch', stdin=subprocess.PIPE), lines.encode())
    assert done.code == 0, done
    objects = [json.loads(line) for line in done.out.splitlines()]
    assert len(objects) == len(scripts)
    return objects


def names(checked):
    return sorted(command['argv'][0] for command in checked['commands'] if command['argv'])


def is_valid(script):
    return subprocess.run(['bash', '-O', 'extglob', '-n', '-c', script], capture_output=True).returncode == 0


def test_everyday_scripts_are_read_to_the_end(plain):
    wrong = []
    for (expected, script), got in zip(EVERYDAY, check(plain, [script for _, script in EVERYDAY])):
        assert is_valid(script), script
        if names(got) != sorted(expected.split()) or (got['opaque'] and 'ssh' not in expected.split()):
            wrong.append((script, names(got), got['opaque'], got['risk']['reasons']))
    assert not wrong, '\n'.join(map(str, wrong))


def test_traps_never_hide_a_command(plain):
    wrong = []
    for (expected, script), got in zip(TRAPS, check(plain, [script for _, script in TRAPS])):
        assert is_valid(script), script
        left = names(got)
        missing = [name for name in expected.split() if name not in left or left.remove(name)]
        if missing or (left and not got['opaque']):
            wrong.append((script, names(got), got['opaque'], got['risk']['reasons']))
    assert not wrong, '\n'.join(map(str, wrong))


def test_what_cannot_be_read_is_opaque(plain):
    for script, got in zip(OPAQUE, check(plain, OPAQUE)):
        assert got['opaque'], (script, got)
        assert any('could be read' in reason for reason in got['risk']['reasons']), (script, got)


def test_there_are_enough_scripts():
    assert len(EVERYDAY) + len(TRAPS) >= 150


# Pieces of shell text that, joined at random, are often valid and rarely what they look like.
PIECES = [*(f'c{n}' for n in range(8)), *(f'c{n} ' for n in range(8)), *' ;\n\t\r"\'`\\$#!*~^+-/,.?:=', ' ', '\n', '&&', '||', '|', '|&', '&', '(', ')', '{ ', '; }',
          '\\`', '\\\n', '$(', '$((', '))', '((', '${x:-', '}', '${x#', '$x', '"$x"', '<(', '>(', '>o', '2>&1', '<<E\n', '\nE\n', "<<'E'\n", '<<-E\n', '<<<',
          'if ', '; then ', '; fi', 'while ', '; do ', '; done', 'for i in 1; do ', 'case x in x) ', ';; esac', 'f() { ', 'function f { ', 'time ', '! ', 'coproc ', '[[ ',
          ' ]]', '[ ', ' ]', '=~', 'a=', 'a=(', 'eval ', "eval '", 'echo ', "$'", '{a,b}', 'export ', 'declare ', 'exec ', '"$(', '"`', '$"', '\\"', '{fd}>o', '<<E <<F\n', '\nF\n']
SHAPES = ['{0}', '{0}', 'if {0}; then {1}; fi', '{0} | {1}', 'c1 <<E\n{0}\nE\n{1}', '$({0})', '`{0}`', 'f() {{ {0}; }}; f', '( {0} )', '{{ {0}; }}', 'case x in x) {0};; esac',
          "eval '{0}'", 'c1 "{0}"', 'c1 ${{x:-{0}}}', '[[ {0} ]]', 'for i in {0}; do {1}; done', '{0}\n{1}', 'c1 <({0})', 'time {0}', '! {0}', 'x={0} c1', 'c1 <<< {0}', 'c1 >{0} c2']


def made_up(chance, depth=0):
    if depth > 2 or chance.random() < .35:
        return ''.join(chance.choice(PIECES) for _ in range(chance.randint(1, 9)))
    return chance.choice(SHAPES).format(made_up(chance, depth + 1), made_up(chance, depth + 1))


@pytest.mark.soak
@pytest.mark.parametrize('seed', range(4))
def test_what_bash_runs_is_in_the_plan(plain, seed):
    """bash runs made-up scripts in which no program exists and says what it would have started."""
    chance = random.Random(seed)
    scripts = []
    while len(scripts) < 500:
        script = made_up(chance)
        if is_valid(script):
            scripts.append(script)
    start = plain.file('start', 'command_not_found_handle() { builtin printf "%s\\0" "$1" >> "$LOG"; return $((RANDOM % 2)); }\nulimit -f 1000 -t 2\n')

    def few_processes():
        resource.setrlimit(resource.RLIMIT_NPROC, (200, 200))
        plain.person.become()

    for number, (script, got) in enumerate(zip(scripts, check(plain, scripts))):
        if got['opaque']:
            continue
        log = plain.file(f'log{number}')
        try:
            subprocess.run(['/bin/bash', '-c', script], cwd=plain.work, preexec_fn=few_processes, start_new_session=True, timeout=20,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={'PATH': '/nonexistent', 'BASH_ENV': str(start), 'FUNCNEST': '4', 'LOG': str(log), 'LC_ALL': 'C.UTF-8'})
        except subprocess.TimeoutExpired:
            pass
        planned = {word for command in got['commands'] for word in (command['argv'] if command['wrappers'] else command['argv'][:1])}
        ran = {name.decode(errors='replace') for name in log.read_bytes().split(b'\0') if name}
        assert ran <= planned, (script, ran - planned, planned)
