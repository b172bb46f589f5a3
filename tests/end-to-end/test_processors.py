# SPDX-License-Identifier: Apache-2.0
"""Whoever makes many files shares the supervisor's processor, and must never notice: neither it nor its children stay bound to it."""
import os
import pathlib

from support import wait_until


def works(ward, script):
    result = ward.result('--', '/usr/bin/python3', '-I', '-c', script)
    assert result['exit_code'] == 0, result['stderr']
    return result['stdout']


MAKE = '''if True:
    import os, threading
    number = 0
    def make(count):
        global number
        for _ in range(count):
            number += 1
            os.close(os.open(f'f{number}', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    '''


def test_who_makes_files_may_run_where_it_might_before(ward):
    script = MAKE + '''
    before = os.sched_getaffinity(0)
    for _ in range(500):
        make(5)
        assert os.sched_getaffinity(0) == before, os.sched_getaffinity(0)
    print(sorted(before))'''
    assert works(ward, script) == f'{sorted(os.sched_getaffinity(0))}\n'


def test_children_of_who_makes_files_are_free(ward):
    script = MAKE + '''
    before = os.sched_getaffinity(0)
    for _ in range(40):
        make(20)
        pid = os.fork()
        if pid == 0:
            os._exit(os.sched_getaffinity(0) != before)
        assert os.waitpid(pid, 0)[1] == 0
    print('all')'''
    assert works(ward, script) == 'all\n'


def test_nobody_stays_bound_who_does_not_ask(ward):
    """Children and grandchildren, born in the middle of it: they look in /proc, which nobody is shown, when it is over. So does who made the files."""
    script = MAKE + '''
    import re, time
    def allowed():
        return re.search(r'^Cpus_allowed_list:\\s*(\\S+)', open('/proc/thread-self/status').read(), re.M).group(1)
    before = allowed()
    children = []
    for _ in range(20):
        make(30)
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                time.sleep(0.5)
                os._exit(0) if allowed() == before else open(f'bound-{os.getpid()}', 'w').close()
            time.sleep(0.5)
            os._exit(allowed() != before)
        children.append(pid)
        make(30)
    ended = [os.waitpid(pid, 0)[1] for pid in children]
    time.sleep(0.5)
    assert ended == [0] * len(ended), ended
    assert allowed() == before
    print([name for name in os.listdir() if name.startswith('bound')])'''
    assert works(ward, script) == '[]\n'


def test_a_processor_that_was_chosen_stays_chosen(ward):
    """By the one who makes files, in between, and by another thread meanwhile."""
    script = MAKE + '''
    all = os.sched_getaffinity(0)
    for chosen in [{one} for one in sorted(all)] * 20:
        os.sched_setaffinity(0, chosen)
        make(20)
        assert os.sched_getaffinity(0) == chosen, (chosen, os.sched_getaffinity(0))
    os.sched_setaffinity(0, all)
    tid, done = threading.get_native_id(), False
    def move():
        while not done:
            for one in sorted(all): os.sched_setaffinity(tid, {one})
        os.sched_setaffinity(tid, {min(all)})
    mover = threading.Thread(target=move)
    mover.start()
    make(500)
    done = True
    mover.join()
    assert os.sched_getaffinity(0) == {min(all)}
    make(20)
    assert os.sched_getaffinity(0) == {min(all)}
    print('all')'''
    assert works(ward, script) == 'all\n'


def test_a_command_may_run_where_its_caller_may(ward):
    """Its init begins on another processor than ward's own. Nothing of that is left when the command starts."""
    everywhere = os.sched_getaffinity(0)
    script = 'import os; print(sorted(os.sched_getaffinity(0)))'
    try:
        for chosen in [everywhere] + [{one} for one in sorted(everywhere)[:2]]:
            os.sched_setaffinity(0, chosen)
            assert works(ward, script) == f'{sorted(chosen)}\n'
    finally:
        os.sched_setaffinity(0, everywhere)


def places(pid):
    """Where each of its threads may run, and whatever it has borne but the command's own tree; by what each is called."""
    found = {}
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        found[task.name] = task
        for child in (task / 'children').read_text().split():
            ended = pathlib.Path(f'/proc/{child}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
            if not ended and pathlib.Path(f'/proc/{child}/comm').read_text() != 'ward-init\n':
                found[child] = pathlib.Path('/proc', child)
    return {name: {line.split()[1] for line in (task / 'status').read_text().splitlines() if line.startswith('Cpus_allowed_list')}
            for name, task in found.items()}


def test_ward_and_what_serves_a_run_are_free_when_the_command_has_started(ward):
    """Ward keeps to one processor while the command starts; what it bears for the run would stay there with it."""
    free = {line.split()[1] for line in pathlib.Path('/proc/self/status').read_text().splitlines() if line.startswith('Cpus_allowed_list')}
    for flags in ((), ('--allow-host', 'localhost:1'), ('--publish', '45872:80')):
        with ward.popen('run', *flags, '--', 'sh', '-c', 'sleep 0.1; echo x > begun; exec sleep 60') as process:
            try:
                assert wait_until((ward.work / 'begun').exists)
                assert set(map(frozenset, places(process.pid).values())) == {frozenset(free)}, (flags, places(process.pid))
            finally:
                process.kill()
        (ward.work / 'begun').unlink()
