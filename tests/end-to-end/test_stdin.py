# SPDX-License-Identifier: Apache-2.0
"""Standard input: from a file, a pipe, a socket, /dev/null, or none."""
import os
import socket

import pytest


def test_a_file_is_read_and_its_offset_kept_for_the_caller(ward):
    ward.file('input', 'abcdefghi')
    assert ward.shell('($WARD run -- head -c 3; echo; cat) < input').out == 'abc\ndefghi'


def test_a_file_is_read_from_where_the_caller_stands(ward):
    ward.file('input', 'abcdefghi')
    assert ward.shell('(dd bs=1 count=2 status=none; echo; $WARD run -- head -c 3; echo; cat) < input').out == 'ab\ncde\nfghi'


def test_a_file_below_tmp_is_read_and_its_offset_kept(below_tmp):
    below_tmp.file('../input', 'abcdefghi')
    line = '(dd bs=1 count=2 status=none; echo; $WARD run -- head -c 3; echo; cat) < ../input'
    assert below_tmp.shell(line).out == 'ab\ncde\nfghi'


def test_a_deleted_file_is_read_and_its_offset_kept(ward):
    ward.file('input', 'abcdefghi')
    line = '(rm input; dd bs=1 count=2 status=none; echo; $WARD run -- head -c 3; echo; cat) < input'
    assert ward.shell(line).out == 'ab\ncde\nfghi'


def test_a_large_file_is_read_whole(ward):
    with open(ward.work / 'input', 'wb') as file:
        file.truncate(300 << 20)
    ward.person.own(ward.work / 'input')
    assert ward.shell('$WARD run -- wc -c < input').out.strip() == str(300 << 20)


def test_a_large_file_that_is_not_there_inside_is_read_whole(plain):
    with open(plain.work / 'input', 'wb') as file:
        file.truncate(300 << 20)
    plain.person.own(plain.work / 'input')
    assert plain.shell('(rm input; $WARD run -- wc -c) < input').out.strip() == str(300 << 20)


def test_a_file_given_as_input_cannot_be_written(ward):
    ward.file('../outside', 'old')
    script = 'echo x >&0; echo x > /dev/stdin; echo x > /proc/self/fd/0; truncate -s0 /dev/stdin; chmod 777 /dev/stdin'
    done = ward.shell(f'$WARD run -- sh -c "{script}" <> ../outside')
    assert done.code != 0
    assert (ward.place / 'outside').read_text() == 'old'
    assert (ward.place / 'outside').stat().st_mode & 0o777 == 0o644


def test_a_masked_file_can_be_handed_in_by_the_caller(plain):
    """The redirection is the caller's own word; the name stays masked."""
    plain.file('.env', 'KEY=1\n')
    done = plain.shell('$WARD run -- cat < .env; $WARD run -- cat .env')
    assert done.out == 'KEY=1\n'


def test_a_pipe_is_read_to_its_end(ward):
    assert ward.shell('seq 5 | $WARD run -- cat').out == '1\n2\n3\n4\n5\n'


def test_a_pipe_keeps_what_was_not_read(plain):
    """A pipe is handed in as it is: nothing is read ahead of the command."""
    assert plain.shell('seq 3 | { $WARD run -- sh -c "read a; echo got \\$a"; cat; }').out == 'got 1\n2\n3\n'


def test_a_here_document_small_and_large(plain):
    assert plain.shell("$WARD run -- cat <<'X'\nhello\nX\n").out == 'hello\n'
    assert plain.shell('$WARD run -- wc -c <<< "$(head -c 200000 /dev/zero | tr "\\0" x)"').out.strip() == '200001'


def test_the_null_device_is_empty(ward):
    assert ward.shell('$WARD run -- wc -c < /dev/null').out.strip() == '0'


def test_a_closed_input_is_empty(ward):
    done = ward.shell('$WARD run -- wc -c <&-')
    assert (done.code, done.out.strip()) == (0, '0')


def test_a_socket_as_input_works(plain):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = plain.popen('run', '--', 'cat', stdin=theirs)
        theirs.close()
        ours.sendall(b'hello')
        ours.shutdown(socket.SHUT_WR)
        assert plain.finish(process).out == 'hello'


def test_a_named_pipe_as_input_works(ward):
    os.mkfifo(ward.work / 'fifo')
    ward.person.own(ward.work / 'fifo')
    assert ward.shell('(echo one; sleep 0.3; echo two) > fifo & $WARD run -- cat < fifo').out == 'one\ntwo\n'


def test_an_input_that_never_ends_does_not_keep_a_command_that_ended(plain):
    read, write = os.pipe()
    try:
        assert plain('run', '--', 'true', stdin=read).code == 0
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize('size', [10_000_000])
def test_binary_data_passes_unharmed(ward, size):
    data = os.urandom(size)
    assert ward('run', '--', 'cat', input=data).raw_out == data
    ward.file('input', data)
    assert ward.shell('$WARD run -- cat < input | $WARD run -- cat > output').code == 0
    assert (ward.work / 'output').read_bytes() == data


def test_input_and_output_do_not_wait_for_each_other(plain):
    """More than any pipe holds, both ways at once."""
    data = os.urandom(3_000_000)
    done = plain('run', '--', 'sh', '-c', 'head -c 1000000 /dev/zero; cat; head -c 1000000 /dev/zero >&2', input=data)
    assert done.raw_out == b'\0' * 1000000 + data and done.raw_err == b'\0' * 1000000


def test_json_takes_input_too(plain):
    done = plain.result('--', 'tr', 'a-z', 'A-Z', input=b'hello')
    assert done['stdout'] == 'HELLO'
