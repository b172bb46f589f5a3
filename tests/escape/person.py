# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal who says yes to exactly what was agreed, and no to everything else."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from conftest import PATIENCE

QUIET = 0.55  # keys within the first half second of a question do not count
AGAIN = 3     # on a busy machine that half second may last longer, so that a key has to be pressed again

QUESTION = re.compile(r"ward asks: .*?help\r\n> ", re.DOTALL)
WANTED = re.compile(r"wants (?:(to \w+) )?\"?([^\s\"]+)")


class Sitting:
    """What was asked while a command ran, and how it ended."""

    def __init__(self):
        self.asked, self.shown, self.code = [], "", None

    def __repr__(self):
        return f"exit {self.code}, asked {self.asked}\n{self.shown[-3000:]}"


def sit(place, argv, agreed=(), off=(), flags=(), variables=None, while_asked=None, before=(),
        timeout=PATIENCE, **more):
    """Runs it under ward at a terminal. agreed: questions that are answered with yes, as "write PATH" or "delete PATH".
    while_asked is called with each question and ward's process before it is answered. before: words to start ward with."""
    sitting, seen = Sitting(), 0
    key = pressed = None
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 500, 0, 0))
    os.chown(os.ttyname(slave), place.uid, place.gid)
    process = subprocess.Popen(
        [str(word) for word in (*before, place.unwalled if off else place.ward, "run", *flags, "--", *argv)],
        stdin=slave, stdout=slave, stderr=slave, cwd=place.workspace, start_new_session=True,
        env=place.environment(off, TERM="xterm", **(variables or {})),
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **place.options(), **more)
    end = time.monotonic() + timeout
    try:
        while process.poll() is None or select.select([master], [], [], 0.02)[0]:
            if select.select([master], [], [], 0.05)[0]:
                sitting.shown += os.read(master, 65536).decode(errors="replace")
                pressed = None if key and len(sitting.shown) > seen else pressed
            assert time.monotonic() < end, sitting
            question = QUESTION.search(sitting.shown, seen)
            if question:
                seen = question.end()
                wanted = WANTED.search(re.sub(r"\x1b\[[0-9;]*m", "", question.group()))
                verb, wanted = wanted.groups() if wanted else ("retry", "")
                sitting.asked.append(f"{verb.removeprefix('to ') if verb else 'connect'} {wanted}")
                if while_asked:
                    while_asked(sitting.asked[-1], process)
                key = b"y" if sitting.asked[-1] in agreed else b"n"
                time.sleep(QUIET)
                pressed = time.monotonic() - AGAIN
            if pressed and time.monotonic() >= pressed + AGAIN:
                os.write(master, key)
                pressed = time.monotonic()
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)
    sitting.code = process.returncode
    return sitting
