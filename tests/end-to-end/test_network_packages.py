# SPDX-License-Identifier: Apache-2.0
"""Repositories and registries that were allowed can be used: git over http and ssh, pip, npm and apt, each against a server of
the test's own."""
import base64
import gzip
import hashlib
import http.server
import io
import json
import subprocess
import tarfile
import zipfile

import pytest

from support import PATH
from test_programs import needs, works
from world import OTHER, THIRD, WEB, plain, to, ward, world


class Shelf(http.server.BaseHTTPRequestHandler):
    """Serves the files of a dict."""

    protocol_version = 'HTTP/1.1'
    files = {}

    def do_GET(self):
        self.server.requests.append(self.path)
        content = self.files.get(self.path.replace('/./', '/'))
        self.send_response(404 if content is None else 200)
        self.send_header('Content-Length', str(len(content or b'')))
        if self.path.endswith('/'):
            self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(content or b'')

    def log_message(self, *words):
        pass


def shelf(world, address, files):
    files = {name: content if isinstance(content, bytes) else content.encode() for name, content in files.items()}
    return world.web(address, handler=type('Shelf', (Shelf,), {'files': files}))


@pytest.fixture
def repositories(place):
    """A directory with a bare repository that has one commit."""
    directory = place / 'served'
    directory.mkdir()
    environment = {'PATH': PATH, 'HOME': str(place), 'GIT_CONFIG_NOSYSTEM': '1', 'GIT_AUTHOR_NAME': 'N', 'GIT_AUTHOR_EMAIL': 'n@example.org',
                   'GIT_COMMITTER_NAME': 'N', 'GIT_COMMITTER_EMAIL': 'n@example.org'}

    def git(*words):
        subprocess.run(['git', *words], cwd=directory, env=environment, check=True, capture_output=True)

    git('init', '-q', '-b', 'main', 'first')
    (directory / 'first' / 'file').write_text('one\n')
    git('-C', 'first', 'add', 'file')
    git('-C', 'first', 'commit', '-q', '-m', 'first')
    git('clone', '-q', '--bare', 'first', 'thing.git')
    git('-C', 'thing.git', 'config', 'http.receivepack', 'true')
    return directory


class Backend(http.server.BaseHTTPRequestHandler):
    """git http-backend, called as a web server calls it."""

    root = ''

    def do_GET(self):
        path, _, query = self.path.partition('?')
        variables = {'PATH': PATH, 'GIT_PROJECT_ROOT': self.root, 'GIT_HTTP_EXPORT_ALL': '1', 'PATH_INFO': path, 'QUERY_STRING': query,
                     'REQUEST_METHOD': self.command, 'CONTENT_TYPE': self.headers.get('Content-Type', ''), 'REMOTE_ADDR': '127.0.0.1',
                     'HTTP_CONTENT_ENCODING': self.headers.get('Content-Encoding', ''), 'HTTP_GIT_PROTOCOL': self.headers.get('Git-Protocol', ''),
                     'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'safe.directory', 'GIT_CONFIG_VALUE_0': '*'}
        done = subprocess.run(['git', 'http-backend'], env=variables, input=self.rfile.read(int(self.headers.get('Content-Length') or 0)),
                              capture_output=True, check=False)
        headers, _, body = done.stdout.partition(b'\r\n\r\n')
        headers = dict(line.split(': ', 1) for line in headers.decode().split('\r\n') if line)
        self.send_response(int(headers.pop('Status', '200').split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *words):
        pass


GIT = '''
export GIT_AUTHOR_NAME=N GIT_AUTHOR_EMAIL=n@example.org GIT_COMMITTER_NAME=N GIT_COMMITTER_EMAIL=n@example.org
git clone -q URL copy; cd copy; cat file
git ls-remote --heads origin | cut -f2
echo two >> file; git commit -q -am second; git push -q origin main
git fetch -q --all; git status -sb; git log origin/main --format=%s
git clone -q --depth 1 URL shallow; git -C shallow log --format=%s
'''
GIT_OUT = 'one\nrefs/heads/main\n## main...origin/main\nsecond\nfirst\nsecond\n'


def has_second(repositories):
    command = ['git', '-c', 'safe.directory=*', '-C', repositories / 'thing.git', 'log', '--format=%s', 'main']
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout == 'second\nfirst\n'


def test_git_over_http(ward, world, repositories):
    world.name('git.example', WEB)
    web = world.web(handler=type('Backend', (Backend,), {'root': str(repositories)}))
    ward.allow('git')
    url = f'http://git.example:{web.port}/thing.git'
    assert works(ward, GIT.replace('URL', url), *to(f'git.example:{web.port}')) == GIT_OUT
    assert has_second(repositories)


@pytest.fixture(scope='module')
def sshd(world, user, top, servers):
    """A real ssh server where the plain user may log in; its port, and the client's key and known hosts."""
    needs('ssh', 'ssh-keygen')
    program = servers / 'usr/sbin/sshd'
    if not program.exists():
        pytest.skip('not fetched: tools/dependencies test')
    directory = top / 'sshd'
    directory.mkdir()
    for name in ('host', 'client'):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', directory / name], check=True, capture_output=True)
    port = world.unused(OTHER)
    world.name('forge.example', OTHER)
    (directory / 'keys').write_text((directory / 'client.pub').read_text())
    (directory / 'known').write_text(f'[forge.example]:{port} ' + (directory / 'host.pub').read_text())
    (directory / 'config').write_text(f'Port {port}\nListenAddress {OTHER}\nHostKey {directory}/host\nAuthorizedKeysFile {directory}/keys\nUsePAM no\n'
                                      'StrictModes no\nPasswordAuthentication no\nPidFile none\nAcceptEnv GIT_PROTOCOL\n')
    user.own(*directory.iterdir())
    world.start(program, '-D', '-e', '-f', directory / 'config', person=user)
    world.answers(port, OTHER)
    return port, directory


@pytest.fixture
def ssh(ward, sshd):
    """Flags for ward and the ssh command that logs in as the plain user."""
    port, directory = sshd
    key = ward.file(ward.home / '.ssh' / 'id_ed25519', (directory / 'client').read_text(), 0o600)
    known = ward.file(ward.home / '.ssh' / 'known_hosts', (directory / 'known').read_text())
    command = f'ssh -F none -i {key} -o BatchMode=yes -o IdentitiesOnly=yes -o UserKnownHostsFile={known} -o StrictHostKeyChecking=yes'
    return [*to(f'forge.example:{port}'), '--read', key], command


def test_ssh(ward, user, ssh, sshd):
    flags, command = ssh
    ward.allow('ssh')
    ward.file('there', 'echo from there; head -c 1000000 /dev/zero\n')
    out = works(ward, f'{command} -T -p {sshd[0]} {user.name}@forge.example < there > out; head -1 out; wc -c < out', *flags)
    assert out == 'from there\n1000011\n'


def test_git_over_ssh(ward, user, ssh, sshd, repositories):
    for path in [repositories, *repositories.rglob('*')]:
        user.own(path)
    flags, command = ssh
    ward.allow('git', 'ssh')
    url = f'ssh://{user.name}@forge.example:{sshd[0]}{repositories}/thing.git'
    # In a file: no rule covers a text that says which program git starts.
    ward.file('over-ssh', f'set -e\nexport GIT_SSH_COMMAND="{command}"\n' + GIT.replace('URL', url))
    assert works(ward, 'sh ./over-ssh', *flags) == GIT_OUT
    assert has_second(repositories)


def wheel(name, version):
    """A wheel with one module."""
    content = {f'{name}.py': f'number = {version[0]}\n', f'{name}-{version}.dist-info/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n',
               f'{name}-{version}.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    lines = [f'{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()},{len(text)}\n'
             for path, text in content.items()]
    content[f'{name}-{version}.dist-info/RECORD'] = ''.join(lines) + f'{name}-{version}.dist-info/RECORD,,\n'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w') as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return packed.getvalue()


def index(world, name='tiny', version='4.2'):
    """A package index with one package; its port."""
    data = wheel(name, version)
    file = f'{name}-{version}-py3-none-any.whl'
    return shelf(world, WEB, {f'/simple/{name}/': f'<a href="/files/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a>\n', f'/files/{file}': data}).port


def has_pip():
    if subprocess.run(['/usr/bin/python3', '-m', 'pip', '--version'], capture_output=True, check=False).returncode != 0:
        pytest.skip('not installed: python3-pip')


def test_pip(ward, world):
    has_pip()
    world.name('packages.example', WEB)
    port = index(world)
    ward.allow('pip', 'python3')
    pip = '/usr/bin/python3 -m pip --disable-pip-version-check --no-cache-dir'
    where = f'--index-url http://packages.example:{port}/simple --trusted-host packages.example'
    out = works(ward, f'{pip} -q install --target site {where} tiny; {pip} -q download -d down {where} tiny; ls down\n'
                '/usr/bin/python3 -c "import sys; sys.path.insert(0, \'site\'); import tiny; print(tiny.number)"', *to(f'packages.example:{port}'))
    assert out == 'tiny-4.2-py3-none-any.whl\n4\n'


def test_pip_that_was_not_allowed(plain, world):
    """Word for word what it wanted, and nobody outside heard of it."""
    has_pip()
    plain.allow('pip', 'python3')
    world.dns.forget()
    result = plain.result('--', '/usr/bin/python3', '-m', 'pip', '--disable-pip-version-check', '--no-cache-dir', '-q', 'install', '--retries', '0',
                          '--target', 'site', '--index-url', 'https://other.example/simple', 'tiny')
    assert result['exit_code'] != 0
    assert {(denial['operation'], denial['object']) for denial in result['attempts'][0]['denials']} == {('connect', 'other.example:443')}
    assert not world.dns.asked('other.example')


def test_npm(ward, world):
    needs('npm', 'node')
    world.name('registry.example', THIRD)
    packed = io.BytesIO()
    files = {'package/package.json': '{"name": "tiny", "version": "4.2.0", "main": "index.js"}', 'package/index.js': 'module.exports = 42;\n'}
    with tarfile.open(fileobj=packed, mode='w:gz') as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    content = {'/tiny/-/tiny-4.2.0.tgz': packed.getvalue()}
    web = shelf(world, THIRD, content)
    url = f'http://registry.example:{web.port}'
    integrity = 'sha512-' + base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    web.RequestHandlerClass.files['/tiny'] = json.dumps({'name': 'tiny', 'dist-tags': {'latest': '4.2.0'}, 'versions': {'4.2.0': {
        'name': 'tiny', 'version': '4.2.0', 'dist': {'tarball': f'{url}/tiny/-/tiny-4.2.0.tgz', 'integrity': integrity}}}}).encode()
    ward.allow('npm')
    ward.file('package.json', '{"name": "mine", "version": "1.0.0"}')
    out = works(ward, f'npm install --registry {url} --cache ./cache --no-audit --no-fund --no-update-notifier --loglevel=error tiny >/dev/null\n'
                'node -p "require(\'tiny\')"', *to(f'registry.example:{web.port}'))
    assert out == '42\n'


@pytest.fixture
def archive(world, place):
    """A Debian repository with one package; its port."""
    needs('dpkg-deb', 'apt-get')
    (place / 'tiny' / 'DEBIAN').mkdir(parents=True)
    for path in (place / 'tiny', place / 'tiny' / 'DEBIAN'):
        path.chmod(0o755)
    control = 'Package: tiny\nVersion: 4.2\nArchitecture: all\nMaintainer: N <n@example.org>\nDescription: a test\n'
    (place / 'tiny' / 'DEBIAN' / 'control').write_text(control)
    subprocess.run(['dpkg-deb', '-b', place / 'tiny', place / 'tiny.deb'], check=True, capture_output=True)
    package = (place / 'tiny.deb').read_bytes()
    packages = f'{control}Filename: ./tiny.deb\nSize: {len(package)}\nSHA256: {hashlib.sha256(package).hexdigest()}\n\n'.encode()
    packed = gzip.compress(packages)
    sums = ''.join(f' {hashlib.sha256(data).hexdigest()} {len(data)} {name}\n' for name, data in (('Packages', packages), ('Packages.gz', packed)))
    release = f'Date: Sun, 01 Jan 2023 00:00:00 UTC\nSHA256:\n{sums}'
    world.name('archive.example', THIRD)
    return shelf(world, THIRD, {'/Release': release, '/Packages': packages, '/Packages.gz': packed, '/tiny.deb': package}).port


APT = '''
mkdir -p state/lists/partial cache/archives/partial etc/apt.conf.d etc/preferences.d etc/sources.list.d
echo "deb [trusted=yes] http://archive.example:PORT ./" > etc/sources.list; touch etc/status
cat > etc/apt.conf <<END
Dir::State "$PWD/state"; Dir::State::status "$PWD/etc/status"; Dir::Cache "$PWD/cache"; Dir::Etc "$PWD/etc";
APT::Sandbox::User ""; Acquire::Languages "none"; Acquire::Retries "0";
END
export APT_CONFIG=$PWD/etc/apt.conf
apt-get -q update >out 2>&1 || { cat out; exit 1; }
apt-cache policy tiny | grep Candidate
apt-get -q download tiny >out 2>&1 || { cat out; exit 1; }
dpkg-deb -f tiny_4.2_all.deb Version
'''


def test_apt(ward, archive):
    ward.allow('apt-get')
    assert works(ward, APT.replace('PORT', str(archive)), *to(f'archive.example:{archive}')) == '  Candidate: 4.2\n4.2\n'


def test_go_modules(ward, world):
    needs('go')
    world.name('proxy.example', THIRD)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w') as archive:
        archive.writestr('mod.example/tiny@v1.0.0/go.mod', 'module mod.example/tiny\n')
        archive.writestr('mod.example/tiny@v1.0.0/tiny.go', 'package tiny\n\nconst Number = 42\n')
    base = '/mod.example/tiny/@v/'
    port = shelf(world, THIRD, {base + 'list': 'v1.0.0\n', base + 'v1.0.0.info': '{"Version": "v1.0.0"}', base + 'v1.0.0.mod': 'module mod.example/tiny\n',
                                base + 'v1.0.0.zip': packed.getvalue()}).port
    ward.allow('go')
    ward.file('go.mod', 'module mine\n\ngo 1.19\n')
    out = works(ward, f'export GOPROXY=http://proxy.example:{port} GONOSUMDB=* GOFLAGS=-modcacherw GOPATH=$PWD/path GOCACHE=$PWD/cache GOTOOLCHAIN=local GOTELEMETRY=off\n'
                'go get mod.example/tiny@latest 2> said || { cat said; exit 1; }; go list -m all', *to(f'proxy.example:{port}'))
    assert out == 'mine\nmod.example/tiny v1.0.0\n'
