# SPDX-License-Identifier: Apache-2.0
"""OpenCode's plugin, in a real JavaScript engine: what ward says is done, and whatever goes wrong, the tool is not used."""
import json
import shutil
import subprocess

import pytest

from support import all_gone, resting
from test_init import init, prepare

NODE = shutil.which('node') or '/usr/bin/node'
HARNESS = '''
import { WardPlugin } from %s
const [input, output, directory] = JSON.parse(process.argv[2])
const hooks = await WardPlugin({ directory, client: {}, $: null })
try {
  await hooks["tool.execute.before"](input, output)
  console.log(JSON.stringify({ args: output.args }))
} catch (error) {
  console.log(JSON.stringify({ refused: error.message }))
}
'''


@pytest.fixture
def plugin(plain):
    """Calls the plugin that init wrote, as OpenCode does; `ward` is another program in its place, `seconds` its patience."""
    prepare(plain)
    init(plain, '--agent', 'opencode', '--write', '--no-policy')
    text = (plain.work / '.opencode/plugin/ward.js').read_text()

    def call(tool, args, ward=None, seconds=None, directory=None):
        changed = text if ward is None else text.replace(json.dumps(plain.binary), json.dumps(str(ward)))
        if seconds is not None:
            changed = changed.replace('const SECONDS = 60', f'const SECONDS = {seconds}')
        assert (changed == text) == (ward is None and seconds is None)
        plain.file(plain.place / 'plugin.mjs', changed)
        plain.file(plain.place / 'harness.mjs', HARNESS % json.dumps(str(plain.place / 'plugin.mjs')))
        question = [{'tool': tool, 'sessionID': 'ses_1', 'callID': 'call_1'}, {'args': args}, directory or str(plain.work)]
        done = plain(plain.place / 'harness.mjs', json.dumps(question), program=NODE)
        assert done.code == 0, done
        return json.loads(done.out)
    call.ward = plain
    return call


def fake(plugin, script):
    return plugin.ward.file(plugin.ward.place / 'fake' / 'ward', '#!/bin/sh\n' + script, 0o755)


def test_a_command_goes_on_inside_ward(plugin):
    outside = plugin.ward.place / 'outside'
    args = plugin('bash', {'command': f"echo \"it's\"; echo x > in; echo x > {outside}", 'description': 'd'})['args']
    assert args['description'] == 'd' and args['command'] != plugin.ward.binary
    done = plugin.ward('-c', args['command'], program='/bin/sh', env={'PATH': '/usr/bin:/bin'})
    assert "it's" in done.out and (plugin.ward.work / 'in').exists() and not outside.exists()


def test_what_is_forbidden_throws(plugin):
    assert 'refused by ward' in plugin('bash', {'command': 'rm -rf /'})['refused']


def test_files_are_judged(plugin):
    assert plugin('read', {'filePath': str(plugin.ward.work / 'a.c')}) == {'args': {'filePath': str(plugin.ward.work / 'a.c')}}
    assert 'refused' in plugin('write', {'filePath': '/etc/motd', 'content': 'x'})
    assert 'refused' in plugin('read', {'filePath': '/etc/shadow'})


def test_other_tools_go_on_as_they_are(plugin):
    assert plugin('webfetch', {'url': 'x'}) == {'args': {'url': 'x'}}


def test_the_directory_of_a_command_is_its_own(plugin):
    plugin.ward.file('sub/x')
    script = 'PATH=/usr/bin:/bin; input=$(cat); case $input in *\'"cwd":"%s"\'*) echo {} ;; esac' % (plugin.ward.work / 'sub')
    assert plugin('bash', {'command': 'ls', 'workdir': 'sub'}, ward=fake(plugin, script)) == {'args': {'command': 'ls', 'workdir': 'sub'}}


def test_without_ward_it_throws(plugin):
    assert 'could not be asked' in plugin('bash', {'command': 'ls'}, ward=plugin.ward.place / 'gone')['refused']
    broken = plugin.ward.file(plugin.ward.place / 'broken' / 'ward', 'x', 0o644)
    assert 'could not be asked' in plugin('bash', {'command': 'ls'}, ward=broken)['refused']


@pytest.mark.parametrize('script', ['kill -9 $$', 'exit 2', 'exit 1', 'echo why >&2; exit 2', 'echo {}; exit 1', 'echo {}; kill -9 $$', 'exit 0', 'echo', 'echo x',
                                    'echo null', 'echo 5', 'echo true', 'echo [] ', 'echo \'"x"\'', "echo '{\"command\": 5}'", "echo '{\"deny\": null}'",
                                    "echo '{\"allow\": \"x\"}'", "echo '{} {}'", "echo '{\"command\": \"x\", \"deny\": \"y\"}'", "printf '{\"command\": \"x'",
                                    'head -c 40000000 /dev/zero'])
def test_whatever_goes_wrong_it_throws(plugin, script):
    answer = plugin('bash', {'command': 'ls'}, ward=fake(plugin, 'PATH=/usr/bin:/bin\n' + script + '\n'))
    assert answer.get('refused') and 'args' not in answer, answer
    assert 'why' not in script or answer['refused'] == 'why'


def test_without_an_answer_in_time_it_throws(plugin):
    # The child of the program holds its output open, and that is not waited for either.
    word = f'sleep\0{resting()}'
    waiting = fake(plugin, 'PATH=/usr/bin:/bin\n{0} &\n{0}\n'.format(word.replace('\0', ' ')))
    try:
        assert 'in 1 seconds' in plugin('bash', {'command': 'ls'}, ward=waiting, seconds=1)['refused']
    finally:
        all_gone(word, 0)


def test_what_cannot_be_asked_throws(plugin):
    assert 'refused' in plugin('bash', {})
    assert 'refused' in plugin('bash', {'command': 'ls'}, directory=5)


def test_nothing_but_the_plugin_is_exported(plugin):
    # OpenCode calls every function that a file exports as a plugin.
    plugin('webfetch', {})
    line = 'import(process.argv[1]).then((module) => console.log(Object.keys(module).join()))'
    done = subprocess.run([NODE, '-e', line, str(plugin.ward.place / 'plugin.mjs')], capture_output=True, text=True, check=True)
    assert done.stdout == 'WardPlugin\n'
