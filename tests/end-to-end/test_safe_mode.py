# SPDX-License-Identifier: Apache-2.0
"""Violations and safe mode: what counts, that all of an agent's commands stand still, what is left to it, and the way out.

Where there is no freezer for who calls (a plain user without a group of his own), commands are ended instead of frozen; both
are held to."""
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal

import jsonschema
import pytest

from receiver import SECRET, end_deliverers, receiving
from support import SOURCE, Person, Ward, all_gone, marker, wait_until
from test_pending import outside, waits  # noqa: F401
from test_record_faults import fill, small_disk  # noqa: F401
from web import serving

EVENT = json.loads((SOURCE / 'docs' / 'event.schema.json').read_text())
CHECK = json.loads((SOURCE / 'docs' / 'check.schema.json').read_text())

# Counts in a file, a hundred times a second, for a minute at most.
TICK = 'i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo $i > {file}.new; mv {file}.new {file}; sleep 0.01; done'


def says(ward, trust='', rest=''):
    ward.file('closed', 'secret\n')
    ward.policy(f'trust: {{agents: [robot, "ci-*"]{trust}}}\nsandbox: {{files: {{deny: [{ward.work}/closed]}}}}\n{rest}')


def start(ward, script, *flags, agent='robot'):
    return ward.popen('run', '--json', '--agent', agent, *flags, '--', 'sh', '-c', script)


def incidents(ward, *words):
    done = ward('incidents', 'list', '--json', *words)
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def records(ward, kind):
    return [record for record in ward.records() if record['kind'] == kind]


def opens(ward):
    """The incident, when all of it is written down."""
    found = []
    assert wait_until(lambda: ward.log.exists() and records(ward, 'incident.opened') and not found.clear() and (found.extend(incidents(ward)) or found))
    return found[0]


def is_frozen(ward):
    return records(ward, 'incident.opened')[-1]['commands'] == 'frozen'


def counts(ward, name='count'):
    with contextlib.suppress(OSError, ValueError):
        return int((ward.work / name).read_text())
    return 0


def stands_still(ward, name='count'):
    before = counts(ward, name)
    return not wait_until(lambda: counts(ward, name) != before, 0.5)


def close(ward, incident, note='it was a test'):
    done = ward('incidents', 'close', incident['id'], '--note', note)
    assert done.code == 0, done


def finish(ward, process):
    return json.loads(ward.finish(process).out)


def test_a_high_violation_freezes_all_that_the_agent_runs(ward):
    says(ward)
    mark = marker()
    # In another session, and in processes of their own.
    other = start(ward, TICK.format(file='count2'), '--session', 'another')
    assert wait_until(lambda: counts(ward, 'count2') > 3)
    ward.file('ticker', TICK.format(file='count'))
    process = start(ward, f'echo begun; (setsid sh ticker {mark} &); for i in $(seq 6000); do test -s count && break; sleep 0.01; done; cat closed; echo after')
    incident = opens(ward)
    assert incident['agent'] == 'robot' and incident['state'] == 'open'
    tried, = incident['violations']
    assert (tried['violation'], tried['what'], tried['severity'], tried['operation']) == ('rule', 'filesystem_access', 'high', 'read')
    assert tried['object'] == f'{ward.work}/closed'
    if is_frozen(ward):
        assert stands_still(ward) and wait_until(lambda: stands_still(ward, 'count2'))
        assert process.poll() is None and other.poll() is None
        assert wait_until(lambda: len(incidents(ward)[0].get('stopped', [])) == 1)
        # The ledger, the output, the processes.
        assert [(denial['object'], denial['violation']) for denial in incident['ledger']] == [(f'{ward.work}/closed', 'rule')]
        assert 'begun' in incident['output_tail'] and any(mark in each['command'] for each in incident['processes'])
        assert ward('incidents', 'kill', incident['id']).code == 0
    for each in (process, other):
        result = finish(ward, each)
        assert result['safe_mode'] == incident['id'] and result['error']['kind'] == 'rejected', result
        assert 'safe mode' in result['error']['message'] and incident['id'] in result['error']['hint']
    assert all_gone(mark) and 'secret' not in result['stdout']
    assert ward.verify().code == 0


def test_a_person_lets_them_go_on_and_the_agent_stays_in_safe_mode(ward):
    says(ward)
    process = start(ward, 'cat closed; echo after > went-on; echo done')
    incident = opens(ward)
    if not ward.person.is_root and not is_frozen(ward):
        pytest.skip('no freezer here: it is ended')
    assert is_frozen(ward)
    assert not (ward.work / 'went-on').exists()
    assert ward('incidents', 'resume', incident['id'][:12]).code == 0
    result = finish(ward, process)
    assert result['stdout'] == 'done\n' and result['error'] is None and (ward.work / 'went-on').exists()
    assert [record['by'].split('@')[0] for record in records(ward, 'incident.resume')] == [ward.person.name]
    assert incidents(ward)[0]['state'] == 'open'


def test_frozen_commands_that_nobody_resumes_are_ended(ward):
    says(ward, rest='tiers: {answer: 1s}\n')
    process = start(ward, 'cat closed; sleep 300')
    result = finish(ward, process)
    assert result['error']['kind'] == 'rejected' and result['duration_ms'] == 0
    assert opens(ward)['state'] == 'open'


def test_a_policy_can_end_them_at_once(ward):
    says(ward, ', violations: {then: kill}')
    process = start(ward, 'cat closed; sleep 300')
    assert finish(ward, process)['error']['kind'] == 'rejected'
    opens(ward)
    assert records(ward, 'incident.opened')[0]['commands'] == 'killed'


def test_a_profile_can_end_them_at_once(ward):
    says(ward, rest='profiles: {strict: {on_violation: kill}}\n')
    process = start(ward, 'cat closed; sleep 300', '--profile', 'strict')
    assert finish(ward, process)['error']['kind'] == 'rejected'
    opens(ward)
    assert records(ward, 'incident.opened')[0]['commands'] == 'killed'


def test_whoever_started_it_can_end_what_stands_still(ward):
    says(ward)
    process = start(ward, 'cat closed; sleep 300')
    opens(ward)
    process.send_signal(signal.SIGTERM)
    assert finish(ward, process)['safe_mode']


def in_safe_mode(ward, *trust):
    says(ward, ', violations: {then: kill}', *trust)
    finish(ward, start(ward, 'cat closed; sleep 300'))
    return opens(ward)


def test_new_runs_read_the_workspace_and_nothing_else(ward, outside):
    ward.file('text', 'words\n')
    ward.file(outside / 'there', 'elsewhere\n')
    incident = in_safe_mode(ward)
    script = f'cat text; echo x > new; echo scratch > /tmp/s && cat /tmp/s; cat {outside}/there; rm text; ls /var/log > /dev/null && echo logs'
    for flags in ([], ['--session', 'another'], ['--write', outside, '--read', outside], ['--net', 'full'], ['--level', 'none'], ['--profile', 'agent']):
        result = ward.result('--agent', 'robot', *flags, '--', 'sh', '-c', script)
        assert result['safe_mode'] == incident['id'] and result['source'] == 'trust', result
        assert result['stdout'] == 'words\nscratch\nlogs\n', result
        assert result['attempts'][0]['level'] == 'restricted'
    assert not (ward.work / 'new').exists() and (ward.work / 'text').exists()
    done = ward('run', '--agent', 'robot', '--', 'true')
    assert done.code == 0 and 'safe mode' in done.err and incident['id'] in done.err
    # Not another agent, and not a person.
    assert 'safe_mode' not in ward.result('--agent', 'ci-1', '--', 'true')
    assert 'safe_mode' not in ward.result('--', 'true')
    close(ward, incident)
    result = ward.result('--agent', 'robot', '--', 'sh', '-c', 'echo x > new')
    assert result['exit_code'] == 0 and 'safe_mode' not in result


def test_no_refusal_names_a_flag_that_does_not_help(ward, outside):
    ward.file('.env', 'x\n')
    incident = in_safe_mode(ward)
    connect = 'import socket; socket.create_connection(("a.example", 80))'
    for argv in (['/usr/bin/python3', '-c', connect], ['sh', '-c', f'echo x > {outside}/f'], ['sh', '-c', 'echo x > new'], ['cat', '.env']):
        done = ward('run', '--agent', 'robot', '--', *argv)
        assert done.code != 0 and 'to allow' not in done.err and '--' not in done.err.split('ward: ')[-1], done
        result = ward.result('--agent', 'robot', '--', *argv)
        assert result['error'] is None or 'to allow' not in (result['error']['hint'] or ''), result
    done = ward('run', '--agent', 'robot', '--', '/usr/bin/python3', '-c', connect)
    assert f'connect a.example:80' in done.err and done.err.count(incident['id']) == 2


def test_a_token_s_refusals_name_none_either(ward):
    token = ward('token', 'mint', '--agent', 'free', '--allow', 'read .').out.strip()
    done = ward('run', '--agent', 'free', '--token', token, '--', '/usr/bin/python3', '-c', 'import socket; socket.create_connection(("a.example", 80))')
    assert 'the token does not permit it' in done.err and 'to allow' not in done.err, done


def test_trust_says_so(plain):
    incident = in_safe_mode(plain)
    assert f'safe, whatever its score: ward incidents show {incident["id"]}' in plain('trust', 'robot').out
    assert json.loads(plain('trust', '--json', 'robot').out)['safe_mode'] == incident['id']
    # One that cannot be read hides no other.
    with open(plain.state / 'ward/agents/robot/trust.jsonl', 'a', encoding='utf-8') as file:
        file.write('x\n')
    assert plain('trust', 'task', 'ci-2', '--why', 'x').code == 0
    done = plain('trust')
    assert done.code == 125 and 'robot' in done.err and 'ci-2\n' in done.out, done


def test_a_hook_lets_nothing_be_written(plain):
    plain.policy('trust: {agents: [claude-code]}\nrules: [{command: "date **", do: deny, why: no dates}]\n')
    call = {'session_id': 's', 'cwd': str(plain.work), 'hook_event_name': 'PreToolUse', 'tool_name': 'Write', 'permission_mode': 'default',
            'tool_input': {'file_path': str(plain.work / 'f'), 'content': 'x'}}
    assert plain('hook', input=json.dumps(call).encode()).out.strip() == '{}'
    assert plain('run', '--agent', 'claude-code', '--', 'date').code == 126
    said = json.loads(plain('hook', input=json.dumps(call).encode()).out)['hookSpecificOutput']
    assert said['permissionDecision'] == 'deny' and 'safe mode, by incident' in said['permissionDecisionReason']


def test_check_says_so(plain):
    incident = in_safe_mode(plain)
    checked = json.loads(plain('check', '--json', '--agent', 'robot', '--', 'ls').out)
    jsonschema.validate(checked, CHECK)
    assert checked['safe_mode'] == incident['id'] and checked['verdict'] == 'allow'
    assert incident['id'] in plain('check', '--agent', 'robot', '--', 'ls').out
    assert 'safe_mode' not in json.loads(plain('check', '--json', '--', 'ls').out)


def asks_for(outside):
    return f'tiers: {{high: ["write {outside}/**"]}}\n'


def test_what_was_granted_ends(ward, outside):
    says(ward, rest=asks_for(outside))
    process = start(ward, f'echo x > {outside}/f')
    assert ward('approve', waits(ward)[0]['id'], '--scope', 'session').code == 0
    assert finish(ward, process)['exit_code'] == 0
    # The session is that of whoever calls: this process.
    grant, = [json.loads(line) for line in ward('grants', '--json').out.splitlines()]
    process = start(ward, 'cat closed; sleep 300', '--session', 'another')
    incident = opens(ward)
    assert [each['id'] for each in incident['grants']] == [grant['id']]
    assert ward('grants', '--json').out == ''
    assert [record['grant']['id'] for record in records(ward, 'grant.revoke')] == [grant['id']]
    if is_frozen(ward):
        ward('incidents', 'kill', incident['id'])
    ward.finish(process)


def test_no_token_of_before_holds(ward):
    says(ward, ', violations: {then: kill}')
    mint, other = (ward('token', 'mint', '--agent', 'robot', '--allow', 'read **', '--expires', '10m').out.strip() for _ in range(2))
    result = finish(ward, start(ward, f'cat {ward.place}/state/ward/audit.log; sleep 1', '--token', mint))
    incident = opens(ward)
    assert incident['violations'][0]['violation'] == 'token' and result['safe_mode'] == incident['id']
    for token in (mint, other):
        verified = ward('token', 'verify', token)
        assert verified.code == 126, verified
    assert 'no token' in verified.err and incident['id'] in verified.err
    assert 'no token' in ward('run', '--agent', 'robot', '--token', other, '--', 'true').err
    close(ward, incident)
    assert ward('run', '--agent', 'robot', '--token', other, '--', 'true').code == 126
    assert 'ward token mint' in ward('token', 'verify', other).err
    # Who is not under trust has no mode: a run would take it.
    ward.policy('trust: {agents: [somebody]}\n')
    assert ward('token', 'verify', other).code == 0


def test_medium_ones_are_borne_until_there_are_too_many(ward):
    says(ward, ', violations: {medium: 2, within: 1h}')
    hog = 'import sys; b = bytearray(400 << 20)'
    for i in range(3):
        assert not incidents(ward)
        result = ward.result('--agent', 'robot', '--memory', '64M', '--', '/usr/bin/python3', '-c', hog)
        assert result['limit'] == 'memory', result
    incident, = incidents(ward)
    assert incident['violations'][0]['what'] == 'resource_limit'
    assert [record['object'] for record in records(ward, 'violation')] == ['memory'] * 3


def test_a_time_that_the_caller_has_set_is_his_own_affair(plain):
    says(plain, ', violations: {medium: 0, within: 1h}')
    assert plain.result('--agent', 'robot', '--timeout', '100ms', '--', 'sleep', '5')['timed_out']
    assert not incidents(plain)


def test_a_command_that_a_rule_denies_is_one(ward):
    says(ward, rest='rules: [{command: "date **", do: deny, why: no dates}]\n')
    result = ward.result('--agent', 'robot', '--', 'date')
    assert result['status'] == 126
    incident, = incidents(ward)
    assert incident['violations'][0]['object'] == 'date'
    assert incident['violations'][0]['what'] == 'permission_denied' and result['safe_mode'] == incident['id']


def test_a_program_that_a_rule_denies_is_one_when_it_is_started(ward):
    says(ward, ', violations: {then: kill}', 'rules: [{command: "date **", do: deny, why: no dates}]\n')
    script = ward.file('script', 'd=da; $d""te; sleep 300\n')
    result = finish(ward, ward.popen('run', '--json', '--agent', 'robot', '--', 'sh', str(script)))
    assert result['safe_mode'] == opens(ward)['id']


def test_a_target_that_a_person_refused_is_one_in_a_later_run(ward, outside):
    says(ward, rest=asks_for(outside))
    process = start(ward, f'echo x > {outside}/f; exit 0')
    assert ward('deny', waits(ward)[0]['id']).code == 0
    ward.finish(process)
    assert not incidents(ward)
    process = start(ward, f'echo x > {outside}/f; exit 0')
    incident = opens(ward)
    assert (incident['violations'][0]['violation'], incident['violations'][0]['object']) == ('refused', f'{outside}/f')
    ward('incidents', 'kill', incident['id'])
    ward.finish(process)
    # Whoever closes it has looked at that, too: it is asked again.
    close(ward, incident)
    process = start(ward, f'echo x > {outside}/f; exit 0')
    ward('deny', waits(ward)[0]['id'])
    ward.finish(process)


def test_a_stray_write_is_none(ward, outside):
    says(ward, rest='approval: never\n')
    assert ward('run', '--agent', 'robot', '--', 'sh', '-c', f'echo x > {outside}/f; cat /etc/shadow').code != 0
    assert not incidents(ward) and not records(ward, 'violation')


def test_others_are_not_bound(ward):
    says(ward)
    assert ward('run', '--agent', 'somebody', '--', 'cat', 'closed').code != 0
    assert ward('run', '--', 'cat', 'closed').code != 0
    assert not incidents(ward)


def test_a_review_says_something(plain):
    incident = in_safe_mode(plain)
    assert plain('incidents', 'close', incident['id']).code == 125
    assert plain('incidents', 'close', incident['id'], '--note', '  ').code == 125
    assert 'open' in plain('incidents').out
    close(plain, incident, 'a rule that was too strict')
    assert plain('incidents').out == 'no incident is open\n'
    closed, = incidents(plain, '--all')
    assert closed['note'] == 'a rule that was too strict' and closed['by'].split('@')[0] == plain.person.name and closed['closed']
    assert plain('incidents', 'close', incident['id'], '--note', 'again').code == 125
    assert 'a rule that was too strict' in plain('incidents', 'show', incident['id']).out
    assert records(plain, 'incident.closed')[0]['note'] == 'a rule that was too strict'
    assert plain('incidents', 'show', 'nosuch').code == 125


def test_a_supervisor_that_is_killed_leaves_the_agent_in_safe_mode(ward):
    says(ward)
    mark = marker()
    process = start(ward, f': {mark}; cat closed; sleep 300')
    incident = opens(ward)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert all_gone(mark)
    assert incidents(ward)[0]['id'] == incident['id']
    assert ward.result('--agent', 'robot', '--', 'true')['safe_mode'] == incident['id']
    close(ward, incident)


def test_a_violation_in_safe_mode_is_part_of_the_same_incident(ward):
    incident = in_safe_mode(ward)
    finish(ward, start(ward, 'cat closed; sleep 300'))
    again, = incidents(ward)
    assert again['id'] == incident['id'] and len(again['violations']) == 2 and len(again['moments']) == 1


def test_a_mode_that_cannot_be_read_is_a_refusal(plain):
    in_safe_mode(plain)
    (plain.state / 'ward' / 'agents' / 'robot' / 'mode.json').write_text('{')
    done = plain('run', '--agent', 'robot', '--', 'true')
    assert done.code == 125 and 'mode.json' in done.err


def test_one_that_waits_for_an_answer_is_told_too(ward, outside):
    says(ward, rest=asks_for(outside))
    asks = start(ward, f'echo x > {outside}/f; echo after')
    waits(ward)
    before = start(ward, 'true', '--approval', 'unless-trusted')
    waits(ward, 2)
    process = start(ward, 'cat closed; sleep 300')
    incident = opens(ward)
    if is_frozen(ward):
        # The question is withdrawn: nobody gives it anything now.
        assert wait_until(lambda: len(waits_now(ward)) == 1)
        ward('incidents', 'kill', incident['id'])
    assert wait_until(lambda: len(waits_now(ward)) == 1)
    # And a yes to one that has not begun comes too late.
    ward('approve', waits_now(ward)[0]['id'])
    assert finish(ward, before)['error']['kind'] == 'rejected'
    for each in (asks, process):
        assert finish(ward, each)['safe_mode'] == incident['id']
    assert not (outside / 'f').exists()


def waits_now(ward):
    return [json.loads(line) for line in ward('pending', '--json').out.splitlines()]


def test_events_tell_of_it(plain):
    incident = in_safe_mode(plain)
    close(plain, incident)
    events = [json.loads(line) for line in plain('events').out.splitlines()]
    for event in events:
        jsonschema.validate(event, EVENT)
    opened, = [event for event in events if event['kind'] == 'incident.opened']
    assert opened['incident'] == incident['id'] and opened['agent'] == 'robot' and opened['violation']['severity'] == 'high'
    assert [event['kind'] for event in events if event['kind'].startswith('incident.')] == ['incident.opened', 'incident.closed']


def test_channels_tell_of_it(plain):
    plain.file(plain.home / 'secret', SECRET + '\n', 0o600)
    with receiving() as receiver:
        try:
            incident = in_safe_mode(plain, f'notify:\n  security:\n    - {{name: team, webhook: "{receiver.url}", secret_file: {plain.home}/secret, risk: critical}}\n')
            assert wait_until(lambda: 'incident' in receiver.events())
        finally:
            end_deliverers(plain)
    message = [body for body in receiver.bodies() if body['event'] == 'incident'][0]
    assert message['about']['incident'] == incident['id'] and message['about']['agent'] == 'robot' and message['to'] == 'security'
    assert message['about']['violation']['object'] == f'{plain.work}/closed'


def test_where_there_is_no_freezer_it_is_ended_at_once(ward):
    """A group for the run cannot be made in a tree that is read-only."""
    says(ward)
    if not ward.person.is_root:
        pytest.skip('needs root to hide the groups')
    line = f'mount --make-rprivate / && mount -t tmpfs none /sys/fs/cgroup && exec {ward.binary} run --json --agent robot -- sh -c "cat closed; sleep 300"'
    process = ward.popen('-m', 'sh', '-c', line, program='/usr/bin/unshare')
    assert finish(ward, process)['error']['kind'] == 'rejected'
    assert records(ward, 'incident.opened')[0]['commands'] == 'killed'


def test_the_inbox_shows_and_closes_it(plain):
    incident = in_safe_mode(plain)
    with serving(plain) as web:
        browser = web.browser()
        row, = browser.get('/api/incidents').json['incidents']
        assert (row['id'], row['agent']) == (incident['id'], 'robot') and row['violations'][0]['object'] == f'{plain.work}/closed'
        assert browser.get(f'/api/incidents/{incident["id"]}').json['ledger']
        assert browser.get(f'/api/incidents/{"0" * 26}').status == 404
        path = f'/api/incidents/{incident["id"]}/answer'
        for body in ({}, {'answer': 'close'}, {'answer': 'close', 'note': ' '}, {'answer': 'no'}):
            assert browser.post(path, body).status == 400
        assert browser.post(path, {'answer': 'close', 'note': 'x'}, X_Ward_CSRF='wrong').status == 403
        assert incidents(plain)
        assert browser.post(path, {'answer': 'kill'}).status == 200
        assert browser.post(path, {'answer': 'close', 'note': 'seen in the browser'}).status == 200
        assert browser.get('/api/incidents').json == {'incidents': []}
        assert browser.post(path, {'answer': 'resume'}).status == 400
    closed, = incidents(plain, '--all')
    assert closed['note'] == 'seen in the browser' and closed['by']
    assert 'safe_mode' not in plain.result('--agent', 'robot', '--', 'true')


def test_those_who_look_for_questions_are_told(plain):
    incident = in_safe_mode(plain)
    said = plain('pending').out
    assert 'robot is in safe mode' in said and incident['id'] in said
    assert plain('pending', '--json').out == ''
    close(plain, incident)
    assert plain('pending').out == 'nothing waits for an answer\n'


def test_who_did_not_hear_of_it_in_time_is_ended(ward):
    says(ward, ', violations: {then: kill}')
    late = start(ward, TICK.format(file='count'), '--session', 'another')
    assert wait_until(lambda: counts(ward) > 3)
    os.kill(late.pid, signal.SIGSTOP)
    try:
        assert finish(ward, start(ward, 'cat closed; sleep 300'))['safe_mode']
        close(ward, opens(ward))
    finally:
        os.kill(late.pid, signal.SIGCONT)
    assert 'was in safe mode meanwhile' in finish(ward, late)['error']['message']


@pytest.fixture
def elsewhere(binary, user, place):
    """Root, in a workspace of the plain user: what its agents do is kept in that one's state."""
    if os.geteuid() != 0:
        pytest.skip('needs root')
    root = Ward(binary, Person('root'), place)
    os.chown(root.work, user.uid, user.gid)
    kept = pathlib.Path(pwd.getpwnam(user.name).pw_dir, '.local/state/ward/agents')
    root.kept = kept / 'ci-elsewhere'
    yield root
    shutil.rmtree(root.kept, ignore_errors=True)


def test_a_bad_token_stops_what_runs_as_another_user(elsewhere):
    says(elsewhere, ', violations: {then: kill}')
    process = start(elsewhere, TICK.format(file='count'), agent='ci-elsewhere')
    assert wait_until(lambda: counts(elsewhere) > 3)
    assert elsewhere('run', '--agent', 'ci-elsewhere', '--token', 'none', '--', 'true').code == 126
    assert 'safe mode' in finish(elsewhere, process)['error']['message']
    mode = json.loads((elsewhere.kept / 'mode.json').read_text())
    assert mode['mode'] == 'safe' and (elsewhere.kept / 'mode.json').stat().st_uid == elsewhere.kept.stat().st_uid
    assert elsewhere.result('--agent', 'ci-elsewhere', '--', 'true')['safe_mode'] == mode['incident']
    # What it lost is lost where the score is looked up.
    assert json.loads((elsewhere.kept / 'trust.jsonl').read_text().splitlines()[-1])['kind'] == 'violation'


def test_either_of_two_states_is_enough(elsewhere):
    says(elsewhere)
    elsewhere.result('--agent', 'ci-elsewhere', '--', 'true')
    incident = '01m7' + 'a' * 22
    own = elsewhere.kept / 'mode.json'
    own.write_text(json.dumps({'mode': 'normal', 'incident': None, 'freezes': 1, 'voided': 4000000000}))
    os.chown(own, elsewhere.kept.stat().st_uid, -1)
    other = elsewhere.state / 'ward/agents/ci-elsewhere'
    other.mkdir(0o700, parents=True)
    (other / 'mode.json').write_text(json.dumps({'mode': 'safe', 'incident': incident, 'freezes': 1, 'voided': 1}))
    result = elsewhere.result('--agent', 'ci-elsewhere', '--', 'sh', '-c', 'echo x > new')
    assert result.get('safe_mode') == incident and not (elsewhere.work / 'new').exists()


def test_a_full_disk_hides_no_violation(small_disk):
    """An agent may have filled it."""
    ward = small_disk
    says(ward, ', violations: {then: kill}')
    assert ward.result('--agent', 'robot', '--', 'true')['exit_code'] == 0
    holders = ward.state / 'ward/agents/robot/holders'
    process = start(ward, 'until test -e go; do sleep 0.02; done; cat closed; echo x > went-on')
    assert wait_until(lambda: any(holders.iterdir()))
    fill(ward.state)
    ward.file('go')
    result = finish(ward, process)
    assert result['error'] and not (ward.work / 'went-on').exists(), result
    # Nobody starts it as long as it is so, and then it is in safe mode.
    assert ward('run', '--agent', 'robot', '--', 'true').code == 125
    (ward.state / 'ballast').unlink()
    result = ward.result('--agent', 'robot', '--', 'sh', '-c', 'echo x > new')
    incident, = incidents(ward)
    assert result['safe_mode'] == incident['id'] and not (ward.work / 'new').exists()
    close(ward, incident)
    assert 'safe_mode' not in ward.result('--agent', 'robot', '--', 'true')
