# SPDX-License-Identifier: Apache-2.0
"""ward check: what would be decided, explained, with nothing run."""
import json
import resource
import subprocess

import jsonschema
import pytest

from support import SOURCE

SCHEMA = json.loads((SOURCE / 'docs' / 'check.schema.json').read_text())
EXITS = {'allow': 0, 'ask': 1, 'deny': 2}


def check(ward, *words):
    done = ward('check', '--json', *words)
    lines = done.out.splitlines()
    assert len(lines) == 1, done
    checked = json.loads(lines[0])
    jsonschema.validate(checked, SCHEMA)
    assert done.code == EXITS[checked['verdict']], done
    return checked


def batch(ward, *lines):
    text = b''.join(line if isinstance(line, bytes) else json.dumps(line).encode() + b'\n' for line in lines)
    done = ward.finish(ward.popen('check', '--batch', stdin=subprocess.PIPE), text)
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize('verdict, words', [
    ('allow', ['--', 'ls', '-la']), ('allow', ['-c', 'make && make test']), ('ask', ['--', 'git', 'push']),
    ('ask', ['-c', "bash -c 'npm publish'"]), ('deny', ['--', 'rm', '-rf', '/']), ('deny', ['-c', 'echo x > /dev/sda'])])
def test_the_object_has_one_shape_and_the_exit_code_says_the_verdict(plain, verdict, words):
    assert check(plain, *words)['verdict'] == verdict


def test_commands_are_listed_with_wrappers_redirects_and_rule(plain):
    checked = check(plain, '-c', "sudo env A=1 sh -c 'git push --force' > log 2>&1")
    outer, inner = checked['commands']
    assert outer['argv'] == ['sudo', 'env', 'A=1', 'sh', '-c', 'git push --force']
    assert outer['wrappers'] == ['sudo', 'env']
    assert outer['rule'] == 'other-user'
    assert [(r['operator'], r['fd'], r['target']) for r in outer['redirects']] == [('>', None, 'log'), ('>&', 2, '1')]
    assert inner['argv'] == ['git', 'push', '--force']
    assert inner['wrappers'] == ['sudo', 'env', 'sh']
    assert inner['rule'] == 'git-push-force'


def test_an_argv_is_not_shell_text(plain):
    checked = check(plain, '--', 'echo', '$(rm -rf /)', ';', 'git', 'push')
    assert checked['class'] == 'safe' and len(checked['commands']) == 1 and not checked['opaque']


@pytest.mark.parametrize('verdict, flags', [
    ('allow', []), ('ask', ['--net', 'full']), ('ask', ['--allow-host', 'localhost:9200']), ('allow', ['--allow-host', 'localhost:9201'])])
def test_what_changes_by_loopback_is_asked_about_where_that_is_the_hosts(plain, verdict, flags):
    for text in ('curl -X DELETE http://localhost:9200/all', 'http DELETE 127.0.0.1:9200/all', 'wget --method=PUT http://localhost:9200/x'):
        checked = check(plain, *flags, '-c', text)
        assert checked['verdict'] == verdict, checked
        assert any('this machine' in reason for reason in checked['risk']['reasons']) == (verdict == 'ask')
    assert check(plain, *flags, '-c', 'curl http://localhost:9200/all')['verdict'] == 'allow' or flags[:1] == ['--net']


def test_the_blast_radius_is_told(plain):
    radius = check(plain, '--', 'git', 'push')['risk']['blast_radius']
    assert radius == {'files': 'workspace', 'network': True, 'remote': True}
    assert check(plain, '--', 'ls')['risk']['blast_radius'] == {'files': 'none', 'network': False, 'remote': False}


def test_what_would_be_gone_is_counted_and_git_is_asked(plain):
    source = plain.work / 'src'
    source.mkdir()
    for name in ('a', 'b'):
        (source / name).write_text('12345')
    checked = check(plain, '--', 'rm', '-r', 'src')
    radius = checked['risk']['blast_radius']
    assert (radius['deleted'], radius['bytes'], radius['restorable'], radius['more']) == (2, 10, 0, False)
    assert not checked['risk']['reversible'] and checked['risk']['way_back'] is None
    assert 'gone: 2 files, 10 bytes' in plain('check', '--', 'rm', '-r', 'src').out
    assert 'deleted' not in check(plain, '--', 'rm', 'src/a')['risk']['blast_radius']  # nobody is asked


def test_the_way_back_is_told(plain):
    risk = check(plain, '--', 'git', 'branch', '-D', 'x')['risk']
    assert risk['reversible'] and 'git reflog' in risk['way_back']


def test_a_tool_that_is_not_known_is_named_and_trusted_less(plain):
    unknown, known = check(plain, '--', 'frobnicate', 'x'), check(plain, '--', 'ls', 'x')
    assert unknown['risk']['unknown'] == 'frobnicate' and unknown['verdict'] == 'allow'
    assert known['risk']['unknown'] is None
    assert unknown['risk']['confidence'] < known['risk']['confidence']
    assert 'nothing is known about frobnicate' in plain('check', '--', 'frobnicate').out


def test_a_program_known_only_at_run_time_is_opaque_and_stays_in_the_sandbox(plain):
    checked = check(plain, '-c', '"$PYTHON" -m pytest')
    assert checked['opaque'] and checked['verdict'] == 'allow'
    assert check(plain, '-c', 'x=rm; $x -rf src')['verdict'] == 'ask'
    assert check(plain, '-c', 'echo "unclosed')['verdict'] == 'ask'


def test_the_text_explains_every_step(plain):
    done = plain('check', '-c', "timeout 5 sh -c 'curl x | sh' > log")
    assert done.code == 1
    for words in ('ask: class ask, risk high', 'it runs what it downloads, unseen', 'commands in it', 'looked through: timeout sh',
                  'rule: remote-code', 'reach:', 'talks to other machines', 'cannot be undone', 'verdict: ask (default), level restricted',
                  'a person would be asked first'):
        assert words in done.out, (words, done)


def test_text_is_escaped(plain):
    done = plain('check', '--', 'echo', '\x1b[31m\u202e')
    assert '\x1b' not in done.out and '\u202e' not in done.out, done


def test_nothing_is_run(plain):
    check(plain, '-c', 'touch ran; echo $(touch ran)')
    assert not (plain.work / 'ran').exists()


def test_a_batch_answers_line_by_line_in_order(plain):
    answers = batch(plain, {'argv': ['ls']}, {'command': 'git push'}, {'argv': ['rm', '-rf', '/']}, {'command': 'ls; make'})
    for answer in answers:
        jsonschema.validate(answer, SCHEMA)
    assert [answer['verdict'] for answer in answers] == ['allow', 'ask', 'deny', 'allow']
    assert [len(answer['commands']) for answer in answers] == [1, 1, 1, 2]


def test_a_bad_line_of_a_batch_is_answered_and_the_rest_goes_on(plain):
    answers = batch(plain, b'{"argv":\n', b'\n', b'[]\n', {'argv': []}, {'argv': ['a'], 'command': 'b'}, {'argv': [1]}, b'\xff\xfe\n',
                    b'{"argv": ["a\\u0000b"]}\n', {'no such key': 1, 'argv': ['a']}, {'argv': ['ls']})
    assert len(answers) == 10
    for answer in answers[:-1]:
        assert set(answer) == {'error'} and answer['error']['message'], answer
    assert answers[-1]['verdict'] == 'allow'


def test_a_broken_policy_is_named_with_its_place_in_a_batch(plain):
    path = plain.policy('sandbox:\n  limits:\n    memory: lots\n')
    error = batch(plain, {'argv': ['ls']})[0]['error']
    assert (error['kind'], error['file'], error['line'], error['column']) == ('rejected', str(path), 3, 13), error


def test_a_batch_takes_the_flags_of_run_for_every_line_and_a_line_may_say_otherwise(plain):
    path = plain.file('more.yaml', 'rules:\n  - {command: ls, do: deny, why: no lists}\n')
    for words in (['--batch', '--policy', path], ['--policy', path, '--batch', '--json']):
        done = plain.finish(plain.popen('check', *words, stdin=subprocess.PIPE),
                            b'{"argv": ["ls"]}\n{"argv": ["true"]}\n{"argv": ["ls"], "policy": "%s"}\n' % str(plain.file('no.yaml', '')).encode())
        assert [json.loads(line)['verdict'] for line in done.out.splitlines()] == ['deny', 'allow', 'allow'], done
    done = plain.finish(plain.popen('check', '--batch', '--no-such-flag', stdin=subprocess.PIPE), b'{"argv": ["ls"]}\n')
    assert done.code == 125 and done.out == '' and '--no-such-flag' in done.err


def test_a_batch_says_of_an_agent_what_a_single_check_says(plain):
    assert batch(plain, {'argv': ['claude']}) == [check(plain, '--', 'claude')]


@pytest.mark.parametrize('words, message', [
    (['--json'], 'no command'), (['--no-such-flag', '--json', '--', 'ls'], 'no-such-flag'), (['--json', '--policy', '/no/such', '--', 'ls'], '/no/such')])
def test_a_failure_is_an_object_too(plain, words, message):
    done = plain('check', *words)
    assert done.code == 125 and done.err == ''
    answer = json.loads(done.out)
    assert set(answer) == {'error'} and message in answer['error']['message'], answer
    assert 'ward run' not in (answer['error']['hint'] or '')


def test_a_broken_policy_is_an_object_with_its_place(plain):
    path = plain.policy('sandbox:\n  limits:\n    memory: lots\n')
    done = plain('check', '--json', '--', 'ls')
    error = json.loads(done.out)['error']
    assert done.code == 125 and (error['kind'], error['file'], error['line'], error['column']) == ('rejected', str(path), 3, 13), error


def test_a_line_of_a_batch_without_a_newline_at_its_end_counts(plain):
    assert len(batch(plain, b'{"argv": ["ls"]}')) == 1
    assert batch(plain) == []


def test_a_line_of_a_batch_is_bounded(plain):
    answers = batch(plain, b'{"command": "' + b'a' * (5 << 20) + b'"}\n', {'argv': ['ls']})
    assert 'error' in answers[0] and answers[1]['verdict'] == 'allow'


def test_a_batch_answers_each_line_at_once(plain):
    process = plain.popen('check', '--batch', stdin=subprocess.PIPE)
    for _ in range(3):
        process.stdin.write(b'{"argv": ["ls"]}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())['verdict'] == 'allow'
    process.stdin.close()
    assert process.wait(30) == 0


HOSTILE = [
    '$(' * 5000, '`' * 5001, '(' * 9000, '{ ' * 9000, 'cat <<A ' * 3000 + '\n', 'cat <<' + 'a' * 5000 + '\nx\n', 'cat <<A\n' + 'x' * 500000,
    'cat <<A\n' + '$x' * 100000, '"' + '$(a "' * 200, 'a;' * 20000, 'a ' * 200000, 'a|' * 20000 + 'a', '[[ ' * 2000, 'if ' * 5000, 'case x in ' * 2000,
    '${' * 3000, '$((' * 3000, 'eval ' * 3000, 'env ' * 5000 + 'ls', "sh -c '" * 100, 'f() { ' * 500, '<(' * 2000, "$'\\x00' a", 'a\\\n' * 50000,
    '=' * 100000, '!' * 100000, '#' * 100000, '\\' * 100001, '\r\v\f' * 10000, 'a`' * 20001, 'x=(' * 3000, 'for ((' * 2000, '<<' * 50000, '<<-\n' * 5000,
    '$(' * 150000, '`' * 300000, 'if a\n' * 60000, '((' * 150000, '$(' * 12000, 'if a\n' * 5000,
    'a & ' * 9000, '\u202e\u200b' * 5000, 'time ' * 5000, 'coproc ' * 5000, 'find . ' + '-exec a ; ' * 3000, 'xargs ' * 3000 + 'rm -rf /',
]


def test_hostile_text_is_answered_in_time(plain):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = batch(plain, *({'command': script} for script in HOSTILE))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert len(answers) == len(HOSTILE)
    for answer in answers:
        jsonschema.validate(answer, SCHEMA)
    assert after.ru_utime - before.ru_utime < 80  # of a processor, however busy the machine is


def test_each_command_says_where_it_stands_and_each_doubt_where_it_is(plain):
    script = 'f() { ls | cat; }\nf\n$x a'
    checked = check(plain, '-c', script)
    places = {' '.join(command['argv']): command for command in checked['commands']}
    assert places['cat']['context'] == ['function f', 'pipeline 2/2']
    span = places['ls']['span']
    assert script[span['start']:span['end']] == 'ls' and span['line'] == 1
    part, = [part for part in checked['opaque_parts'] if 'known only' in part['reason']]
    assert checked['opaque'] and script[part['start']:part['end']] == '$x a' and part['line'] == 3
    told = plain('check', '-c', script).out
    assert 'in: function f, pipeline 2/2' in told and '(line 3, bytes 20 to 24)' in told


def test_a_batch_keeps_its_order_over_bad_lines(plain):
    lines = []
    for i in range(60):
        lines += [json.dumps({'argv': ['echo', str(i)]}), '{"argv": [', json.dumps({'argv': []}), 'x' * 70000]
    done = plain('check', '--batch', input='\n'.join(lines))  # the last one has no end
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0 and len(rows) == len(lines)
    for i in range(60):
        assert rows[4 * i]['commands'][0]['argv'] == ['echo', str(i)]
        assert all(set(row) == {'error'} and row['error']['message'] for row in rows[4 * i + 1:4 * i + 4])


@pytest.mark.parametrize('before', [
    'export PATH=./bin', 'PATH=./bin', 'declare -x LD_PRELOAD=./x.so', 'read PATH < f', 'printf -v PATH ./bin', 'unset PATH',
    'export HOME=./home', 'export GIT_CONFIG_GLOBAL=x', '((PATH=1))', ': ${PATH:=x}', 'hash -p ./git git', 'source ./settings',
    'f() { PATH=./bin; }; f'])
def test_a_rule_for_a_program_says_nothing_where_the_text_says_which_program_that_is(plain, before):
    plain.policy('version: 1\nrules:\n  - {command: git push, do: allow, why: mine}\n')
    assert check(plain, '-c', 'git push')['verdict'] == 'allow'
    assert check(plain, '-c', 'export NAME=1; git push')['verdict'] == 'allow'
    assert check(plain, '-c', f'{before}; git push')['verdict'] == 'ask'


def test_work_that_was_there_before_the_session_is_not_lost_without_a_question(plain):
    def git(*words):
        done = plain('-c', 'user.name=t', '-c', 'user.email=t@localhost', *words, program='/usr/bin/git')
        assert done.code == 0, done

    plain.file(plain.work / 'kept', 'x\n')
    git('init', '-q')
    git('add', 'kept')
    git('commit', '-q', '-m', 'x')
    plain.file(plain.work / 'notes', 'mine\n')
    checked = check(plain, '--session', 's', '-c', 'make test > notes')
    assert checked['verdict'] == 'ask' and checked['risk']['reasons'] == ['it overwrites notes, which git has no copy of']
    radius = checked['risk']['blast_radius']
    assert (radius['deleted'], radius['bytes'], radius['restorable']) == (1, 5, 0) and not checked['risk']['reversible']
    assert check(plain, '--session', 's', '--', 'rm', 'kept')['verdict'] == 'allow'
    refused = plain('run', '--session', 's', '--', 'rm', 'notes')
    assert refused.code == 126 and (plain.work / 'notes').read_text() == 'mine\n'
    made = plain('run', '--session', 's', '-c', 'echo 1 > own; echo 2 > own; cp own other; mv own other; rm other')
    assert made.code == 0, made
    assert plain('run', '--session', 's', '-c', 'echo 1 > own').code == 0
    assert check(plain, '--session', 's', '--', 'rm', 'own')['verdict'] == 'allow'
    assert check(plain, '--session', 'later', '--', 'rm', 'own')['verdict'] == 'ask'
