# SPDX-License-Identifier: Apache-2.0
"""docs/protocol.md says of each message which socket takes it; the daemon says the same."""
import re

import pytest

from daemon import Refused, serving
from support import SOURCE

ROW = re.compile(r'^\| `([a-z.]+)` \| (yes)? ?\| (yes)? ?\|', re.M)


def documented():
    text = (SOURCE / 'docs' / 'protocol.md').read_text()
    table = text.split('\n## Methods\n')[1].split('\nA run over the socket')[0]
    return {name: (bool(agent), bool(approver)) for name, agent, approver in ROW.findall(table)}


def test_the_document_has_the_table_of_the_code(plain):
    source = (SOURCE / 'src' / 'serve' / 'daemon_methods.c').read_text()
    rows = re.findall(r'\{"([a-z.]+)", (true|false), (true|false), method_', source)
    assert {name: (agent == 'true', approver == 'true') for name, agent, approver in rows} == documented()


def test_each_socket_takes_what_the_document_says_and_nothing_else(plain):
    with serving(plain) as daemon:
        for side, client in enumerate((daemon.agent(), daemon.approver())):
            allowed = {name for name, sides in documented().items() if sides[side]}
            assert set(client.call('methods')) == allowed
            for name in set(documented()) - allowed:
                with pytest.raises(Refused) as refused:
                    client.call(name)
                assert refused.value.code == -32601


def test_the_bounds_of_the_document_are_those_of_the_code():
    text = (SOURCE / 'docs' / 'protocol.md').read_text().split('\n## Bounds\n')[1]
    header = (SOURCE / 'src' / 'serve' / 'daemon_parts.h').read_text()
    number = {name: eval(value) for name, value in re.findall(r'^\t([A-Z_]+) = ([0-9 <]+),', header, re.M)}
    told = {'CLIENT_LINE': '1 MiB', 'CLIENT_KEEPS': '8 MiB', 'CLIENT_PAUSES': '256 KiB'}
    for name, words in told.items():
        count, unit = words.split()
        assert number[name] == int(count) << {'KiB': 10, 'MiB': 20}[unit] and words in text
    assert f"{number['CLIENT_BURST']} at once, then {number['CLIENT_RATE']} a second" in text
    assert f"{number['CONNECTIONS_AGENT']} agents, {number['CONNECTIONS_APPROVER']} approvers, {number['CONNECTIONS_PROCESS']} of one" in text
    assert f"{number['WORKERS_CLIENT']} of a connection, {number['WORKERS']} of all agents, {number['WORKER_SECONDS']} s" in text
    assert f"up to {number['LIST_MOST']}" in text and f"| {number['CLIENT_CALLS']} |" in text
