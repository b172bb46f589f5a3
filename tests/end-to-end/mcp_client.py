# SPDX-License-Identifier: Apache-2.0
"""A client of ward mcp that says what it is told to, byte for byte if need be."""
import contextlib
import json
import os
import select
import subprocess
import time

import jsonschema

from support import PATIENCE

OLD = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
NEW = '2026-07-28'
META = 'io.modelcontextprotocol/'


def says(choice, **more):
    """A user who submits the form with that choice."""
    return {'action': 'accept', 'content': {'answer': choice, **more}}


class Client:
    def __init__(self, ward, *flags, version='2025-11-25', asks=True, answer=None, start=True, **how):
        self.process = ward.popen('mcp', *flags, stdin=subprocess.PIPE, **how)
        self.version, self.answer = version, answer or (lambda form: {'action': 'decline'})
        self.capabilities = {'elicitation': {}} if asks else {}
        self.data, self.number, self.forms, self.notes, self.tools = b'', 0, [], [], {}
        if start and version in OLD:
            self.hello = self.result('initialize', protocolVersion=version, capabilities=self.capabilities,
                                     clientInfo={'name': 'scripted', 'version': '1'})
            self.send({'jsonrpc': '2.0', 'method': 'notifications/initialized'})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b'\n')

    def read(self):
        """The next message; None at the end."""
        end = time.monotonic() + PATIENCE
        while b'\n' not in self.data:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, f'nothing came; stderr: {self.process.stderr.read1()}'
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                assert not self.data, self.data
                return None
            self.data += piece
        line, self.data = self.data.split(b'\n', 1)
        message = json.loads(line)
        assert isinstance(message, list) or message['jsonrpc'] == '2.0'
        return message

    def begin(self, method, meta=None, **params):
        """Sends a request and returns its id."""
        self.number += 1
        if self.version == NEW:
            meta = {META + 'protocolVersion': NEW, META + 'clientCapabilities': self.capabilities, **(meta or {})}
        self.send({'jsonrpc': '2.0', 'id': self.number, 'method': method, 'params': {**params, **({'_meta': meta} if meta else {})}})
        return self.number

    def until(self, number):
        """The answer to a request; whatever comes before it is kept, and questions are answered."""
        while True:
            message = self.read()
            assert message is not None, 'the server has ended'
            if message.get('method') == 'elicitation/create':
                assert self.version != NEW
                self.forms.append(message['params'])
                self.send({'jsonrpc': '2.0', 'id': message['id'], 'result': self.answer(message['params'])})
            elif 'method' in message:
                self.notes.append(message)
            elif message.get('id') == number:
                return message

    def request(self, method, meta=None, **params):
        return self.until(self.begin(method, meta, **params))

    def result(self, method, meta=None, **params):
        answer = self.request(method, meta, **params)
        assert 'result' in answer, answer
        return answer['result']

    def whole(self, name, meta=None, **arguments):
        """The result of a tool, with as many rounds as it takes in the new era."""
        params = {'name': name, 'arguments': arguments}
        result = self.result('tools/call', meta, **params)
        while result.get('resultType') == 'input_required':
            responses = {}
            for key, asked in result['inputRequests'].items():
                assert asked['method'] == 'elicitation/create'
                self.forms.append(asked['params'])
                responses[key] = self.answer(asked['params'])
            result = self.result('tools/call', meta, **params, requestState=result['requestState'], inputResponses=responses)
        if self.version == NEW:
            assert result['resultType'] == 'complete'
        return result

    def tool(self, name, meta=None, **arguments):
        """What a tool returns, held against its schema; the text of it is the same."""
        result = self.whole(name, meta, **arguments)
        text, = result['content']
        assert text['type'] == 'text' and result['isError'] in (True, False), result
        if 'structuredContent' not in result:
            if result['isError'] and not text['text'].startswith('{'):
                return text['text']
            assert self.version in OLD[:2], result
            return json.loads(text['text'])
        if not self.tools:
            self.tools = {tool['name']: tool for tool in self.result('tools/list')['tools']}
        jsonschema.validate(result['structuredContent'], self.tools[name]['outputSchema'])
        jsonschema.validate(arguments, self.tools[name]['inputSchema'])
        assert json.loads(text['text']) == result['structuredContent']
        return result['structuredContent']

    def end(self):
        """Closes its input; the exit status."""
        self.process.stdin.close()
        while self.read() is not None:
            pass
        return self.process.wait(PATIENCE)
