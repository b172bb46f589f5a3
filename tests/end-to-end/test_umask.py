# SPDX-License-Identifier: Apache-2.0
"""What the supervisor makes for a program has the program's umask, however often and by whom that is changed."""
import os

import pytest


def works(ward, script):
    result = ward.result('--', '/usr/bin/python3', '-I', '-c', script)
    assert result['exit_code'] == 0, result['stderr']
    return result['stdout']


def test_each_file_has_the_umask_of_its_moment(ward):
    """Many files in between, so that what is remembered of a busy program would be old."""
    script = '''if True:
        import os
        number = 0
        for mask in [0o022, 0o077, 0o000, 0o027, 0o022, 0o137] * 5:
            os.umask(mask)
            for _ in range(5):
                number += 1
                os.close(os.open(f'f{number}', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                os.mkdir(f'd{number}')
                found = [os.stat(f'f{number}').st_mode & 0o777, os.stat(f'd{number}').st_mode & 0o777]
                assert found == [0o666 & ~mask, 0o777 & ~mask], (oct(mask), [oct(one) for one in found])
        print(number)'''
    assert works(ward, script) == '150\n'


@pytest.mark.parametrize('mask', [0o002, 0o022, 0o027, 0o077])
def test_who_sets_none_has_that_of_ward(ward, mask):
    """And its children; until one of them sets its own, which is that one's alone."""
    script = '''if True:
        import os, sys
        mask = int(sys.argv[1])
        def make(name, expected):
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            os.mkdir('d' + name)
            found = [os.stat(name).st_mode & 0o777, os.stat('d' + name).st_mode & 0o777]
            assert found == [0o666 & ~expected, 0o777 & ~expected], [oct(one) for one in found]
        def child(number, sets):
            pid = os.fork()
            if pid == 0:
                make(f'child-{number}-a', mask)
                if sets: os.umask(0o123)
                make(f'child-{number}-b', 0o123 if sets else mask)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        make('first', mask)
        for number in range(4): child(number, False)
        for number in range(4, 8): child(number, True)
        make('last', mask)
        print('all')'''
    before = os.umask(mask)
    try:
        result = ward.result('--', '/usr/bin/python3', '-I', '-c', script, str(mask))
    finally:
        os.umask(before)
    assert (result['exit_code'], result['stdout']) == (0, 'all\n'), result['stderr']


def test_a_thread_s_umask_is_that_of_all(ward):
    script = '''if True:
        import os, threading
        number = 0
        def make(expected):
            global number
            number += 1
            os.close(os.open(f'f{number}', os.O_CREAT | os.O_WRONLY, 0o666))
            found = os.stat(f'f{number}').st_mode & 0o777
            assert found == 0o666 & ~expected, (oct(expected), oct(found))
        for mask in [0o077, 0o022, 0o000] * 10:
            thread = threading.Thread(target=os.umask, args=(mask,))
            thread.start()
            thread.join()
            for _ in range(4): make(mask)
        print('all')'''
    assert works(ward, script) == 'all\n'


def test_a_child_s_umask_is_its_own(ward):
    script = '''if True:
        import os
        def make(name, expected):
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            assert os.stat(name).st_mode & 0o777 == 0o666 & ~expected, (name, oct(os.stat(name).st_mode))
        os.umask(0o022)
        for number in range(20):
            for n in range(3): make(f'parent-{number}-{n}', 0o022)
            pid = os.fork()
            if pid == 0:
                try:
                    make(f'child-{number}-a', 0o022)
                    os.umask(0o077)
                    for n in range(3): make(f'child-{number}-{n}', 0o077)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(pid, 0)[1] == 0
            for n in range(3, 6): make(f'parent-{number}-{n}', 0o022)
        print('all')'''
    assert works(ward, script) == 'all\n'


def test_one_thread_sets_it_while_another_makes_files(ward):
    """Each file has one of the two, and once it is set for good the last."""
    script = '''if True:
        import os, threading
        def turn():
            for _ in range(500): os.umask(0o077); os.umask(0o022)
        thread = threading.Thread(target=turn)
        thread.start()
        number = 0
        while thread.is_alive():
            number += 1
            os.close(os.open(f'f{number}', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            assert os.stat(f'f{number}').st_mode & 0o777 in (0o600, 0o644)
        thread.join()
        for n in range(10):
            os.close(os.open(f'last{n}', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            assert os.stat(f'last{n}').st_mode & 0o777 == 0o644, oct(os.stat(f'last{n}').st_mode)
        print('all')'''
    assert works(ward, script) == 'all\n'
