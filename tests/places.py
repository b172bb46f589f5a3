# SPDX-License-Identifier: Apache-2.0
"""Directories in which tests have places of their own."""
import contextlib
import fcntl
import os
import pathlib
import struct
import tempfile

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_TOPDIR_FL = 0x80086601, 0x40086602, 0x00020000


def spread(path):
    """Has ext4 lay what is made in the directory far apart. Otherwise all places share one group of inodes; tests remove thousands
    of files, ext4 passes over what was removed in the last seconds, and each new file takes a millisecond of a processor's time
    instead of a fiftieth of one. On other file systems there is nothing to do."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            flags, = struct.unpack('l', fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, struct.pack('l', 0)))
            fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, struct.pack('l', flags | FS_TOPDIR_FL))
    finally:
        os.close(descriptor)


def session_place(prefix):
    """A directory for a session, through which everyone may pass. Not in /tmp, which is private inside a sandbox."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir='/var/tmp'))
    path.chmod(0o755)
    spread(path)
    return path
