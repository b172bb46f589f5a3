# SPDX-License-Identifier: Apache-2.0
"""ward inside a container, as engines make them: crun on the machine's own tree, read-only, with the capabilities, the covered
parts of /proc and the filter that docker and podman give. The ladder's rung is stated, and what it says holds is tried."""
import json
import os
import shutil
import subprocess
import uuid

import pytest

from support import PATIENCE

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason='needs root'),
              pytest.mark.skipif(not shutil.which('crun'), reason='needs crun')]

# What docker leaves to a container's root.
CAPABILITIES = ['CAP_' + name for name in ('CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE '
                                           'SYS_CHROOT KILL AUDIT_WRITE').split()]
# What its filter takes away from a container without CAP_SYS_ADMIN, as far as ward could want it.
TAKEN = '''unshare setns mount umount2 pivot_root fsopen fsconfig fsmount fspick move_mount open_tree mount_setattr bpf perf_event_open keyctl add_key
    request_key open_by_handle_at userfaultfd quotactl init_module finit_module delete_module kexec_load'''.split()
NEW_USER_NAMESPACE = 0x10000000
FILTER = {'defaultAction': 'SCMP_ACT_ALLOW', 'architectures': ['SCMP_ARCH_X86_64'], 'syscalls': [
    {'names': TAKEN, 'action': 'SCMP_ACT_ERRNO', 'errnoRet': 1},
    {'names': ['clone'], 'action': 'SCMP_ACT_ERRNO', 'errnoRet': 1,
     'args': [{'index': 0, 'value': NEW_USER_NAMESPACE, 'valueTwo': NEW_USER_NAMESPACE, 'op': 'SCMP_CMP_MASKED_EQ'}]},
    {'names': ['clone3'], 'action': 'SCMP_ACT_ERRNO', 'errnoRet': 38}]}

NAMESPACED = {'userns', 'mountns', 'pidns', 'netns', 'readonly', 'masks', 'landlock', 'seccomp', 'notify', 'no_new_privs', 'capabilities'}
LANDLOCKED = {'landlock', 'seccomp', 'notify', 'no_new_privs', 'capabilities', 'guard'}


class Container:
    """One kind of it. What ward does in there is done on a /var/tmp of the container's own."""

    # Debian 12's crun refuses machines that have both versions of cgroups: the second is taken away, for it alone.
    ENTRY = ('if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified || exit 1; fi; mount --rbind / "$0/rootfs" || exit 1; '
             'exec crun --root "$0/state" --cgroup-manager=disabled run -b "$0" "$1"')

    def __init__(self, place, binary, filtered, uid):
        self.place = place
        (place / 'rootfs').mkdir()
        subprocess.run(['crun', 'spec'], cwd=place, check=True)
        self.config = json.loads((place / 'config.json').read_text())
        self.config['root'] = {'path': str(place / 'rootfs'), 'readonly': True}
        self.config['mounts'] = [mount for mount in self.config['mounts'] if mount['destination'] != '/sys/fs/cgroup'] + [
            {'destination': where, 'type': 'tmpfs', 'source': 'tmpfs', 'options': [f'mode={mode}']}
            for where, mode in (('/var/tmp', '1777'), ('/tmp', '1777'), ('/run', '755'))] + [
            {'destination': '/mnt', 'type': 'bind', 'source': str(binary.parent), 'options': ['bind', 'ro']}]
        self.config['linux'].pop('resources', None)
        if filtered:
            self.config['linux']['seccomp'] = FILTER
        held = [] if uid else CAPABILITIES
        self.config['process'].update(terminal=False, cwd='/var/tmp', noNewPrivileges=True, user={'uid': uid, 'gid': uid}, capabilities={
            **{kind: held for kind in ('effective', 'permitted')}, 'bounding': CAPABILITIES, 'inheritable': [], 'ambient': []}, env=[
                'PATH=/usr/local/bin:/usr/bin:/bin', 'HOME=/var/tmp/home', 'LANG=C.UTF-8',
                # What looks for leaks needs to trace, which a sandbox in there does not let ward's own probes do.
                'ASAN_OPTIONS=' + os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0', 'UBSAN_OPTIONS=' + os.environ.get('UBSAN_OPTIONS', '')])

    def run(self, script):
        name = f'ward-test-{uuid.uuid4().hex}'
        self.config['process']['args'] = ['sh', '-c', f'mkdir -p work home && cd work && {script}']
        (self.place / 'config.json').write_text(json.dumps(self.config))
        try:
            return subprocess.run(['unshare', '--mount', 'sh', '-c', self.ENTRY, self.place, name], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=2 * PATIENCE, check=False)
        finally:
            subprocess.run(['crun', '--root', self.place / 'state', 'delete', '--force', name], stderr=subprocess.DEVNULL, check=False)

    def ward(self, words):
        return self.run(f'/mnt/ward {words}')

    def result(self, words):
        done = self.ward(f'run --json {words}')
        assert done.stdout.startswith('{'), done
        return json.loads(done.stdout)


@pytest.fixture(params=['root', 'root-filtered', 'user', 'user-filtered'])
def container(place, binary, request):
    return Container(place, binary, request.param.endswith('filtered'), 1000 if request.param.startswith('user') else 0)


@pytest.fixture
def filtered(container):
    return 'seccomp' in container.config['linux']


def test_the_rung_is_the_highest_that_there_is_and_said(container, filtered):
    result = container.result("-- sh -c 'echo made > here; cat here'")
    walls = set(result['attempts'][0]['walls'])
    assert (result['exit_code'], result['stdout']) == (0, 'made\n'), result
    assert walls >= (LANDLOCKED if filtered else NAMESPACED), walls
    assert ('userns' in walls) != filtered
    warning, = result['sandbox_warnings']
    assert warning.startswith('fewer walls stand here: ')
    assert ('files are kept by Landlock alone' in warning) == filtered


def test_everything_that_should_hold_there_holds(container, filtered):
    done = container.ward('doctor --json')
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said['held'], said
    assert not [wall for wall in said['walls'] if wall['expected'] and not wall['held']]


def test_what_leaves_the_workspace_is_refused_and_known(container):
    result = container.result("-- sh -c 'echo x > ../home/file; echo x > /etc/motd; touch here; test -e here'")
    assert result['exit_code'] == 0
    objects = {denial['object'] for denial in result['attempts'][0]['denials']}
    assert {'/var/tmp/home/file', '/etc/motd'} <= objects, result['attempts']


def test_a_wall_that_is_required_and_not_there_refuses(container, filtered):
    policy = 'sandbox: {require: [userns]}'
    done = container.run(f"mkdir -p ../home/.config/ward && echo '{policy}' > ../home/.config/ward/ward.yaml && /mnt/ward run -- true")
    assert done.returncode == (125 if filtered else 0), done
    assert not filtered or 'userns' in done.stderr


def test_the_record_holds(container):
    done = container.run('/mnt/ward run -- true && /mnt/ward run -- false; /mnt/ward audit verify && /mnt/ward log --json | wc -l')
    assert done.returncode == 0 and done.stdout.split()[-1] == '2', done
