#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests through the real program that failed while other parts of `make test` ran beside them, once more and alone.

again.py BUILD...: of each directory the failures in reports/end-to-end*.xml. Exits 1 where one fails again. Attacks and unit
tests get no second chance: what fails once there has failed."""
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

MOST = 20  # more than these are no accident


def failures(tree):
    """(its suite, the case, its name for pytest)"""
    for suite in tree.iter('testsuite'):
        for case in suite.iter('testcase'):
            if case.find('failure') is not None or case.find('error') is not None:
                yield suite, case, case.get('classname').replace('.', '/') + '.py::' + case.get('name')


def forgive(suite, case):
    """The report counts it among those that passed."""
    for kind, count in (('failure', 'failures'), ('error', 'errors')):
        for element in case.findall(kind):
            case.remove(element)
            suite.set(count, str(int(suite.get(count)) - 1))


def passes(build, name):
    command = [sys.executable, '-E', '-s', '-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', name]
    environment = {**os.environ, 'WARD': str(build / 'ward')}
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, timeout=600, check=False).returncode == 0


def main():
    good = True
    for build in (pathlib.Path(word).resolve() for word in sys.argv[1:]):
        for report in sorted((build / 'reports').glob('end-to-end*.xml')):
            tree = xml.parse(report)
            failed = list(failures(tree))
            good = good and len(failed) <= MOST
            for suite, case, name in failed[:MOST]:
                if passes(build, name):
                    forgive(suite, case)
                    tree.write(report)
                    print(f'{name} ({build.name}) failed beside others, and passes alone', flush=True)
                else:
                    good = False
    return not good


sys.exit(main())
