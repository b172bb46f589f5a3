#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ward's tests on other kernels, each in a machine of its own that qemu emulates. docs/kernels.md says what differs."""
import argparse
import json
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import xml.etree.ElementTree as xml

import image

KERNELS = {'6.1': r'^linux-image-6\.1\.[0-9-]+-cloud-amd64$', '6.12': r'^linux-image-6\.12\.[0-9]+.*-cloud-amd64$'}
# Debian 12's own, which there must be; the other is taken where it can be had.
OLDEST = '6.1'
# A smoke test, the limits (of cgroup v2 there), containers and the attacks.
SUITES = {
    'end-to-end': ['test_result.py', 'test_floor_files.py', 'test_floor_processes.py', 'test_denials_files.py', 'test_limits.py', 'test_doctor.py', 'test_container.py'],
    'escape': ['test_attacks.py', 'test_limits.py', 'test_supervisor.py', 'test_apparmor.py'],
}
# What is shown of a test that passed is nothing.
QUIET = re.compile(r'.* (PASSED|SKIPPED).*\[ *\d+%\]|\s*$')


def machine(directory, disk, words, seconds):
    """Starts it, shows what it says, returns how its first process ended; None if it did not end by itself."""
    results = directory / 'results'
    with open(results, 'wb') as file:
        file.truncate(32 << 20)
    command = ['qemu-system-x86_64', '-M', 'microvm,pit=on,pic=on,rtc=on', '-accel', 'tcg,thread=multi', '-cpu', 'Nehalem', '-smp', '2', '-m', '3G',
               '-no-reboot', '-nodefaults', '-display', 'none', '-serial', 'stdio', '-nic', 'none', '-kernel', directory / 'kernel', '-initrd', directory / 'initramfs',
               '-drive', f'id=disk,file={disk},format=raw,if=none,snapshot=on', '-device', 'virtio-blk-device,drive=disk',
               '-drive', f'id=results,file={results},format=raw,if=none', '-device', 'virtio-blk-device,drive=results',
               '-append', ' '.join(['console=ttyS0 panic=-1 quiet loglevel=2 mitigations=off apparmor=1 security=apparmor tsc_early_khz=1000000', *words])]
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    ended, timer = None, threading.Timer(seconds, process.kill)
    timer.start()
    try:
        for line in process.stdout:
            if not QUIET.match(line):
                print(line, end='', flush=True)
            if line.startswith('machine: ended with '):
                ended = int(line.split()[-1])
            if line.startswith('machine: '):  # the emulated machine would start anew
                break
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    return ended


def is_made(directory, package):
    """Whether the kernel and what it starts from are there, of this package and by these files."""
    made = directory / 'initramfs'
    return made.exists() and (directory / 'name').read_text() == package and all(
        made.stat().st_mtime > (image.HERE / name).stat().st_mtime for name in ('image.py', 'init.c'))


def count_of(reports):
    count = dict.fromkeys(('tests', 'failures', 'errors', 'skipped'), 0)
    for report in reports.glob('*.xml'):
        for suite in xml.parse(report).getroot().iter('testsuite'):
            for key in count:
                count[key] += int(suite.get(key) or 0)
    return count


def processor_seconds():
    """Of the machines so far: what they would take at least, however busy this machine is."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default=image.SOURCE / 'build', type=pathlib.Path)
    parser.add_argument('--kernel', action='append', choices=KERNELS)
    parser.add_argument('--end-to-end', nargs='*', default=SUITES['end-to-end'])
    parser.add_argument('--escape', nargs='*', default=SUITES['escape'])
    parser.add_argument('--only', default='', help='as -k of pytest')
    parser.add_argument('--seconds', type=int, default=3000, help='for each kernel')
    parser.add_argument('--keep-disk', action='store_true', help='use the disk of the last time')
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # a machine does not outlive us
    place, failed = given.build / 'kernels', False
    place.mkdir(parents=True, exist_ok=True)
    disk = place / 'disk'
    if not given.keep_disk or not disk.exists():
        image.disk(disk, given.build)
    for name in given.kernel or KERNELS:
        package = image.newest(KERNELS[name])
        if not package:
            print(f'== kernel {name}: apt has no such package here', flush=True)
            failed |= name == OLDEST
            continue
        directory, begun, spent = place / name, time.monotonic(), processor_seconds()
        if not is_made(directory, package):
            image.kernel(package, directory)
            (directory / 'name').write_text(package)
        print(f'== kernel {package}', flush=True)
        words = [f'kernels.{suite}={",".join(names)}' for suite, names in (('end-to-end', given.end_to_end), ('escape', given.escape))]
        if given.only:
            words += [f'kernels.{suite}.only={given.only.replace(" ", "+")}' for suite in ('end-to-end', 'escape')]
        ended = machine(directory, disk, words, given.seconds)
        reports = directory / 'reports'
        shutil.rmtree(reports, ignore_errors=True)
        if ended is not None:
            with tarfile.open(directory / 'results') as archive:
                archive.extractall(reports)
        count = count_of(reports) if ended is not None else None
        failed |= ended != 0
        print(f'== kernel {package}: {"did not end" if ended is None else json.dumps(count)}, {time.monotonic() - begun:.0f} s, '
              f'{processor_seconds() - spent:.0f} s of processors', flush=True)
    return 1 if failed else 0


sys.exit(main())
