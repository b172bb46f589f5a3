# SPDX-License-Identifier: Apache-2.0
"""What a machine with another kernel starts from: the kernel and its modules out of Debian's package, a small disk with the
programs that tests need, copied from this machine's own packages, and a first process that goes from one to the other."""
import gzip
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent

PACKAGES = '''apparmor base-files base-passwd bash coreutils crun dash findutils gcc git grep gzip iproute2 less libc-bin make mawk mount ncurses-bin
    passwd procps python3 python3-jsonschema python3-pexpect python3-pytest runc sed strace tar util-linux'''.split()
# What the kernel may not have built in.
MODULES = 'virtio_mmio virtio_blk overlay tun dummy veth virtio_net'.split()
FILES = '''/etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/nsswitch.conf /etc/ld.so.conf /etc/ld.so.cache /etc/ld.so.conf.d /etc/alternatives
    /etc/login.defs /etc/protocols /etc/services /etc/pam.d /etc/security'''.split()


def output(*words, **how):
    return subprocess.run(words, check=True, capture_output=True, text=True, **how).stdout


def installed():
    """The packages of this machine: name to (what it needs, each a set of names of which one will do)."""
    needs, provided = {}, {}
    for line in output('dpkg-query', '-W', '-f', '${db:Status-Abbrev}\t${Package}\t${Pre-Depends}, ${Depends}\t${Provides}\n').splitlines():
        status, name, depends, provides = line.split('\t')
        if not status.startswith('ii'):
            continue
        names = [re.findall(r'(?:^|\|)\s*([a-z0-9][a-z0-9+.-]*)', group) for group in depends.split(',')]
        needs[name] = [group for group in names if group]
        for other in re.findall(r'(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)', provides):
            provided.setdefault(other, name)
    return needs, provided


def closure(names):
    needs, provided = installed()
    missing = [name for name in names if name not in needs]
    if missing:
        raise SystemExit(f'these packages are not installed: {" ".join(missing)}')
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        for group in needs[name]:
            left += [next((n if n in needs else provided[n] for n in group if n in needs or n in provided), name)]
    return sorted(found)


def tree_of(directory):
    """The programs, with nothing but what people read left out."""
    for name in ('usr/bin', 'usr/sbin', 'usr/lib', 'usr/lib64', 'root', 'dev', 'proc', 'sys', 'run', 'tmp', 'var/tmp', 'disk'):
        (directory / name).mkdir(parents=True)
    for name in ('bin', 'sbin', 'lib', 'lib64'):
        (directory / name).symlink_to(f'usr/{name}')
    (directory / 'tmp').chmod(0o1777)
    (directory / 'var/tmp').chmod(0o1777)
    paths = set(output('dpkg', '-L', *closure(PACKAGES)).splitlines())
    # Compiled when their packages were installed: in there they would be compiled anew by every program, which tries to keep them.
    paths |= {f'{file.parent}/__pycache__/{file.stem}.cpython-{sys.version_info[0]}{sys.version_info[1]}.pyc' for file in map(pathlib.Path, paths) if file.suffix == '.py'}
    paths = [path for path in paths if path.startswith('/') and not path.startswith(('/usr/share/doc/', '/usr/share/man/', '/usr/share/locale/', '/usr/share/info/')) and
             os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path))]
    paths += [path for path in FILES if os.path.lexists(path)]
    paths += [str(path) for path in pathlib.Path('/usr/bin').iterdir() if path.is_symlink() and os.readlink(path).startswith('/etc/alternatives/')]
    copied = subprocess.Popen(['tar', '-C', '/', '-c', '--verbatim-files-from', '-T', '-'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    taken = subprocess.Popen(['tar', '-C', directory, '-x', '--keep-directory-symlink'], stdin=copied.stdout)
    copied.stdout.close()
    copied.stdin.write('\n'.join(path.lstrip('/') for path in paths).encode())
    copied.stdin.close()
    if copied.wait() > 1 or taken.wait() != 0:
        raise SystemExit('the programs could not be copied')
    (directory / 'etc/hostname').write_text('machine\n')
    (directory / 'etc/hosts').write_text('127.0.0.1 localhost\n::1 localhost\n')
    (directory / 'etc/resolv.conf').write_text('')
    (directory / 'etc/mtab').symlink_to('/proc/self/mounts')


def ward_of(directory, build):
    """The programs under test, the tests, and the attacks, which would take long to compile in there."""
    ward = directory / 'ward'
    attacks = ward / 'attacks'
    attacks.mkdir(parents=True)
    shutil.copytree(SOURCE / 'tests', ward / 'tests', symlinks=True, ignore=shutil.ignore_patterns('node_modules', '__pycache__', 'corpus'))
    shutil.copytree(SOURCE / 'docs', ward / 'docs')
    shutil.copytree(SOURCE / 'data', ward / 'data')
    (ward / 'build').mkdir()
    for name in ('ward', 'ward-unwalled', 'ward-post', 'ward-web'):
        shutil.copy(build / name, ward / 'build' / name)
    compilers = [subprocess.Popen(['gcc', '-std=gnu17', '-D_GNU_SOURCE', '-O1', '-w', '-o', attacks / source.stem, source, '-lpthread'])
                 for source in (SOURCE / 'tests' / 'escape').glob('*.c')]
    if any([compiler.wait() for compiler in compilers]):
        raise SystemExit('the attacks could not be compiled')


def disk(path, build, size='2G'):
    tree = path.with_suffix('.tree')
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    tree_of(tree)
    ward_of(tree, build)
    path.unlink(missing_ok=True)
    subprocess.run(['mke2fs', '-q', '-t', 'ext4', '-O', '^has_journal', '-E', 'lazy_itable_init=1', '-d', tree, path, size], check=True)
    shutil.rmtree(tree)


def modules(package, names):
    """Each with what it stands on before it, as the modules themselves say: from one kernel to the next that changes. What is built in has no file."""
    found = {}

    def add(name):
        files = sorted(package.rglob(f'{name}.ko')) + sorted(package.rglob(f'{name}.ko.xz'))
        if name in found or not files:
            return
        data = lzma.decompress(files[0].read_bytes()) if files[0].suffix == '.xz' else files[0].read_bytes()
        for needed in re.search(rb'\0depends=([^\0]*)\0', data)[1].decode().split(','):
            add(needed)
        found[name] = data

    for name in names:
        add(name)
    return found


def kernel(package, directory):
    """The kernel's image, and the initramfs with its modules. The package is Debian's own, checked by apt."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    subprocess.run(['apt-get', '-q', '-o', 'APT::Sandbox::User=root', 'download', package], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    archive, = directory.glob('*.deb')
    subprocess.run(['dpkg-deb', '-x', archive, directory / 'package'], check=True)
    image, = (directory / 'package' / 'boot').glob('vmlinuz-*')
    shutil.copy(image, directory / 'kernel')
    stage = directory / 'stage'
    (stage / 'modules').mkdir(parents=True)
    found = modules(directory / 'package', MODULES)
    for name, data in found.items():
        (stage / 'modules' / f'{name}.ko').write_bytes(data)
    (stage / 'modules' / 'list').write_text('\n'.join(found) + '\n')
    subprocess.run(['gcc', '-std=gnu17', '-D_GNU_SOURCE', '-O1', '-Wall', '-Wextra', '-Wno-unused-result', '-static', '-o', stage / 'init', HERE / 'init.c'], check=True)
    names = '\n'.join(str(path.relative_to(stage)) for path in sorted(stage.rglob('*')))
    (directory / 'initramfs').write_bytes(gzip.compress(subprocess.run(
        ['cpio', '-o', '-H', 'newc', '--quiet', '-R', '0:0'], input=names.encode(), cwd=stage, check=True, capture_output=True).stdout, 1))
    shutil.rmtree(directory / 'package')
    shutil.rmtree(stage)
    archive.unlink()


def newest(pattern):
    """The newest of Debian's packages by this name, or None."""
    names = output('apt-cache', 'search', '--names-only', pattern).split('\n')
    names = sorted((name.split()[0] for name in names if name), key=lambda name: [int(n) for n in re.findall(r'\d+', name)])
    return names[-1] if names else None
