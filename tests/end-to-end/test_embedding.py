# SPDX-License-Identifier: Apache-2.0
"""libward: its examples against an installed copy, and programs that embed it under the thread sanitizer, or the others."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import jsonschema
import pytest

from support import PATIENCE, SCHEMA, SOURCE, all_gone, marker, processes, wait_until

BUILD = pathlib.Path(os.environ.get('WARD') or SOURCE / 'build' / 'ward').resolve().parent
EXAMPLES = SOURCE / 'examples'
ASKS = 'rules: [{command: "printf **", do: ask, why: the test}]\n'
CASES = re.findall(r'^\tCASE\((\w+)\),$', (SOURCE / 'tests' / 'embed' / 'cases.c').read_text(), re.M)
SANITIZED = '-asan' in BUILD.name
COMPILE = ['gcc', '-Wall', '-Wextra', '-Werror', '-g'] + (['-fsanitize=address,undefined'] if SANITIZED else [])


def shell(*words, **how):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, **how)
    assert done.returncode == 0, f'{words}: {done.stdout}{done.stderr}'
    return done.stdout


class Installed:
    """A copy of what is installed, below a directory that is not its prefix."""

    def __init__(self, directory):
        self.directory = directory
        shell('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', directory)
        self.pc, = directory.rglob('ward.pc')
        self.library = self.pc.parents[1]
        self.prefix = pathlib.Path(self.variable('prefix'))
        self.program = directory / self.variable('program').lstrip('/')

    def pkg_config(self, *words):
        return shell('pkg-config', *words, 'ward', env={**os.environ, 'PKG_CONFIG_PATH': str(self.pc.parent)})

    def variable(self, name):
        return self.pkg_config(f'--variable={name}').strip()

    def flags(self, *words):
        here = self.directory / str(self.prefix).lstrip('/')
        return self.pkg_config(f'--define-variable=prefix={here}', '--cflags', '--libs', *words).split()

    def compile(self, name, *more):
        shell(*COMPILE, EXAMPLES / f'{name}.c', '-o', self.directory / name, *self.flags(), '-pthread', *more)


@pytest.fixture(scope='session')
def installed(top):
    directory = top / 'installed'
    directory.mkdir()
    made = Installed(directory)
    for name in ('run', 'later'):
        made.compile(name)
    shutil.copytree(EXAMPLES, directory / 'examples')
    for name in ('cases', 'stress'):
        shutil.copy(BUILD / f'embed-{name}', directory / name)
    shell('chmod', '-R', 'a+rX', directory)
    return made


def env(installed):
    return {'LD_LIBRARY_PATH': str(installed.library), 'TSAN_OPTIONS': 'exitcode=66:halt_on_error=1:second_deadlock_stack=1'}


def python_env(installed):
    """Python is not sanitized itself, and leaks as it likes. What it starts is, and must not be it twice."""
    (installed.directory / 'sitecustomize.py').write_text("import os\nos.environ.pop('LD_PRELOAD', None)\n")
    preload = {'LD_PRELOAD': shell('gcc', '-print-file-name=libasan.so').strip(), 'ASAN_OPTIONS': 'detect_leaks=0',
               'PYTHONPATH': str(installed.directory)}
    return {**env(installed), **(preload if SANITIZED else {})}


def start(ward, installed, name, *words, **how):
    return ward.popen(*words, program=str(installed.directory / name), env=env(installed), **how)


def call(ward, installed, name, *words, input=None, **how):
    if input is not None:
        how['stdin'] = subprocess.PIPE
    return ward.finish(start(ward, installed, name, *words, **how), input)


def test_it_is_complete_and_names_itself(installed):
    library = installed.library / 'libward.so.0'
    header = (installed.directory / str(installed.prefix).lstrip('/') / 'include' / 'ward' / 'ward.h').read_text()
    assert header == (SOURCE / 'include' / 'ward' / 'ward.h').read_text()
    assert 'Library soname: [libward.so.0]' in shell('readelf', '-d', library)
    assert installed.variable('program') == str(installed.prefix / 'bin' / 'ward')
    assert installed.variable('program').encode() in library.read_bytes()
    assert installed.pkg_config('--modversion').strip() == shell(installed.program, '--version').split()[1]
    assert '-ljansson' in installed.pkg_config('--static', '--libs')


def test_it_needs_nothing_but_c_and_jansson(installed):
    needed = re.findall(r'NEEDED.*\[(.*)\]', shell('readelf', '-d', installed.library / 'libward.so.0'))
    assert {name.split('.so')[0] for name in needed} - {'libasan', 'libubsan'} == {'libc', 'libjansson'}


def test_only_public_names_can_be_seen(installed):
    declared = set(re.findall(r'^WARD_PUBLIC [^;(]*?(ward_\w+)\(', (SOURCE / 'include' / 'ward' / 'ward.h').read_text(), re.M))
    shared = shell('nm', '-D', '--defined-only', installed.library / 'libward.so.0').split('\n')
    versioned = {line.split()[-1] for line in shared if line and ' A ' not in line}
    assert versioned == {f'{name}@@WARD_0.1' for name in declared}
    static = shell('nm', '-g', '--defined-only', installed.library / 'libward.a').split('\n')
    seen = {line.split()[-1] for line in static if len(line.split()) == 3}
    assert {name for name in seen if not name.startswith('__')} == declared


def test_the_header_stands_alone_in_c_and_cpp(installed, place):
    for compiler, standard, name in (('gcc', 'c99', 'a.c'), ('gcc', 'c17', 'a.c'), ('g++', 'c++11', 'a.cc'), ('g++', 'c++20', 'a.cc')):
        (place / name).write_text('#include <ward/ward.h>\nint main(void) { return !ward_version(); }\n')
        sanitizer = ['-fsanitize=address,undefined'] if SANITIZED else []
        shell(compiler, f'-std={standard}', '-Wall', '-Wextra', '-pedantic-errors', *sanitizer, place / name, '-o', place / 'a', *installed.flags())
        shell(place / 'a', env={**os.environ, 'LD_LIBRARY_PATH': str(installed.library)})


def test_the_story_in_the_header_is_a_program(installed, plain):
    """As it is, but for the workspace and the program."""
    text = (SOURCE / 'include' / 'ward' / 'ward.h').read_text()
    story = re.search(r'(\n \*\tstatic int answer.*?\n \*\t})\n \*\n \* A handle', text, re.S).group(1)
    story = re.sub(r'\n \*\t?', '\n', story).replace('/home/me/project', str(plain.work))
    story = story.replace('ward *ward = ', f'int set = ward_set_program("{installed.program}", NULL);\n\t(void)run, (void)set;\n\tward *ward = ', 1)
    source = plain.file('story.c', '#include <stdio.h>\n#include <ward/ward.h>\n' + story)
    shell(*(word for word in COMPILE if word != '-Wextra'), source, '-o', plain.work / 'story', *installed.flags())
    plain.file('Makefile', 'test:\n\t@echo tested\n')
    done = plain.finish(plain.popen(program=str(plain.work / 'story'), env=env(installed)))
    assert done.code == 0 and done.out == 'tested\n', done


def test_the_example_runs_a_command(ward, installed):
    done = call(ward, installed, 'run', '--program', installed.program, 'sh', '-c', 'echo out; echo err >&2; exit 7')
    assert (done.code, done.out) == (7, 'out\n') and 'err\n' in done.err, done
    assert [record['agent'] for record in ward.records() if record['kind'] == 'run.start'] == ['example']


def test_the_example_answers_by_its_rule(ward, installed):
    for name in ('yes', 'no'):
        (ward.place / name).mkdir()
        ward.person.own(ward.place / name)
    script = f'echo x > {ward.place}/yes/f; echo x > {ward.place}/no/f'
    done = call(ward, installed, 'run', '--program', installed.program, '--write', ward.place / 'yes', 'sh', '-c', script)
    assert (ward.place / 'yes' / 'f').exists() and not (ward.place / 'no' / 'f').exists(), done
    assert 'nobody said yes' in done.err and 'sandbox_denied: ' in done.err


def test_the_example_without_a_program_says_so(plain, installed):
    if installed.prefix.joinpath('bin', 'ward').exists():
        pytest.skip('ward is installed on this machine')
    done = call(plain, installed, 'run', 'true')
    assert done.code == 125 and f'{installed.prefix}/bin/ward' in done.err and 'ward_set_program' in done.err


def test_neither_the_environment_nor_the_path_names_the_program(plain, installed):
    if installed.prefix.joinpath('bin', 'ward').exists():
        pytest.skip('ward is installed on this machine')
    fake = plain.file('ward', '#!/bin/sh\ntouch called\n', 0o755)
    variables = {**env(installed), 'PATH': f'{plain.work}:/usr/bin:/bin', 'WARD_PROGRAM': str(fake), 'WARD': str(fake)}
    done = plain.finish(plain.popen('true', program=str(installed.directory / 'run'), env=variables))
    assert done.code == 125 and not (plain.work / 'called').exists()


def test_the_example_that_answers_later(ward, installed):
    """Each of two commands waits for its own answer, given in whatever order."""
    for name in ('a', 'b'):
        (ward.place / name).mkdir()
        ward.person.own(ward.place / name)
    process = start(ward, installed, 'later', installed.program, f'echo x > {ward.place}/a/f', f'echo x > {ward.place}/b/f', stdin=subprocess.PIPE)
    asked = [process.stdout.readline().decode() for _ in range(2)]
    which = {re.match(r'question (\d) of .*: (.*)/f\n', line).group(2)[-1]: line.split()[1] for line in asked}
    done = ward.finish(process, f'{which["b"]} yes\n{which["a"]} no\n9 yes\n'.encode())
    assert done.code == 0 and (ward.place / 'b' / 'f').exists() and not (ward.place / 'a' / 'f').exists(), done
    assert f'{ward.place}/b/f: 0' in done.out and 'no question' in done.err


def test_the_python_example(ward, installed):
    outside = ward.place / 'outside'
    outside.mkdir()
    ward.person.own(outside)
    for answer in ('no', 'yes'):
        done = ward.finish(ward.popen('-B', installed.directory / 'examples' / 'run.py', installed.library / 'libward.so.0', installed.program,
                                      answer, 'sh', '-c', f'echo x > {outside}/f && echo done', program='/usr/bin/python3', env=python_env(installed)))
        assert (outside / 'f').exists() == (answer == 'yes') and ('done' in done.out) == (answer == 'yes'), done
        assert (done.code == 0) == (answer == 'yes')


def test_the_static_library_serves_as_well(plain, installed):
    out = plain.work / 'static'
    flags = [word for word in installed.flags('--static') if word != '-lward']
    shell(*COMPILE, EXAMPLES / 'run.c', '-o', out, installed.library / 'libward.a', *flags, '-l:libjansson.a')
    done = plain.finish(plain.popen('--program', installed.program, 'echo', 'x', program=str(out)))
    assert done.out == 'x\n', done
    assert 'libward' not in shell('ldd', out)


@pytest.mark.parametrize('name', [name for name in CASES if name != 'faulty'])
def test_case(plain, installed, name):
    plain.policy(ASKS)
    done = call(plain, installed, 'cases', installed.program, name)
    assert done.code == 0, done
    assert plain.verify().code == 0


def test_root_embeds_it_too(ward, installed):
    ward.policy(ASKS)
    for name in ('run_tells_and_has_a_result', 'questions_are_answered_later'):
        done = call(ward, installed, 'cases', installed.program, name)
        assert done.code == 0, done


def test_all_cases_are_run():
    assert len(CASES) > 20 and set(CASES) == set(shell(BUILD / 'embed-cases').split())


def test_many_threads_use_it_in_every_way(plain, installed):
    plain.policy(ASKS)
    done = call(plain, installed, 'stress', installed.program, 30)
    assert done.code == 0, done


FAULTY = '''#!/usr/bin/python3
import json, os, sys, time
ping = json.loads(sys.stdin.readline())
def say(**what):
    print(json.dumps({"jsonrpc": "2.0", **what}), flush=True)
say(id=ping["id"], result={"version": "%s"})
run = json.loads(sys.stdin.readline())["id"]
%s
'''


@pytest.mark.parametrize('then', [
    'os._exit(0)', 'os.kill(os.getpid(), 9)', 'print("garbage", flush=True); time.sleep(300)', 'print("[1]", flush=True); time.sleep(300)',
    'say(id=None, error={"code": -32700, "message": "x"}); time.sleep(300)', 'say(id=7, method="what"); time.sleep(300)',
    'say(id="x"); time.sleep(300)', 'os.write(1, b"{" * 1000 + b"\\n"); time.sleep(300)', 'os.write(1, bytes(200)); os._exit(1)',
    'say(id=run, result=5); say(id=run, result={}); os._exit(0)', 'say(method="ask", id="q", params={"run": run, "ask": {}}); time.sleep(300)',
    'say(method="ask", id="q", params={"run": run, "ask": {"id": "q", "choices": []}}); os._exit(0)',
    'say(method="run.output", params={"id": run}); say(method="run.output"); say(method="ask.refused"); say(method="ask.withdrawn"); os._exit(0)',
    'say(method="run.output", params={"id": run, "stream": 5, "base64": "%%%%"}); say(id=9999, result={}); os._exit(0)',
    'say(id=run, error={"code": -1}); os._exit(0)',
    'os.write(1, b"x" * (90 << 20)); time.sleep(300)',
])
def test_a_program_that_talks_nonsense_ends_the_runs(plain, installed, then):
    version = installed.pkg_config('--modversion').strip()
    program = plain.file('faulty', FAULTY % (version, then.replace('%%', '%')), 0o755)
    done = call(plain, installed, 'cases', program, 'faulty')
    assert done.code == 0, done
    assert wait_until(lambda: not processes(str(program)))


@pytest.mark.parametrize('program', ['/bin/cat', '/bin/true', '/bin/echo', '/etc/passwd', '/no/such/program', 'other-version'])
def test_what_is_not_this_ward_is_not_opened(plain, installed, program):
    if program == 'other-version':
        program = plain.file('other', FAULTY % ('9.9.9', ''), 0o755)
    done = call(plain, installed, 'run', '--program', program, 'true')
    assert done.code == 125 and done.err.startswith('engine: '), done
    assert '9.9.9' in done.err or 'other' not in str(program)


def test_the_end_of_the_host_ends_its_runs(plain, installed):
    word = marker()
    process = start(plain, installed, 'run', '--program', installed.program, 'sh', '-c', f'echo ready; : {word}; sleep 300; :')
    assert process.stdout.readline() == b'ready\n'
    process.kill()
    process.communicate()
    assert all_gone(word)


def test_results_without_a_run_have_the_same_shape(plain, installed):
    script = ('import sys, json; sys.path.insert(0, sys.argv[1]); sys.argv[1:2] = []; import run\n'
              'ward = run.Ward(sys.argv[1], program=sys.argv[2]); ward.set("timeout", "never"); print(json.dumps(ward.run("true")))')
    done = plain.finish(plain.popen('-B', '-c', script, installed.directory / 'examples', installed.library / 'libward.so.0', installed.program,
                                    program='/usr/bin/python3', env=python_env(installed)))
    result = json.loads(done.out)
    jsonschema.validate(result, SCHEMA)
    assert result['error']['kind'] == 'engine' and 'timeout' in result['error']['message'] and result['exit_code'] == -1
