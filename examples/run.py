#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libward from Python, through ctypes: runs a command, shows its output as it comes, answers its questions.

run.py LIBRARY WARD yes|no COMMAND [ARGUMENT...]"""
import ctypes
import json
import sys

PASS, APPROVE, DENY, ABORT, LATER = range(5)
OUTPUT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p)
ASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Error(Exception):
    pass


class Ward:
    """A handle. Several threads may use it."""

    def __init__(self, library, workspace=None, program=None):
        self.library = ctypes.CDLL(library)
        for name in ('ward_open', 'ward_start'):
            getattr(self.library, name).restype = ctypes.c_void_p
        for name in ('ward_error_message', 'ward_result_json', 'ward_ask_json', 'ward_version'):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.functions = []  # the library calls them, and Python must not free them before
        if program:
            self.call('ward_set_program', program.encode())
        self.handle = ctypes.c_void_p(self.call('ward_open', workspace.encode() if workspace else None))

    def call(self, name, *arguments):
        """A function that can fail."""
        error = ctypes.c_void_p()
        returned = getattr(self.library, name)(*arguments, ctypes.byref(error))
        if error:
            message = self.library.ward_error_message(error).decode()
            self.library.ward_error_free(error)
            raise Error(message)
        return returned

    def set(self, key, value):
        self.call('ward_set', self.handle, key.encode(), value.encode())

    def add(self, key, value):
        self.call('ward_add', self.handle, key.encode(), value.encode())

    def on_output(self, function):
        """function(stream, bytes)"""
        self.functions.append(OUTPUT(lambda run, stream, data, length, _: function(stream, ctypes.string_at(data, length))))
        self.library.ward_on_output(self.handle, self.functions[-1])

    def on_ask(self, function):
        """function(question) -> APPROVE, DENY..."""
        self.functions.append(ASK(lambda run, ask, answer, _: function(json.loads(self.library.ward_ask_json(ctypes.c_void_p(ask))))))
        self.library.ward_on_ask(self.handle, self.functions[-1])

    def run(self, *argv):
        """The result of docs/result.schema.json."""
        words = (ctypes.c_char_p * (len(argv) + 1))(*(word.encode() for word in argv), None)
        run = ctypes.c_void_p(self.call('ward_start', self.handle, words, None))
        self.library.ward_wait(run, -1)
        result = json.loads(self.library.ward_result_json(run))
        self.library.ward_run_free(run)
        return result

    def close(self):
        self.library.ward_close(self.handle)


def show(stream, data):
    out = (sys.stdout if stream == 1 else sys.stderr).buffer
    out.write(data)
    out.flush()


def main():
    library, program, answer, *command = sys.argv[1:]
    ward = Ward(library, program=program)
    ward.on_output(show)
    ward.on_ask(lambda question: APPROVE if answer == 'yes' else DENY)
    try:
        result = ward.run(*command)
    finally:
        ward.close()
    if result['error']:
        print(result['error']['message'], file=sys.stderr)
    return result['exit_code'] if result['exit_code'] >= 0 else 126


if __name__ == '__main__':
    sys.exit(main())
