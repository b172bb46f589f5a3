# SPDX-License-Identifier: Apache-2.0
"""What a container's root is made of: a directory, an image's layers, an archive; and what is mounted in it."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import signal
import tarfile
import time

import pytest

from support import wait_until

pytestmark = pytest.mark.skipif(not shutil.which('crun'), reason='needs crun')


QUICKLY = 1  # how well it is packed makes no difference


def archive(entries, packed=True):
    """A layer of (name, content or tarfile.TarInfo)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode='w', format=tarfile.PAX_FORMAT) as tar:
        for name, content in entries:
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                tar.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = 0o755
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(data.getvalue(), QUICKLY) if packed else data.getvalue()


def whole(path):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode='w') as tar:
        tar.add(path, '.')
    return gzip.compress(data.getvalue(), QUICKLY)


def layout(path, *layers, config=b'{}', kind='tar+gzip'):
    """An OCI layout of these layers."""
    blobs = path / 'blobs' / 'sha256'
    blobs.mkdir(parents=True)

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {'digest': f'sha256:{digest}', 'size': len(data)}

    manifest = {'schemaVersion': 2, 'config': blob(config), 'layers': [
        {'mediaType': f'application/vnd.oci.image.layer.v1.{kind}', **blob(layer)} for layer in layers]}
    index = {'schemaVersion': 2, 'manifests': [
        {'platform': {'architecture': 's390x', 'os': 'linux'}, 'digest': 'sha256:' + '0' * 64, 'size': 1},
        {'platform': {'architecture': 'amd64', 'os': 'linux'}, **blob(json.dumps(manifest).encode())}]}
    (path / 'index.json').write_text(json.dumps(index))
    (path / 'oci-layout').write_text('{"imageLayoutVersion": "1.0.0"}')
    return path


def saved(path, *layers, variables=None):
    """The same as `docker save` wrote it before version 25."""
    path.mkdir(parents=True)
    plain = [gzip.decompress(layer) for layer in layers]
    config = json.dumps({'config': {'Env': variables}, 'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + hashlib.sha256(layer).hexdigest() for layer in plain]}}).encode()
    name = hashlib.sha256(config).hexdigest() + '.json'
    (path / name).write_bytes(config)
    for number, layer in enumerate(plain):
        (path / str(number)).mkdir()
        (path / str(number) / 'layer.tar').write_bytes(layer)
    (path / 'manifest.json').write_text(json.dumps([{'Config': name, 'RepoTags': ['a:1'], 'Layers': [f'{number}/layer.tar' for number in range(len(plain))]}]))
    return path


def pack(path):
    packed = path.parent / (path.name + '.tar')
    with tarfile.open(packed, 'w') as tar:
        tar.add(path, '.')
    return packed


def contained(ward, script, *words):
    return ward('run', '--level', 'container', *[part for word in words for part in ('--container', word)], '--', 'sh', '-c', script)


def test_a_directory_becomes_the_root_and_stays_as_it_is(ward, root):
    before = sorted(str(path) for path in root.rglob('*'))
    done = contained(ward, 'cat /etc/os-release; id -u; echo in > made; cat made; touch /etc/new', f'rootfs={root}')
    assert done.out == f'NAME=small\n{ward.person.uid}\nin\n', done
    assert 'Permission denied' in done.err or 'Read-only' in done.err
    assert (ward.work / 'made').exists() and before == sorted(str(path) for path in root.rglob('*'))


def test_secrets_of_the_workspace_stay_masked(ward, root):
    ward.file('.env', 'TOKEN=5ecret')
    done = contained(ward, 'cat .env', f'rootfs={root}')
    assert '5ecret' not in done.out + done.err and done.code != 0


def above(ward, own):
    """The directories above the workspace, in a root of others."""
    for part in pathlib.PurePath(ward.work).parents[-2:0:-1]:
        (own / str(part)[1:]).mkdir(exist_ok=True)
        (own / str(part)[1:] / 'theirs').write_text('seen\n')
    return own / str(pathlib.PurePath(ward.work).parents[-2])[1:]


def test_places_are_made_in_what_belongs_to_others(ward, root, place):
    own = shutil.copytree(root, place / 'own-root', symlinks=True)
    top = above(ward, own)
    (own / 'srv').symlink_to(f'{top.name}/srv')
    before = sorted(str(path) for path in own.rglob('*'))
    done = contained(ward, f'echo in > made; cat made; cat /{top.name}/theirs {ward.work.parent.parent}/theirs; ls -d /{top.name}/new/place', f'rootfs={own}',
                     f'mount:/{top.name}/new/place=/usr/share/doc')
    assert done.code == 0 and done.out == f'in\nseen\nseen\n/{top.name}/new/place\n', done
    assert (ward.work / 'made').exists() and before == sorted(str(path) for path in own.rglob('*'))


def test_a_link_above_the_workspace_is_said(ward, root, place):
    """What is refused is told of by names, and they would be others."""
    own = shutil.copytree(root, place / 'own-root', symlinks=True)
    top = above(ward, own)
    (own / 'really').mkdir()
    top.rename(own / 'really' / top.name)
    top.symlink_to(f'/really/{top.name}')
    done = contained(ward, 'touch ran', f'rootfs={own}')
    assert done.code == 125 and f'below a link {ward.work}' in done.err and not (ward.work / 'ran').exists(), done


def test_a_place_is_made_where_it_was_named_and_not_through_a_link(ward, root, place):
    """Whoever made the root says where its links lead; a directory in the workspace is made where the caller's own words are of it."""
    own = shutil.copytree(root, place / 'own-root', symlinks=True)
    (own / str(ward.work)[1:]).mkdir(parents=True)
    (own / 'srv').symlink_to(ward.work)
    done = contained(ward, 'touch ran', f'rootfs={own}', 'mount:/srv/one/two=/usr/share/doc')
    assert done.code == 125 and 'mounting /srv/one/two' in done.err and list(ward.work.iterdir()) == [], done
    done = contained(ward, 'ls -d one/two', f'rootfs={own}', f'mount:{ward.work}/one/two=/usr/share/doc')
    assert done.out == 'one/two\n', done


@pytest.mark.parametrize('runtime', ['crun', 'runc', 'runsc'])
@pytest.mark.parametrize('name', ['dev', 'proc'])
@pytest.mark.parametrize('kind', ['link', 'file', 'nothing'])
def test_no_link_of_a_root_leads_the_runtime_out(ward, root, place, runtime, name, kind):
    """runc makes the names of /dev through it: in the workspace."""
    if not shutil.which(runtime):
        pytest.skip(f'needs {runtime}')
    own = shutil.copytree(root, place / 'own-root', symlinks=True)
    if (own / name).exists():
        (own / name).rmdir()
    if kind == 'link':
        (own / name).symlink_to(ward.work)
    elif kind == 'file':
        (own / name).touch()
    done = contained(ward, 'echo in > /dev/null; cat /proc/self/comm', f'rootfs={own}', f'runtime={runtime}')
    assert done.code == 0 and done.out == 'cat\n' and list(ward.work.iterdir()) == [], done


@pytest.mark.parametrize('runtime, run', [('crun', None), ('crun', 'directory'), ('crun', 'link'), ('runc', None)])
def test_a_secret_that_is_replaced_outside_is_masked_again(ward, root, place, runtime, run):
    """Whatever /run is in there: the masks are put back from ward's own. Whoever made the mounts."""
    if not shutil.which(runtime):
        pytest.skip(f'needs {runtime}')
    own = shutil.copytree(root, place / 'own-root', symlinks=True)
    if run == 'link':
        (own / 'var' / 'run').mkdir(parents=True)
        (own / 'run').symlink_to('/var/run')
    elif run:
        (own / 'run' / 'lock').mkdir(parents=True)
    path = ward.file('.env', 'TOKEN=5ecret')
    process = ward.popen('run', '--json', '--level', 'container', '--container', f'rootfs={own}', '--container', f'runtime={runtime}', '--', 'sh', '-c',
                         'touch begun; while [ ! -e go ]; do :; done; while cat .env 2>/dev/null >&2; do :; done; echo masked; while [ ! -e end ]; do :; done; cat .env')
    assert wait_until(lambda: (ward.work / 'begun').exists())
    time.sleep(0.2)  # past the moment from which masks are watched
    os.replace(ward.file('new', 'TOKEN=5ecret2'), path)
    ward.file('go')
    time.sleep(0.2)
    ward.file('end')
    result = json.loads(ward.finish(process).out)
    assert result['error'] is None and result['stdout'] == 'masked\n', result
    assert any('.env was replaced from outside' in warning for warning in result['sandbox_warnings'])


def test_what_is_mounted_is_seen_read_only_with_its_masks(ward, root):
    data = ward.place / 'data'
    data.mkdir()
    (data / 'file').write_text('shown\n')
    (data / '.env').write_text('TOKEN=5ecret\n')
    ward.person.own(data, data / 'file', data / '.env')
    ward.policy(f'sandbox:\n  level: container\n  files: {{deny: [{data}/.env]}}\n  container:\n    rootfs: {root}\n    mounts: {{/srv/data: {data}}}\n')
    done = ward.sh('cat /srv/data/file; echo x > /srv/data/file; cat /srv/data/.env')
    assert done.out == 'shown\n' and '5ecret' not in done.err and (data / 'file').read_text() == 'shown\n', done


def test_layers_lie_over_each_other(ward, root, place):
    gone, kept = tarfile.TarInfo(), tarfile.TarInfo()
    link = tarfile.TarInfo()
    link.type, link.linkname = tarfile.SYMTYPE, '/etc/os-release'
    image = layout(place / 'image', whole(root),
                   archive([('etc/one', b'1'), ('etc/two', b'2'), ('opt/a/b', b'old'), ('opt/a/c', b'old')]),
                   archive([('etc/.wh.one', gone), ('etc/two', b'second'), ('opt/a/new', b'new'), ('opt/a/.wh..wh..opq', kept), ('etc/link', link)]))
    script = 'ls /etc/one; cat /etc/two; ls /opt/a; cat /etc/link'
    done = contained(ward, script, f'image={image}')
    assert done.out == 'secondnew\nNAME=small\n' and '/etc/one' in done.err, done
    assert contained(ward, script, f'image={image}').out == done.out
    packed = place / 'image.tar'
    with tarfile.open(packed, 'w') as tar:
        tar.add(image, '.')
    assert contained(ward, script, f'image={packed}').out == done.out


def test_an_archive_of_a_tree_is_one_too(ward, root, place):
    packed = place / 'tree.tar.gz'
    packed.write_bytes(whole(root))
    assert contained(ward, 'cat /etc/os-release', f'image={packed}').out == 'NAME=small\n'


def entry_of(kind, link=''):
    info = tarfile.TarInfo()
    info.type, info.linkname = kind, link
    return info


def in_parts(data):
    """As layers are packed that can be read in parts."""
    return b''.join(gzip.compress(data[at:at + 700], QUICKLY) for at in range(0, len(data), 700))


def test_a_layer_that_is_packed_in_parts_is_whole(ward, root, place):
    parts = in_parts(archive([('etc/one', b'1' * 3000), ('etc/two', b'2')], packed=False))
    for ending in b'', bytes(600):  # padding
        image = layout(place / f'image{len(ending)}', whole(root), parts + ending)
        assert contained(ward, 'cat /etc/one /etc/two', f'image={image}').out == '1' * 3000 + '2'


@pytest.mark.parametrize('harm, message', [('end', 'it is cut'), ('half', 'it is cut'), ('sum', 'packed wrongly')])
def test_an_archive_that_is_packed_wrongly_is_refused(ward, root, place, harm, message):
    data = archive([('etc/one', os.urandom(3000)), ('etc/two', b'2')])
    packed = place / 'tree.tar.gz'
    packed.write_bytes({'end': data[:-9], 'half': data[:1500], 'sum': data[:-8] + bytes(4) + data[-4:]}[harm])
    done = contained(ward, 'echo ran', f'image={packed}')
    assert done.code == 125 and message in done.err and list((ward.state / 'ward' / 'images').iterdir()) == [], done


@pytest.mark.parametrize('begin', [b'\x28\xb5\x2f\xfd', b'\xfd7zXZ\0', b'BZh9'], ids=['zstd', 'xz', 'bzip2'])
def test_what_only_others_unpack_is_said(ward, root, place, begin):
    packed = place / 'tree.tar'
    packed.write_bytes(begin + os.urandom(2000))
    done = contained(ward, 'echo ran', f'image={packed}')
    assert done.code == 125 and 'packed by something else than gzip' in done.err and 'rootfs=' in done.err, done


def test_a_layer_that_only_others_unpack_is_said(ward, root, place):
    image = layout(place / 'image', whole(root), kind='tar+zstd')
    done = contained(ward, 'echo ran', f'image={image}')
    assert done.code == 125 and 'packed by zstd' in done.err and 'podman pull oci:' in done.err and 'ran' not in done.out, done


def test_links_and_directories_take_each_others_place(ward, root, place):
    """A hard link to a link is one as well; a directory takes the place of a link that leads to none, and goes where it leads to one."""
    image = layout(place / 'image', whole(root), archive([
        ('etc/link', entry_of(tarfile.SYMTYPE, '/etc/os-release')), ('etc/same', entry_of(tarfile.LNKTYPE, 'etc/link')), ('etc/loop', entry_of(tarfile.SYMTYPE, 'loop')),
        ('etc/nowhere', entry_of(tarfile.SYMTYPE, '/none')), ('opt/real', entry_of(tarfile.DIRTYPE)), ('opt/to', entry_of(tarfile.SYMTYPE, 'real'))]),
        archive([(name, entry_of(tarfile.DIRTYPE)) for name in ('etc/loop', 'etc/nowhere', 'etc/link', 'opt/to')] + [('etc/loop/a', b'a'), ('etc/nowhere/b', b'b'), ('opt/to/c', b'c')]))
    done = contained(ward, 'cat /etc/same /etc/loop/a /etc/nowhere/b /opt/real/c; ls -d /etc/link/', f'image={image}')
    assert done.out == 'NAME=small\nabc/etc/link/\n', done


def test_who_does_not_want_to_wait_need_not(ward, root, place):
    """A signal ends the unpacking, and nothing runs and nothing is left."""
    packed = place / 'tree.tar.gz'
    info = tarfile.TarInfo('zeros')
    info.size = 8 << 30
    part = gzip.compress(bytes(64 << 20), QUICKLY)
    packed.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT)) + part * 128)
    process = ward.popen('run', '--level', 'container', '--container', f'image={packed}', '--', 'touch', 'ran')
    images = ward.state / 'ward' / 'images'
    assert wait_until(lambda: images.exists() and any(images.iterdir()))
    process.send_signal(signal.SIGTERM)
    done = ward.finish(process)
    assert done.code == 125 and 'interrupted' in done.err and not (ward.work / 'ran').exists() and list(images.iterdir()) == [], done


@pytest.mark.skipif(not shutil.which('strace'), reason='needs strace')
def test_who_sweeps_takes_nothing_from_who_begins(ward, root, place):
    """Between the making of a directory and the lock on it another run may find it, and take it for one that was left."""
    image, other = place / 'image.tar', place / 'other.tar'
    image.write_bytes(whole(root))
    other.write_bytes(archive([('etc/one', b'1')]))
    images = ward.state / 'ward' / 'images'
    process = ward.popen('-f', '-o', '/dev/null', '-e', 'trace=flock', '-e', 'inject=flock:delay_enter=300000', ward.binary, 'run', '--level', 'container', '--container', f'image={image}',
                         '--', 'cat', '/etc/os-release', program='strace')
    assert wait_until(lambda: images.exists() and any(path.name.startswith('.new-') for path in images.iterdir()))
    contained(ward, ':', f'image={other}')
    assert ward.finish(process).out == 'NAME=small\n'
    assert not [path for path in images.iterdir() if path.name.startswith('.')]


@pytest.mark.skipif(not shutil.which('strace'), reason='needs strace')
@pytest.mark.parametrize('made', ['tree', 'layout'])
def test_an_archive_that_stays_as_it_is_is_read_once(ward, root, place, made):
    packed, log = place / 'image.tar', place / 'log'
    log.touch()
    ward.person.own(log)

    def put(name):
        own = shutil.copytree(root, place / name, symlinks=True)
        (own / 'etc' / 'os-release').write_text(f'{name}\n')
        packed.write_bytes(whole(own) if made == 'tree' else pack(layout(place / f'{name}-image', whole(own))).read_bytes())

    def run_and_count():
        done = ward('-f', '-o', log, '-e', 'trace=read', '-P', packed, ward.binary, 'run', '--level', 'container', '--container', f'image={packed}', '--', 'cat', '/etc/os-release', program='strace')
        return done.out, log.read_text().count('read(')

    put('one')
    out, count = run_and_count()
    assert out == 'one\n' and count > 0
    assert run_and_count()[1] > 0, 'it was written to just now'
    time.sleep(3.1)
    assert run_and_count()[1] > 0
    assert run_and_count() == ('one\n', 0)
    times = packed.stat()
    put('two')
    os.utime(packed, ns=(times.st_atime_ns, times.st_mtime_ns))
    out, count = run_and_count()
    assert out == 'two\n' and count > 0


def test_an_archive_of_docker_save_is_one(ward, root, place):
    gone = tarfile.TarInfo()
    image = pack(saved(place / 'image', whole(root), archive([('etc/one', b'1')]), archive([('etc/.wh.one', gone), ('etc/two', b'2')])))
    done = contained(ward, 'ls /etc/one; cat /etc/two', f'image={image}')
    assert done.out == '2' and '/etc/one' in done.err, done


def configured(*variables, **more):
    return json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {'Env': list(variables), **more}}).encode()


def tool(text, mode=0o755):
    """A layer with a program where only the image's own PATH leads."""
    entry = tarfile.TarInfo('opt/tool/bin/tool')
    entry.mode, entry.size = mode, len(text)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode='w') as tar:
        tar.addfile(entry, io.BytesIO(text))
    return gzip.compress(data.getvalue())


def run(ward, *words, image, options=()):
    return ward('run', '--level', 'container', '--container', f'image={image}', *options, '--', *words)


INSIDE = 'PATH=/opt/tool/bin:/usr/bin:/bin'


@pytest.mark.parametrize('made', ['layout', 'archive', 'saved'])
def test_a_program_is_found_along_the_path_of_its_image(ward, root, place, made):
    layers = whole(root), tool(b'#!/bin/sh\necho "$0 $TOOL_HOME"\n')
    if made == 'saved':
        image = pack(saved(place / 'image', *layers, variables=[INSIDE, 'TOOL_HOME=/opt/tool']))
    else:
        image = layout(place / 'image', *layers, config=configured(INSIDE, 'TOOL_HOME=/opt/tool'))
        image = pack(image) if made == 'archive' else image
    for _ in range(2):  # unpacked, and kept
        done = run(ward, 'tool', image=image)
        assert done.code == 0 and done.out == '/opt/tool/bin/tool /opt/tool\n', done
    assert [path.name for path in (ward.state / 'ward' / 'images').iterdir() if path.name.startswith('.')] == []


def test_the_callers_word_stands_above_the_images(ward, root, place):
    image = layout(place / 'image', whole(root), config=configured(
        INSIDE, 'LANG=C.UTF-8', 'TOOL_HOME=/opt/tool', 'HOME=/root', 'API_TOKEN=public', 'A=first', 'A=second', 'OTHER_HOME=/opt/other', 'KEPT_HOME=/opt/kept', 'SET=image', 'EMPTY='))
    ward.variables.update(LANG='C', TOOL_HOME='/usr/lib/tool', OTHER_HOME='/usr/lib/other', KEPT_HOME='/srv/kept', MINE='yes', MY_TOKEN='5ecret')
    ward.policy('sandbox:\n  environment: {set: {SET: policy}}\n')
    done = run(ward, '/bin/sh', '-c', 'set', image=image, options=['--env', 'TOOL_HOME=/mine', '--keep-env', 'KEPT_HOME'])
    seen = dict(line.split('=', 1) for line in done.out.splitlines() if '=' in line)
    expected = {'PATH': INSIDE[5:], 'LANG': 'C', 'TOOL_HOME': '/mine', 'OTHER_HOME': '/opt/other', 'KEPT_HOME': '/srv/kept', 'MINE': 'yes', 'API_TOKEN': 'public', 'A': 'second', 'SET': 'policy', 'EMPTY': ''}
    assert {name: seen.get(name, '').strip("'") for name in expected} == expected, done
    assert 'MY_TOKEN' not in seen and seen['HOME'].strip("'") != '/root', done
    assert run(ward, 'sh', '-c', 'echo $PATH', image=image, options=['--env', 'PATH=/bin']).out == '/bin\n'
    assert run(ward, '/bin/sh', '-c', 'echo $PATH', image=image, options=['--keep-env', 'PATH']).out.strip() != INSIDE[5:]


def test_where_nothing_says_a_path_it_is_the_usual_one(ward, root, place):
    ward.variables['PATH'] = '/opt/host/bin:/usr/bin:/bin'
    usual = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n'
    packed = place / 'tree.tar.gz'
    packed.write_bytes(whole(root))
    for word in f'rootfs={root}', f'image={packed}', f'image={layout(place / "image", whole(root))}':
        assert contained(ward, 'echo $PATH', word).out == usual, word
    assert ward('run', '--level', 'container', '--', 'sh', '-c', 'echo $PATH').out == '/opt/host/bin:/usr/bin:/bin\n', 'the tree is the host\'s, and so is its PATH'


def test_a_command_starts_in_the_workspace_as_its_caller_with_its_own_words(ward, root, place):
    image = layout(place / 'image', whole(root), config=configured(WorkingDir='/etc', User='4711:4711', Entrypoint=['/bin/false'], Cmd=['never']))
    done = run(ward, 'sh', '-c', 'pwd; id -u', image=image)
    assert done.code == 0 and done.out == f'{ward.work}\n{ward.person.uid}\n', done


def test_a_script_finds_the_shell_that_the_image_has(ward, root, place):
    """The host's bash says nothing of what is in there."""
    image = layout(place / 'image', whole(root))
    words = 'run', '--level', 'container', '--container'
    for word in f'image={image}', f'rootfs={root}':
        done = ward(*words, word, '-c', 'echo ran')
        assert done.code == 0 and done.out == 'ran\n', done
    own = shutil.copytree(root, place / 'with-bash', symlinks=True)
    (own / 'opt').mkdir()
    (own / 'opt' / 'bash').write_text('#!/bin/sh\necho its own\n')
    (own / 'opt' / 'bash').chmod(0o755)
    (own / 'bin' / 'bash').symlink_to('/opt/bash')
    assert ward(*words, f'rootfs={own}', '-c', 'echo ran').out == 'its own\n'


def test_not_found_and_not_executable_are_told_apart_in_an_image(ward, root, place):
    image = layout(place / 'image', whole(root), tool(b'no program', 0o644), config=configured(INSIDE))
    done = run(ward, 'git', image=image)
    assert done.code == 127 and 'git: not found' in done.err and INSIDE[5:] in done.err, done
    assert run(ward, '/opt/none', image=image).code == 127
    done = run(ward, 'tool', image=image)
    assert done.code == 126 and 'cannot be executed' in done.err, done


@pytest.mark.skipif(not shutil.which('runsc'), reason='needs runsc')
def test_a_program_is_found_the_same_way_under_a_kernel_of_its_own(ward, root, place):
    image = layout(place / 'image', whole(root), tool(b'#!/bin/sh\necho $TOOL_HOME\n'), config=configured(INSIDE, 'TOOL_HOME=/opt/tool'))
    done = run(ward, 'tool', image=image, options=['--container', 'runtime=runsc'])
    assert done.code == 0 and done.out == '/opt/tool\n', done


@pytest.mark.parametrize('config, message', [
    (b'{"config": {"Env": ["A=1\\u0000B"]}}', 'NUL'),
    (b'{"config": {"Env": ["A=\xff"]}}', 'not UTF-8'),
    (b'[]', 'no JSON object'),
    (b'not JSON', 'no JSON object'),
    (b'{"config": []}', 'config.Env'),
    (b'{"config": {"Env": {"A": "1"}}}', 'config.Env'),
    (b'{"config": {"Env": ["A"]}}', 'not NAME=VALUE'),
    (b'{"config": {"Env": ["=A"]}}', 'not NAME=VALUE'),
    (b'{"config": {"Env": [""]}}', 'not NAME=VALUE'),
    (b'{"config": {"Env": [7]}}', 'not NAME=VALUE'),
    (json.dumps({'config': {'Env': [f'A{i}=1' for i in range(513)]}}).encode(), 'more than 512'),
    (json.dumps({'config': {'Env': ['A=' + 'x' * (64 << 10)]}}).encode(), '64 KiB'),
    (b' ' * (5 << 20), 'File too large'),
], ids=range(13))
def test_a_configuration_is_not_believed(ward, root, place, config, message):
    image = layout(place / 'image', whole(root), config=config)
    done = contained(ward, 'touch ran', f'image={image}')
    assert done.code == 125 and message in done.err and not (ward.work / 'ran').exists(), done
    assert list((ward.state / 'ward' / 'images').iterdir()) == []


@pytest.mark.parametrize('config', [b'{"config": null}', b'{"config": {"Env": null}}', b'{"config": {}}', b'{}'])
def test_a_configuration_may_say_nothing(ward, root, place, config):
    assert contained(ward, 'echo ran', f'image={layout(place / "image", whole(root), config=config)}').out == 'ran\n'


def test_a_configuration_that_is_not_what_its_name_says_is_refused(ward, root, place):
    image = layout(place / 'image', whole(root), config=configured(INSIDE))
    for blob in (image / 'blobs' / 'sha256').iterdir():
        if blob.read_bytes() == configured(INSIDE):
            blob.write_bytes(configured('PATH=/workspace'))
    done = contained(ward, 'touch ran', f'image={image}')
    assert done.code == 125 and 'is not what its name says' in done.err and not (ward.work / 'ran').exists(), done


def test_what_an_image_preloads_acts_inside_alone(ward, root, place):
    """Neither ward nor the runtime is started with its variables."""
    image = layout(place / 'image', whole(root), config=configured(INSIDE, f'LD_PRELOAD={ward.work}/evil.so', 'LD_LIBRARY_PATH=/none', 'GLIBC_TUNABLES=x=y'))
    (ward.work / 'evil.so').write_text('nothing to load')
    result = ward.result('--level', 'container', '--container', f'image={image}', '--', 'sh', '-c', 'echo $LD_PRELOAD')
    assert result['error'] is None and result['stdout'] == f'{ward.work}/evil.so\n', result
    assert all('evil.so' in line for line in result['stderr'].splitlines()) and 'ERROR' in result['stderr'], 'the loader complains inside'


def test_an_image_from_before_its_configuration_was_kept_is_unpacked_again(ward, root, place):
    image = layout(place / 'image', whole(root), tool(b'#!/bin/sh\necho ran\n'), config=configured(INSIDE))
    assert run(ward, 'tool', image=image).out == 'ran\n'
    kept, = (ward.state / 'ward' / 'images').glob('config-*')
    kept.unlink()
    assert run(ward, 'tool', image=image).out == 'ran\n' and kept.exists()


@pytest.mark.parametrize('harm, message', [('digest', 'is not what its name says'), ('up', 'has no layer'), ('link', 'has no layer'), ('absolute', 'has no layer'), ('two', 'more than one image')])
def test_an_archive_of_docker_save_is_not_believed(ward, root, place, harm, message):
    image = saved(place / 'image', whole(root))
    manifest = json.loads((image / 'manifest.json').read_text())
    outside = place / 'outside.tar'
    shutil.copy(image / '0' / 'layer.tar', outside)
    if harm == 'digest':
        (image / '0' / 'layer.tar').write_bytes(gzip.decompress(whole(root / 'etc')))
    elif harm == 'up':
        manifest[0]['Layers'] = ['../../../../../../../../' + str(outside)]
    elif harm == 'absolute':
        manifest[0]['Layers'] = [str(outside)]
    elif harm == 'link':
        (image / '0' / 'layer.tar').unlink()
        (image / '0' / 'layer.tar').symlink_to(outside)
    else:
        manifest *= 2
    (image / 'manifest.json').write_text(json.dumps(manifest))
    done = contained(ward, 'echo ran', f'image={pack(image)}')
    assert done.code == 125 and message in done.err and 'ran' not in done.out, done
    assert list((ward.state / 'ward' / 'images').iterdir()) == []


def test_what_is_not_what_its_name_says_is_refused(ward, root, place):
    image = layout(place / 'image', whole(root))
    for blob in (image / 'blobs' / 'sha256').iterdir():
        if blob.stat().st_size > 100000:
            blob.write_bytes(whole(root / 'etc'))
    done = contained(ward, 'echo ran', f'image={image}')
    assert done.code == 125 and 'is not what its name says' in done.err and 'ran' not in done.out, done
    assert list((ward.state / 'ward' / 'images').iterdir()) == []


@pytest.mark.parametrize('words, message', [
    (['rootfs=/no/such/place'], 'No such file'),
    (['image=/no/such/image'], 'No such file'),
    (['runtime=kata'], 'kata is not used: since 2.0'),
    (['runtime=podman'], 'runtime'),
    (['rootfs=/srv', 'image=/x'], 'not both'),
    (['mount:/data/../etc=/etc'], 'mount'),
    (['colour=red'], 'containers'),
])
def test_what_cannot_be_is_said(ward, words, message):
    done = contained(ward, 'touch ran', *words)
    assert done.code == 125 and message in done.err and not (ward.work / 'ran').exists(), done


@pytest.mark.parametrize('word, there, message', [
    ('apparmor=ward-restricted', '/sys/kernel/security/apparmor', 'no AppArmor'), ('selinux=u:r:container_t:s0', '/sys/fs/selinux/enforce', 'no SELinux')])
def test_a_profile_that_cannot_be_is_said(ward, word, there, message):
    if os.path.exists(there):
        pytest.skip('this machine has it')
    done = contained(ward, 'touch ran', word)
    assert done.code == 125 and message in done.err and not (ward.work / 'ran').exists(), done


@pytest.mark.parametrize('text, where', [
    ('{runtime: podman}', '3:24'), ('{colour: red}', '3:15'), ('{rootfs: relative}', '3:23'), ('{tmpfs_size: much}', '3:27'), ('{mounts: {data: /srv}}', '3:30')])
def test_mistakes_in_a_policy_have_their_place(ward, text, where):
    ward.policy(f'sandbox:\n  level: container\n  container: {text}\n')
    done = ward.sh('touch ran')
    assert done.code == 125 and f'ward.yaml:{where}' in done.err and not (ward.work / 'ran').exists(), done
