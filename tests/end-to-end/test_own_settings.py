# SPDX-License-Identifier: Apache-2.0
"""Files of /proc by which a program sets up itself: to root all of /proc is read-only, and these are opened for it."""


def works(ward, script):
    result = ward.result('--', '/usr/bin/python3', '-I', '-c', script)
    assert result['exit_code'] == 0, result['stderr']
    assert result['attempts'][0]['denials'] == []
    return result['stdout']


def test_a_program_sets_up_itself_its_threads_and_its_children(ward):
    script = '''if True:
        import os, subprocess, threading
        def put(path, text):
            with open(path, 'r+') as file: file.write(text)
            with open(path) as file: return file.read().strip()
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        child = subprocess.Popen(['sleep', '60'])
        said = [put('/proc/self/comm', 'renamed'), put('/proc/self/oom_score_adj', '500'), put(f'/proc/{os.getpid()}/timerslack_ns', '60000'),
                put(f'/proc/self/task/{thread.native_id}/comm', 'thread'), put(f'/proc/{child.pid}/oom_score_adj', '600')]
        def from_a_thread(): said.append(put('/proc/self/comm', 'again'))
        other = threading.Thread(target=from_a_thread)
        other.start()
        other.join()
        child.kill()
        done.set()
        print(*said, open(f'/proc/{os.getpid()}/comm').read().strip())'''
    assert works(ward, script) == 'renamed 500 60000 thread 600 again again\n'


def test_the_rest_of_proc_is_as_it_was(ward):
    """A debugger writes memory by ptrace where it cannot by a file; nobody is told of a refusal that means nothing."""
    script = '''if True:
        import os
        for path in ('/proc/self/mem', '/proc/self/clear_refs'):
            try: os.close(os.open(path, os.O_RDWR if path.endswith('mem') else os.O_WRONLY)); print('opened')
            except OSError as error: print(error.errno)'''
    said = works(ward, script).split()
    assert said[0] in ('opened', '30') and said[1] == 'opened'
