# SPDX-License-Identifier: Apache-2.0
"""ward top: connections by the names that they were made to."""
from test_top import find
from world import PRELUDE, WEB, plain, to, ward, world


def test_a_connection_has_its_name_and_its_bytes(ward, world):
    world.name('echo.example', WEB)
    port = world.echo()
    script = f"HOST, PORT = 'echo.example', {port}\n{PRELUDE}\nimport time\ns = socket.create_connection((HOST, PORT), 30); talk(s); time.sleep(500)"
    process = ward.popen('run', *to(f'echo.example:{port}'), '--', '/usr/bin/python3', '-I', '-c', script)
    try:
        row = find(ward, lambda row: any(one['host'] == 'echo.example' for one in row['connections']))
        assert [(one['port'], one['address']) for one in row['connections']] == [(port, WEB)]
        assert row['connections'][0]['sent'] >= 4 and row['connections'][0]['received'] >= 4
    finally:
        process.kill()
        process.communicate()
