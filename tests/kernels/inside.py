# SPDX-License-Identifier: Apache-2.0
"""Runs in the machine: the suites that the kernel's command line names, as root, who makes plain users for those that want
one. Leaves the reports on the second disk."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

WARD = pathlib.Path('/ward')
sys.path.append(str(WARD / 'tests'))

import users  # noqa: E402


def words_of_machine():
    """kernels.KEY=VALUE on the kernel's command line; a comma stands for a space."""
    words = (word.partition('=') for word in pathlib.Path('/proc/cmdline').read_text().split())
    return {key.removeprefix('kernels.'): value.replace(',', ' ') for key, _, value in words if key.startswith('kernels.')}


def run_suite(suite, given, reports, environment):
    """Shows what it says by whole lines, so that two can be told apart. Returns how it ended."""
    tests = [f'tests/{suite}/{name}' for name in given[suite].split()]
    chosen = ['-k', given[f'{suite}.only'].replace('+', ' ')] if given.get(f'{suite}.only') else []
    process = subprocess.Popen([sys.executable, '-E', '-s', '-B', '-m', 'pytest', '-v', '-rs', '--color=no', '-p', 'no:cacheprovider', '-m', 'not soak', '--tb=short', *chosen,
                                f'--junitxml={reports}/{suite}.xml', *tests], cwd=WARD, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors='replace')
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
    return process.wait()


def main():
    given = words_of_machine()
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    pathlib.Path('/proc/sys/kernel/hostname').write_text('machine')
    reports = pathlib.Path('/run/reports')
    reports.mkdir()
    environment = {**os.environ, 'WARD': '/ward/build/ward', 'WARD_ATTACKS': '/ward/attacks', 'WARD_PATIENCE': '600'}
    # Machines with AppArmor: all that is tested is tested behind the profile, too.
    if pathlib.Path('/sys/kernel/security/apparmor').exists():
        subprocess.run(['apparmor_parser', '-r', '-K', WARD / 'data' / 'apparmor' / 'ward-restricted'], check=True)
        environment['WARD_APPARMOR'] = 'loaded'
    status = 0
    with open(reports / 'doctor.json', 'w') as doctor:
        subprocess.run([WARD / 'build' / 'ward', 'doctor', '--json'], stdout=doctor, check=False)
    # Beside each other: there are two processors, and a test uses little more than one. Their users are made before both: a user that is made while a run goes on
    # takes its masks off.
    with users.plain_user(), concurrent.futures.ThreadPoolExecutor() as pool:
        for returned in [pool.submit(run_suite, suite, given, reports, environment) for suite in ('end-to-end', 'escape') if given.get(suite)]:
            status |= returned.result()
    subprocess.run(['tar', '-C', reports, '-c', '-f', '/dev/vdb', '.'], check=True)
    return status


sys.exit(main())
