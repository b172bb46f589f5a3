# SPDX-License-Identifier: Apache-2.0
"""Sets of hosts: what ward policy sets shows, what files add, and that the workspace widens nothing."""
import json
import os

import pytest

OWN = '''version: 1
sets:
  registry:acme:
    description: our own
    hosts: ['packages.acme.example:443']
    programs: [acme-get]
  registry:npm: {hosts: ['npm.acme.example:443']}
'''


def sets_file(ward, text, mode=0o600):
    return ward.file(ward.config / 'ward' / 'sets.yaml', text, mode)


def shown(ward, name, **how):
    """Host by host: where it comes from, and whether it is only suggested."""
    done = ward('policy', 'sets', '--json', name, **how)
    assert done.code == 0, done
    (one,) = json.loads(done.out)['sets']
    assert one['name'] == name
    return {host['host']: (host['origin'], host['suggested']) for host in one['hosts']}


def test_all_sets_are_listed_with_their_hosts(plain):
    done = plain('policy', 'sets')
    assert done.code == 0 and '\nforge:git  ' in done.out and '\n  github.com:22 ' in done.out
    assert 'pypi.org:443                            built in\n' in done.out
    everything = json.loads(plain('policy', 'sets', '--json').out)['sets']
    names = [one['name'] for one in everything]
    for name in ('registry:python', 'registry:npm', 'registry:debian', 'registry:rust', 'registry:go', 'model:anthropic'):
        assert name in names
    assert all(one['description'] and one['programs'] and one['hosts'] for one in everything)


def test_one_set_is_listed_alone(plain):
    done = plain('policy', 'sets', 'registry:go')
    assert done.code == 0 and done.out.startswith('registry:go  ') and 'pypi.org' not in done.out


def test_an_unknown_set_is_told_with_the_known_ones(plain):
    done = plain('policy', 'sets', 'registry:cobol')
    assert done.code == 125 and "no set of hosts called 'registry:cobol'" in done.err and 'registry:python, ' in done.err
    assert plain('policy', 'sets', 'registry:go', 'registry:npm').code == 125


def test_the_user_adds_sets_and_hosts(plain):
    path = sets_file(plain, OWN)
    assert shown(plain, 'registry:acme') == {'packages.acme.example:443': (f'{path}:5', False)}
    npm = shown(plain, 'registry:npm')
    assert npm['npm.acme.example:443'] == (f'{path}:7', False) and npm['registry.npmjs.org:443'] == ('built in', False)
    assert f'{path}: ok\n' in plain('policy', 'check').out


def test_a_fault_in_a_file_about_sets_has_a_place(plain):
    path = sets_file(plain, 'sets:\n  registry:acme: {host: [a.example]}\n')
    done = plain('policy', 'sets')
    assert done.code == 125 and f"{path}:2:19: unknown key 'host' in a set" in done.err and 'description, hosts' in done.err
    done = plain('policy', 'check')
    assert done.code == 1 and f'{path}:2:19: ' in done.out
    plain.file('sets.yaml', 'sets: {registry:acme: {hosts: [a..example]}}')
    done = plain('policy', 'check', 'sets.yaml')
    assert done.code == 1 and 'sets.yaml:1:32: ' in done.out
    plain.file('sets.yaml', OWN)
    assert plain('policy', 'check', 'sets.yaml').out == 'sets.yaml: ok\n'


@pytest.mark.parametrize('mode', [0o666, 0o620])
def test_a_file_about_sets_that_others_can_write_is_refused(plain, mode):
    path = sets_file(plain, OWN, mode)
    done = plain('policy', 'sets')
    assert done.code == 125 and str(path) in done.err and 'others may write' in done.err


def test_the_tools_configuration_adds_hosts(plain):
    pip = plain.file(plain.config / 'pip' / 'pip.conf',
                     '[global]\nindex-url = https://me:secret@pip.acme.example:8443/simple\n', 0o600)
    npm = plain.file(plain.home / '.npmrc', '@acme:registry=http://npm.acme.example:4873/\n', 0o600)
    assert shown(plain, 'registry:python')['pip.acme.example:8443'] == (str(pip), False)
    assert shown(plain, 'registry:npm')['npm.acme.example:4873'] == (str(npm), False)
    go = shown(plain, 'registry:go', env={'GOPROXY': 'https://t0ken@go.acme.example,direct'})
    assert go['go.acme.example:443'] == ('$GOPROXY', False)
    for done in (plain('policy', 'sets'), plain('policy', 'sets', '--json')):
        assert 'secret' not in done.out and 't0ken' not in done.out


def test_the_workspace_only_suggests(plain):
    plain.file('.npmrc', 'registry=https://trap.example/\n')
    plain.file('pip.conf', '[global]\nextra-index-url=https://trap.example/\n')
    plain.file('.cargo/config.toml', '[source.x]\nregistry = "sparse+https://trap.example/"\n')
    plain.file('.env', 'GOPROXY=https://trap.example\n')
    plain.file('.git/config', '[remote "origin"]\n\turl = git@trap.example:x.git\n')
    for name in ('registry:npm', 'registry:python', 'registry:rust', 'registry:go'):
        assert shown(plain, name)['trap.example:443'][1], name
    assert shown(plain, 'forge:git')['trap.example:22'][1]
    assert 'trap.example:443                        ' + str(plain.work) + '/.npmrc (only suggested' in plain('policy', 'sets').out


def test_what_commands_can_write_only_suggests(plain):
    conf = plain.file(plain.home / '.config' / 'x.conf', '[global]\nindex-url=https://trap.example/\n', 0o600)
    variables = {'PIP_CONFIG_FILE': str(conf)}
    assert shown(plain, 'registry:python', env=variables)['trap.example:443'] == (str(conf), False)
    plain.policy('sandbox: {files: {write: [~/.config]}}\n')
    assert shown(plain, 'registry:python', env=variables)['trap.example:443'] == (str(conf), True)


def test_a_link_out_of_the_home_into_the_workspace_only_suggests(plain):
    plain.file('npmrc', 'registry=https://trap.example/\n', 0o600)
    os.symlink(plain.work / 'npmrc', plain.home / '.npmrc')
    assert shown(plain, 'registry:npm')['trap.example:443'][1]
