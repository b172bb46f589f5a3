# SPDX-License-Identifier: Apache-2.0
"""The record: ward log, ward show, ward audit; what was changed is found."""
import json
import re

import pytest


@pytest.fixture
def filled(ward):
    """Four runs on record, nine lines: in one of them something was refused."""
    ward.run('echo', 'one')
    ward.sh('exit 3', '--agent', 'robot', '--session', 's1', '--tool', 'shell', '--call-id', 'c9', '--turn', 't2', '--reason', 'because')
    ward.sh('echo x > /usr/ward-test-file; exit 1')
    ward('run', '-c', 'rm -rf /')
    return ward


def test_every_run_has_a_start_and_an_end_in_one_chain(filled):
    records = filled.records()
    assert [r['kind'] for r in records] == [*['run.start', 'run.end'] * 2, 'run.start', 'run.denials', 'run.end', 'run.start', 'run.end']
    assert [r['seq'] for r in records] == list(range(1, 10))
    for before, after in zip([{'hash': '0' * 64}] + records, records):
        assert after['prev'] == before['hash']
    assert all(re.fullmatch('[0-9a-f]{64}', r['hash']) for r in records)
    done = filled.verify()
    assert done.code == 0 and done.out == f'9 records, head {records[-1]["hash"]}\n'


def test_the_start_says_who_what_and_why(filled):
    start = filled.records()[2]
    assert {key: start[key] for key in ('argv', 'cwd', 'workspace', 'level', 'agent', 'session', 'tool', 'call_id', 'turn', 'reason',
                                        'verdict', 'source')} == {
        'argv': ['sh', '-c', 'exit 3'], 'cwd': str(filled.work), 'workspace': str(filled.work), 'level': 'restricted', 'agent': 'robot',
        'session': 's1', 'tool': 'shell', 'call_id': 'c9', 'turn': 't2', 'reason': 'because', 'verdict': 'allow', 'source': 'default'}
    assert start['decisions'] == [{'stage': 'assess', 'verdict': 'safe', 'source': 'default'},
                                  {'stage': 'decide', 'verdict': 'allow', 'source': 'default'}]
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', start['time'])


def test_the_end_says_how_it_came_out_without_the_output(filled):
    end = filled.records()[6]['result']
    assert end['exit_code'] == 1
    assert [d['object'] for d in end['attempts'][0]['denials']] == ['/usr/ward-test-file']
    assert not {'stdout', 'stderr', 'aggregated_output'} & set(end)


def test_a_refused_run_is_on_record(filled):
    start, end = filled.records()[7:]
    assert (start['verdict'], start['source'], start['command']) == ('deny', 'rule', 'rm -rf /')
    assert end['result']['error']['kind'] == 'rejected'


def test_log_lists_runs_newest_first(filled):
    done = filled('log')
    lines = done.out.splitlines()
    assert done.code == 0 and len(lines) == 5
    assert lines[0].split() == ['TIME', 'RUN', 'EXIT', 'TOOK', 'DENIED', 'COMMAND']
    assert [line.split('  ')[-1].strip() for line in lines[1:]] == [
        'rm -rf /', "sh -c 'echo x > /usr/ward-test-file; exit 1'", "sh -c 'exit 3'", 'echo one']
    assert 'refused' in lines[1]


def test_log_json_is_one_object_a_line_with_its_id(filled):
    done = filled('log', '--json')
    runs = [json.loads(line) for line in done.out.splitlines()]
    assert [run['id'] for run in runs] == [r['run'] for r in reversed(filled.records()) if r['kind'] == 'run.start']
    assert [(run['exit_code'], run['denials'], run['ended']) for run in runs] == [(-1, 0, True), (1, 1, True), (3, 0, True), (0, 0, True)]


def test_log_can_be_narrowed(filled):
    def commands(*flags):
        return [json.loads(line)['command'] for line in filled('log', '--json', *flags).out.splitlines()]
    assert commands('--agent', 'robot') == commands('--session', 's1') == ["sh -c 'exit 3'"]
    assert commands('--denied') == ["sh -c 'echo x > /usr/ward-test-file; exit 1'"]
    assert len(commands('-n', '2')) == 2 and len(commands('-n', '0')) == 4
    assert filled('log', '--agent', 'nobody').code == 0


def test_what_a_command_was_called_cannot_steer_the_terminal(plain):
    plain.run('printf', '\033]0;owned\a\r\n\u202e', flags=['--reason', '\033[2J', '--tool', '\033[1mx'])
    for words in (['log'], ['show', 'last'], ['log', '--json'], ['show', '--json', 'last'], ['audit', 'export']):
        out = plain(*words).out
        assert out and not {'\033', '\a', '\r'} & set(out), words
    assert '\u202e' not in plain('log').out + plain('show', 'last').out


def test_log_of_nothing_says_so(plain):
    done = plain('log')
    assert done.code == 0 and 'No run' in done.out
    assert plain('log', '--json').out == ''


def test_show_last_tells_all(filled):
    done = filled('show', 'last')
    assert done.code == 0
    assert 'rm -rf /' in done.out and 'deny' in done.out and 'it deletes the whole file system' in done.out
    run = filled.records()[4]['run']
    done = filled('show', run)
    for word in (run, '/usr/ward-test-file', 'denied', 'walls', 'landlock', 'exit', 'used', str(filled.work)):
        assert word in done.out, done
    done = filled('show', filled.records()[2]['run'])
    for word in ('robot', 's1', 'because', 'shell', 'c9', 't2'):
        assert word in done.out, done


def test_show_takes_a_prefix_that_names_just_one(filled):
    runs = [r['run'] for r in filled.records() if r['kind'] == 'run.start']
    for run in runs:
        length = next(n for n in range(1, len(run) + 1) if sum(other.startswith(run[:n]) for other in runs) == 1)
        assert json.loads(filled('show', '--json', run[:length]).out)['id'] == run
    shared = runs[0][:4]
    assert all(run.startswith(shared) for run in runs)
    done = filled('show', shared)
    assert done.code == 125 and shared in done.err and done.out == '', done


@pytest.mark.parametrize('words', [['zzzz'], ['../../etc/passwd'], [''], [], ['last', 'last'], ['%'], ["'; drop table runs; --"]])
def test_show_of_what_is_not_there_fails_with_words(filled, words):
    done = filled('show', *words)
    assert done.code == 125 and done.err.startswith('ward show: ') and done.out == ''


def test_export_prints_the_records_as_they_stand(filled):
    assert filled('audit', 'export').raw_out == filled.log.read_bytes()
    assert filled('audit', 'export', '--since', '7').out.splitlines() == filled.log.read_text().splitlines()[6:]


def test_the_database_may_be_deleted(filled):
    before = filled('log', '--json').out
    for path in (filled.state / 'ward').glob('state.db*'):
        path.unlink()
    assert filled('log', '--json').out == before


def test_the_state_directory_is_its_owners_alone(ward):
    ward.run('true')
    assert (ward.state / 'ward').stat().st_mode & 0o777 == 0o700
    for path in (ward.state / 'ward').iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_default_place_of_the_state_is_below_home(ward):
    assert ward.run('true', env={'XDG_STATE_HOME': None}).code == 0
    assert (ward.home / '.local' / 'state' / 'ward' / 'audit.log').exists()


def damage(ward, change):
    """The log with its lines changed."""
    lines = ward.log.read_bytes().splitlines(keepends=True)
    ward.log.write_bytes(b''.join(change(lines)))


def one_byte(at):
    def change(lines):
        line = bytearray(lines[at])
        place = line.index(b'"kind"') + 9
        line[place] ^= 1
        return lines[:at] + [bytes(line)] + lines[at + 1:]
    return change


FAULTS = {
    'one byte of the first record': one_byte(0),
    'one byte of a record in the middle': one_byte(3),
    'one byte of the last record': one_byte(7),
    'the first record removed': lambda lines: lines[1:],
    'a record in the middle removed': lambda lines: lines[:3] + lines[4:],
    'the last record removed': lambda lines: lines[:-1],
    'half of the last record removed': lambda lines: lines[:-1] + [lines[-1][:len(lines[-1]) // 2]],
    'everything removed': lambda lines: [],
    'two neighbours swapped': lambda lines: lines[:2] + [lines[3], lines[2]] + lines[4:],
    'the last two swapped': lambda lines: lines[:6] + [lines[7], lines[6]],
    'a record doubled': lambda lines: lines[:4] + [lines[3]] + lines[4:],
    'a line added in the middle': lambda lines: lines[:4] + [b'{}\n'] + lines[4:],
    'an empty line added': lambda lines: lines[:4] + [b'\n'] + lines[4:],
    'a space added': lambda lines: lines[:4] + [lines[4].replace(b',', b', ', 1)] + lines[5:],
    'a record repeated at the end': lambda lines: lines + [lines[-1]],
}


@pytest.mark.parametrize('fault', FAULTS)
def test_damage_is_found_and_nothing_is_appended_behind_a_cut(filled, fault):
    damage(filled, FAULTS[fault])
    damaged = filled.log.read_bytes()
    done = filled.verify()
    assert done.code == 1, done
    assert done.out.startswith('line '), done
    assert re.search(r'records before it that hold: \d', done.out)
    if 'last' in fault or 'everything' in fault:
        run = filled.run('touch', 'ran')
        if run.code == 125:
            assert not (filled.work / 'ran').exists()
            assert filled.log.read_bytes() == damaged
            assert 'ward audit verify' in run.err
    assert filled.verify().code == 1


def test_every_byte_counts(plain):
    """Whatever byte of the log is changed, it is found."""
    plain.run('true')
    content = plain.log.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 60)):
        plain.log.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1:])
        assert plain.verify().code == 1, f'byte {place}: {content[place:place + 1]}'
    plain.log.write_bytes(content)
    assert plain.verify().code == 0


def test_a_damaged_head_is_found(filled):
    head = filled.state / 'ward' / 'audit.head'
    content = head.read_bytes()
    for change in (content[:-1], content.replace(b'8', b'7', 1), b'', b'garbage\n'):
        head.write_bytes(change)
        assert filled.verify().code == 1, change
    head.unlink()
    assert filled.verify().code == 1


def test_verify_without_any_log_is_no_success_by_mistake(plain):
    done = plain.verify()
    assert done.code in (0, 125)
    assert '0 records' in done.out or done.err


def test_a_record_whose_writing_broke_off_is_told_and_no_fault(filled):
    with open(filled.log, 'ab') as log:
        log.write(b'{"seq":10,"ki')
    done = filled.verify()
    assert done.code == 0 and done.out.splitlines()[0].startswith('9 records') and 'warning: the last 13 bytes are no whole line' in done.out, done
    filled.run('true')
    done = filled.verify()
    assert done.code == 0 and 'warning' not in done.out and done.out.startswith('12 records'), 'one of them of the repair'


def test_a_log_that_is_gone_is_missed_by_the_database(filled):
    head = filled.log.with_name('audit.head')
    assert filled('log').code == 0
    kept = filled.log.read_bytes(), head.read_bytes()
    for gone in ([filled.log, head], [filled.log]):
        for path in gone:
            path.unlink()
        for _ in range(2):
            done = filled.verify()
            assert done.code == 1 and done.out.startswith('line 1: '), done
        filled.log.write_bytes(kept[0])
        head.write_bytes(kept[1])
        assert filled.verify().code == 0
    filled.log.write_bytes(b'')
    head.unlink()
    done = filled.verify()
    assert done.code == 1 and 'state.db knows 4 runs by 9 records' in done.out, done


def test_a_tail_that_was_cut_with_its_head_is_missed_by_the_database(filled):
    head = filled.log.with_name('audit.head')
    before = filled.log.read_bytes(), head.read_bytes()
    filled.run('true')
    assert filled('log').code == 0
    filled.log.write_bytes(before[0])
    head.write_bytes(before[1])
    done = filled.verify()
    assert done.code == 1 and 'the log holds 9 records, but state.db knows 11' in done.out, done
    for path in filled.log.parent.glob('state.db*'):
        path.unlink()
    assert filled.verify().code == 0, 'nobody knows better'
    filled.run('false')
    assert filled('log').code == 0 and filled.verify().code == 0


def test_what_the_database_knows_less_of_is_no_fault(filled):
    assert filled('log').code == 0
    filled.run('true')
    done = filled.verify()
    assert done.code == 0 and 'warning' not in done.out and done.out.startswith('11 records'), done
    (filled.log.parent / 'state.db').write_bytes(b'no database')
    assert filled.verify().code == 0
    for path in filled.log.parent.glob('state.db*'):
        path.unlink()
    (filled.log.parent / 'state.db').mkdir()
    assert filled.verify().code == 0


def test_a_log_that_a_person_began_anew_is_told(filled):
    assert filled('log').code == 0
    for name in 'audit.log', 'audit.head':
        filled.log.with_name(name).rename(filled.log.with_name(name + '.old'))
    filled.run('true')
    done = filled.verify()
    assert done.code == 0 and 'warning: state.db was made from another log, of 9 records' in done.out, done
    assert filled('log').code == 0
    done = filled.verify()
    assert done.code == 0 and 'warning' not in done.out, done


def test_verify_of_a_fresh_state_is_fine(plain):
    done = plain.verify()
    assert (done.code, done.out) == (0, f'0 records, head {"0" * 64}\n'), done
    assert plain('log').code == 0
    assert plain.verify().code == 0
