# SPDX-License-Identifier: Apache-2.0
"""What lies among the tickets need not be what ward has left there; disks are full, clocks wrong, and several come at once."""
import json
import os
import pathlib
import shutil
import signal
import time

import pytest

from support import wait_until
from test_defer import ASKED, asks, deferred, is_state, keeper, kept, pending, tickets  # noqa: F401
from test_record_faults import fill, small_disk  # noqa: F401


def place_of(ward, ticket):
    return ward.state / 'ward' / 'tickets' / ticket


def is_gone(pid):
    """Ended, whether or not somebody has taken note of it."""
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] == 'Z'
    except OSError:
        return True


def forsake(ward, ticket):
    """Its keeper is gone, for good."""
    pid = keeper(ward, ticket)
    kept(ward, ticket)
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: is_gone(pid))


def change(ward, name, **values):
    path = place_of(ward, name) / 'state.json'
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def hostile(place, outside):
    """What may lie there in the place of a ticket's file, by name."""
    def put(name, make):
        def act():
            (place / name).unlink(missing_ok=True)
            make(place / name)
        return act

    def text(value):
        return lambda path: path.write_bytes(value)

    def link(path):
        path.symlink_to(outside)

    cases = {}
    for name in ('state.json', 'request.json', 'lock', 'result.json', 'stdout'):
        cases[f'{name} is a link'] = put(name, link)
        cases[f'{name} is a pipe'] = put(name, os.mkfifo)
        cases[f'{name} is a directory'] = put(name, os.mkdir)
        cases[f'{name} is not there'] = put(name, lambda path: None)
    for name in ('state.json', 'request.json', 'result.json'):
        whole = (place / name).read_bytes() if (place / name).exists() else b'{}'
        cases[f'{name} is cut'] = put(name, text(whole[:len(whole) // 2]))
        cases[f'{name} is empty'] = put(name, text(b''))
        cases[f'{name} is no object'] = put(name, text(b'[1, 2]'))
        cases[f'{name} is odd'] = put(name, text(b'{"ticket": 1, "state": [], "ask": "../../x", "request": {"argv": ["id"]}, "flags": 3}'))
        cases[f'{name} has a NUL'] = put(name, text(b'{"state": "done\\u0000"}'))
    return cases


NAMES = list(hostile(pathlib.Path('/nonexistent'), '/'))


@pytest.mark.parametrize('case', NAMES)
def test_what_is_odd_among_the_files_of_a_ticket_harms_nobody(plain, case):
    ward = plain
    ward.policy(ASKED)
    bad, _ = deferred(ward, 'touch bad')
    good, question = deferred(ward, 'touch good')
    outside = ward.place / 'treasure'
    outside.write_text('mine')
    forsake(ward, bad)
    hostile(place_of(ward, bad), outside)[case]()
    for path in place_of(ward, bad).iterdir():
        ward.person.own(path) if not path.is_symlink() else None
    assert ward('wait', bad, '--timeout', '1s').code in (75, 125, 126)
    assert ward('wait', '--cancel', bad).code in (0, 125)
    assert good in [one['ticket'] for one in tickets(ward)]
    kept(ward, good)
    assert ward('approve', question).code == 0 and ward('wait', good).code == 0
    assert (ward.work / 'good').exists() and not (ward.work / 'bad').exists()
    assert outside.read_text() == 'mine'


def test_a_ticket_that_is_a_link_or_somebody_else_s_is_none(ward):
    if os.geteuid() != 0:
        pytest.skip('needs root')
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made')
    forsake(ward, ticket)
    real = place_of(ward, ticket)
    shutil.move(real, ward.place / 'elsewhere')
    real.symlink_to(ward.place / 'elsewhere')
    done = ward('wait', ticket)
    assert done.code == 125 and 'damaged, or not ours' in done.err, done
    real.unlink()
    shutil.move(ward.place / 'elsewhere', real)
    os.chown(real, 12345, 12345)
    done = ward('wait', ticket)
    assert done.code == 125 and 'not ours' in done.err, done
    assert tickets(ward) == [] and not (ward.work / 'made').exists()


def test_a_directory_of_tickets_that_others_may_write_is_not_used(ward):
    ward.policy(ASKED)
    ticket, _ = deferred(ward, 'touch made')
    forsake(ward, ticket)
    (ward.state / 'ward' / 'tickets').chmod(0o777)
    assert ward('wait', ticket).code == 125 and not (ward.work / 'made').exists()


def test_where_no_ticket_can_be_made_the_answer_is_no(plain):
    ward = plain
    ward.policy(ASKED)
    (ward.state / 'ward').mkdir(mode=0o700)
    (ward.state / 'ward' / 'tickets').write_text('no directory')
    ward.person.own(ward.state / 'ward', ward.state / 'ward' / 'tickets')
    process = ward.popen('run', '--wait', '600s', '--json', '-c', 'touch made')
    assert wait_until(lambda: pending(ward))
    assert ward('defer', pending(ward)[0]['id']).code == 0
    done = ward.finish(process)
    result = json.loads(done.out)
    assert done.code == 125 and result['ticket'] is None and 'tickets' in result['error']['message'], done
    assert not (ward.work / 'made').exists() and pending(ward) == []


def test_a_full_disk_loses_no_answer(small_disk):
    ward = small_disk
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made; echo run >> runs')
    kept(ward, ticket)
    pid = keeper(ward, ticket)
    os.kill(pid, signal.SIGSTOP)
    assert ward('approve', question).code == 0
    fill(ward.state)
    os.kill(pid, signal.SIGCONT)
    assert wait_until(lambda: is_gone(pid))
    ran = (ward.work / 'runs').exists()  # only where there was room to write down that it begins
    assert not ran or tickets(ward)[0]['run']
    (ward.state / 'ballast').unlink()
    done = ward('wait', ticket)
    assert not ran or done.code in (0, 125), done  # 125: not for its end
    assert ran or (done.code, (ward.work / 'runs').exists()) in ((0, True), (125, False)), done
    assert not (ward.work / 'runs').exists() or (ward.work / 'runs').read_text() == 'run\n'


def test_a_disk_that_fills_while_it_runs_is_told(small_disk):
    ward = small_disk
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made; echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; yes | head -c 9000000')
    kept(ward, ticket)
    assert ward('approve', question).code == 0
    assert wait_until(lambda: (ward.work / 'begun').exists())
    pid = keeper(ward, ticket)
    fill(ward.state)
    (ward.work / 'go').write_text('')
    assert wait_until(lambda: is_gone(pid))
    (ward.state / 'ballast').unlink()
    state = tickets(ward)[0]
    assert state['state'] == 'lost' or state.get('truncated'), state


def test_many_who_come_at_once_give_it_one_keeper(plain):
    ward = plain
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made; echo run >> runs')
    for _ in range(5):
        forsake(ward, ticket)
        many = [ward.popen('wait', '--list') for _ in range(6)]
        assert all(ward.finish(one).code == 0 for one in many)
        kept(ward, ticket)
    assert ward('approve', question).code == 0
    waiters = [ward.popen('wait', ticket) for _ in range(4)]
    assert {ward.finish(one).code for one in waiters} == {0}
    assert (ward.work / 'runs').read_text() == 'run\n'


def test_a_clock_that_was_set_back_makes_nobody_wait_longer(plain):
    ward = plain
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made')
    forsake(ward, ticket)
    (ward.state / 'ward' / 'asks' / question).unlink()
    change(ward, ticket, end=int(time.time()) + 365 * 24 * 3600)
    until = kept(ward, ticket)['until']
    assert until <= time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(time.time() + 8 * 24 * 3600))


def test_what_nobody_has_answered_in_time_is_over(plain):
    ward = plain
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made')
    forsake(ward, ticket)
    change(ward, ticket, end=int(time.time()) - 1)
    done = ward('wait', ticket)
    assert done.code == 126 and 'nobody has answered in time' in done.err
    assert tickets(ward)[0]['state'] == 'expired' and pending(ward) == []
    assert ward('approve', question).code == 125 and not (ward.work / 'made').exists()
    assert not (place_of(ward, ticket) / 'request.json').exists()


def test_what_is_long_over_is_removed(plain):
    ward = plain
    ward.policy(ASKED)
    old, _ = deferred(ward, 'touch made')
    assert ward('wait', '--cancel', old).code == 0
    lost, question = deferred(ward, 'touch made; echo > begun; sleep 1000')
    assert ward('approve', question).code == 0 and wait_until(lambda: (ward.work / 'begun').exists())
    os.kill(keeper(ward, lost), signal.SIGKILL)
    assert is_state(ward, lost, 'lost')
    new, _ = deferred(ward, 'touch made')
    assert ward('wait', '--cancel', new).code == 0
    for ticket in (old, lost):
        os.utime(place_of(ward, ticket) / 'state.json', (0, 0))
    assert wait_until(lambda: [one['ticket'] for one in tickets(ward)] == [new])
    assert wait_until(lambda: sorted(path.name for path in (ward.state / 'ward' / 'tickets').iterdir()) == ['.open', new])


def opens(ward):
    return sorted(path.name for path in (ward.state / 'ward' / 'tickets' / '.open').iterdir())


def test_what_is_open_is_known_by_name(plain):
    """So that nobody who looks for it reads what is over."""
    ward = plain
    ward.policy(ASKED)
    over, _ = deferred(ward, 'touch made')
    waiting, question = deferred(ward, 'touch made')
    assert opens(ward) == sorted([over, waiting])
    assert ward('wait', '--cancel', over).code == 0
    assert wait_until(lambda: opens(ward) == [waiting])
    # What looks for leaks cannot while it is traced.
    traced = ward('-E', 'ASAN_OPTIONS=detect_leaks=0', '-f', '-e', 'trace=openat', ward.binary, 'pending', program='/usr/bin/strace')
    assert traced.code == 0 and waiting in traced.err and over not in traced.err
    assert ward('approve', question).code == 0 and ward('wait', waiting).code == 0
    assert wait_until(lambda: opens(ward) == [])


def test_tickets_from_before_there_were_such_names_go_on(plain):
    ward = plain
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made')
    os.kill(keeper(ward, ticket), signal.SIGKILL)
    shutil.rmtree(ward.state / 'ward' / 'tickets' / '.open')
    assert ward('approve', question).code == 0 and ward('wait', ticket).code == 0
    assert (ward.work / 'made').exists() and wait_until(lambda: opens(ward) == [])


def test_a_name_without_a_ticket_goes_in_time(plain):
    ward = plain
    ward.policy(ASKED)
    ticket, _ = deferred(ward, 'touch made')
    names = ward.state / 'ward' / 'tickets' / '.open'
    for name in ('0' * 26, '0' * 25 + '1'):
        ward.file(names / name)
    os.utime(names / ('0' * 26), (0, 0))
    # Its maker was killed before it had its name, and all of a request lies there.
    half = ward.state / 'ward' / 'tickets' / ('.new-' + '0' * 25 + '2')
    for name in ('lock', 'request.json'):
        ward.file(half / name)
    ward.file(names / half.name[5:])
    assert ward('pending').code == 0 and not half.exists()
    assert opens(ward) == sorted(['0' * 25 + '1', ticket])
    assert ward('wait', '--cancel', ticket).code == 0


def add_over(ward, like, count, age, start='0' * 20):
    """So many more that are over; by their names they began before all others, or as start says."""
    place = ward.state / 'ward' / 'tickets'
    # Its end is told before its keeper has cleared it away, and that is the last that is done there.
    assert wait_until(lambda: not (place / like / 'request.json').exists())
    for number in range(count):
        name = start + f'{number:06d}'
        shutil.copytree(place / like, place / name)
        change(ward, name, ticket=name)
        os.utime(place / name / 'state.json', (time.time() - age,) * 2)
    for path in place.rglob('*'):
        ward.person.own(path)


def test_only_so_many_results_are_kept(plain):
    ward = plain
    ward.policy(ASKED)
    first, _ = deferred(ward, 'touch made')
    assert ward('wait', '--cancel', first).code == 0
    is_state(ward, first, 'cancelled')
    add_over(ward, first, 220, 7200)
    assert wait_until(lambda: len(tickets(ward)) == 200)
    assert first in [one['ticket'] for one in tickets(ward)], 'the oldest go'


def test_a_session_s_end_is_not_the_end_of_its_tickets(plain):
    """After a reboot the process that a session was named after is gone."""
    ward = plain
    ward.policy(ASKED)
    ticket, question = deferred(ward, 'touch made; echo > /tmp/scratch', '--session', 'pid-999999999-1')
    kept(ward, ticket)
    assert ward('session', 'end', 'pid-999999999-1').code != 0, 'its keeper is in it'
    assert ward('run', '--session', 'fresh', '--', 'true').code == 0
    assert ward('approve', question).code == 0 and ward('wait', ticket).code == 0


@pytest.mark.parametrize('age, left', [(7200, 200), (60, 251)], ids=['old', 'fresh'])
def test_what_ended_just_now_is_kept_however_long_ago_it_began(plain, age, left):
    """Also where a great many have ended since it began; and so are those that nobody had the time to look at."""
    ward = plain
    ward.policy(ASKED)
    first, question = deferred(ward, 'touch made; echo of the first')
    other, _ = deferred(ward, 'touch made')
    assert ward('wait', '--cancel', other).code == 0
    add_over(ward, other, 249, age, start='7' + 'z' * 19)
    assert ward('approve', question).code == 0
    done = ward('wait', first)
    assert (done.code, done.out) == (0, 'of the first\n')
    assert wait_until(lambda: len(tickets(ward)) == left)
    assert ward('wait', first).out == 'of the first\n'
