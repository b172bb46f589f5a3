# SPDX-License-Identifier: Apache-2.0
"""System calls that a flag or a policy adds and takes, and walls that it requires."""
import re
import subprocess

import pytest

from support import SOURCE

LDT = '''
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(154, 0, ctypes.create_string_buffer(16), 16) >= 0, os.strerror(ctypes.get_errno()))
'''
MEMORY = 'import os\ntry: os.memfd_create("x"); print("made")\nexcept OSError as error: print(error.strerror)'


def python(ward, program, *flags):
    return ward.run('/usr/bin/python3', '-c', program, flags=flags)


def test_system_calls_are_added_and_taken_by_flag(ward):
    assert python(ward, LDT).out == 'False Operation not permitted\n'
    assert python(ward, LDT, '--allow-syscall', 'modify_ldt').out.startswith('True ')
    assert python(ward, LDT, '--allow-syscall', 'modify_ldt', '--deny-syscall', 'modify_ldt').out.startswith('False ')
    assert python(ward, MEMORY).out == 'made\n'
    assert python(ward, MEMORY, '--deny-syscall', 'memfd_create').out == 'Operation not permitted\n'
    # One that the supervisor is shown otherwise.
    assert ward.run('mkdir', 'd', flags=['--deny-syscall', 'mkdir', '--deny-syscall', 'mkdirat']).code == 1
    assert not (ward.work / 'd').exists()


def test_system_calls_are_added_and_taken_by_policy(plain):
    plain.policy('sandbox:\n  syscalls: {deny: [memfd_create]}\nprofiles:\n  old: {syscalls: {allow: [modify_ldt]}}\n')
    assert python(plain, MEMORY).out == 'Operation not permitted\n'
    assert python(plain, LDT).out.startswith('False ')
    assert python(plain, LDT, '--profile', 'old').out.startswith('True ')
    assert python(plain, MEMORY, '--profile', 'old').out == 'Operation not permitted\n'


def test_an_untrusted_project_takes_system_calls_and_adds_none(plain):
    plain.file('.ward.yaml', 'sandbox:\n  syscalls: {allow: [modify_ldt], deny: [memfd_create]}\n')
    assert python(plain, LDT).out.startswith('False ')
    assert python(plain, MEMORY).out == 'Operation not permitted\n'
    assert '.ward.yaml:2:22: ignored, because it widens: sandbox.syscalls.allow modify_ldt' in plain('policy', 'check').out


@pytest.mark.parametrize('flag, name, said', [
    ('--allow-syscall', 'io_uring_setup', "'io_uring_setup' is never allowed in a sandbox: "),
    ('--allow-syscall', 'mount', "'mount' is never allowed in a sandbox: "),
    ('--deny-syscall', 'execve', "'execve' cannot be denied: "),
    ('--deny-syscall', 'nonesuch', "'nonesuch' is not the name of a system call"),
    ('--require', 'nonesuch', "there is no wall called 'nonesuch'")])
def test_what_cannot_be_added_or_taken_is_said(plain, flag, name, said):
    done = plain.run('touch', 'made', flags=[flag, name])
    assert done.code == 125 and said in done.err
    assert not (plain.work / 'made').exists()


def test_a_policy_with_a_wrong_system_call_says_where(plain):
    path = plain.policy('sandbox:\n  syscalls:\n    allow: [modify_ldt, bpf]\n')
    done = plain.run('true')
    assert done.code == 125 and f'{path}:3:25: ' in done.err and "'bpf' is never allowed" in done.err
    plain.policy('sandbox:\n  syscalls:\n    deny: [nonesuch]\n')
    assert f'{path}:3:12: ' in plain.run('true').err


def test_a_required_wall_that_stands_is_no_hindrance(plain):
    assert plain.run('true', flags=['--require', 'seccomp', '--require', 'landlock']).code == 0


def test_programs_start_with_every_call_denied_that_can_be(ward):
    """What cannot be denied is enough for a loader, for a shell and for ward's own init."""
    rows = subprocess.run([SOURCE / 'tools' / 'system-calls', 'cc'], capture_output=True, text=True, check=True).stdout
    names, kept = re.findall(r'"(\w+)"', rows), []
    for name in names:
        if 'cannot be denied' in ward('check', '--deny-syscall', name, '--', 'true').err:
            kept.append(name)
    assert 30 < len(kept) < 60 and 'execve' in kept and 'ptrace' not in kept
    flags = [word for name in names if name not in kept for word in ('--deny-syscall', name)]
    assert ward.run('true', flags=flags).code == 0
    assert ward.run('cat', '/etc/passwd', flags=flags).out.startswith('root:')
    assert ward.sh('echo from a shell; exit 3', *flags).code == 3
    # And it ends when its time is over.
    done = ward.sh('while :; do :; done', *flags, '--timeout', '500ms')
    assert done.code == 124
