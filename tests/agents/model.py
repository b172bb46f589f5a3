# SPDX-License-Identifier: Apache-2.0
"""A model that has learned one task by heart, behind the interfaces of those that coding agents talk to: Anthropic's messages, OpenAI's
responses and chat completions, Gemini's generateContent. It calls one tool a turn, and notes what the agent gives back.

Which step comes next is told by how many results the conversation holds, so that an agent may ask twice."""
import http.server
import json
import threading


def anthropic_answer(call, number):
    """The events of one turn: a call of a tool, or the last words."""
    if call:
        block = {'type': 'tool_use', 'id': f'toolu_{number:02}', 'name': call[0], 'input': {}}
        delta = {'type': 'input_json_delta', 'partial_json': json.dumps(call[1])}
    else:
        block, delta = {'type': 'text', 'text': ''}, {'type': 'text_delta', 'text': 'done'}
    usage = {'input_tokens': 10, 'output_tokens': 10, 'cache_creation_input_tokens': 0, 'cache_read_input_tokens': 0}
    message = {'id': f'msg_{number:02}', 'type': 'message', 'role': 'assistant', 'model': 'claude-sonnet-4-5', 'content': [], 'stop_reason': None,
               'stop_sequence': None, 'usage': usage}
    reason = {'stop_reason': 'tool_use' if call else 'end_turn', 'stop_sequence': None}
    whole = {**message, **reason, 'content': [{**block, 'input': call[1]} if call else {**block, 'text': 'done'}]}
    return whole, [{'type': 'message_start', 'message': message}, {'type': 'content_block_start', 'index': 0, 'content_block': block},
                   {'type': 'content_block_delta', 'index': 0, 'delta': delta}, {'type': 'content_block_stop', 'index': 0},
                   {'type': 'message_delta', 'delta': reason, 'usage': usage}, {'type': 'message_stop'}]


def text_of(content):
    """What a result says, whatever it is wrapped in."""
    if isinstance(content, list):
        return '\n'.join(map(text_of, content))
    if isinstance(content, dict):
        return text_of(content.get('text') or content.get('output') or content.get('error') or content.get('content') or '')
    return str(content)


class Anthropic:
    def results(self, request):
        return [text_of(block.get('content')) for message in request.get('messages', []) if isinstance(message['content'], list)
                for block in message['content'] if block['type'] == 'tool_result']

    def tools(self, request):
        return {tool['name']: tool.get('input_schema', {}).get('properties', {}) for tool in request.get('tools', [])}

    def answer(self, request, call, number):
        whole, events = anthropic_answer(call, number)
        return (None, [(event['type'], event) for event in events]) if request.get('stream') else (whole, None)


class Responses:
    def results(self, request):
        return [text_of(item['output']) for item in request.get('input', [])
                if isinstance(item, dict) and item.get('type') in ('function_call_output', 'custom_tool_call_output')]

    def tools(self, request):
        return {tool.get('name', tool['type']): tool.get('parameters', {}).get('properties') if tool['type'] == 'function' else None
                for tool in request.get('tools', [])}

    def answer(self, request, call, number):
        if call and isinstance(call[1], str):
            item = {'type': 'custom_tool_call', 'id': f'ctc_{number:02}', 'call_id': f'call_{number:02}', 'name': call[0], 'input': call[1]}
        elif call:
            item = {'type': 'function_call', 'id': f'fc_{number:02}', 'call_id': f'call_{number:02}', 'name': call[0],
                    'arguments': json.dumps(call[1])}
        else:
            item = {'type': 'message', 'id': f'msg_{number:02}', 'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'done'}]}
        response = {'id': f'resp_{number:02}', 'object': 'response', 'status': 'completed', 'output': [item],
                    'usage': {'input_tokens': 10, 'input_tokens_details': None, 'output_tokens': 10, 'output_tokens_details': None,
                              'total_tokens': 20}}
        events = [{'type': 'response.created', 'response': {'id': response['id']}}, {'type': 'response.output_item.done', 'output_index': 0, 'item': item},
                  {'type': 'response.completed', 'response': response}]
        return None, [(event['type'], event) for event in events]


class Chat:
    def results(self, request):
        return [text_of(message['content']) for message in request.get('messages', []) if message['role'] == 'tool']

    def tools(self, request):
        return {tool['function']['name']: tool['function'].get('parameters', {}).get('properties', {}) for tool in request.get('tools', [])}

    def answer(self, request, call, number):
        head = {'id': f'chat_{number:02}', 'object': 'chat.completion.chunk', 'created': 1, 'model': request.get('model')}
        delta = {'role': 'assistant', 'content': 'done'} if not call else {'role': 'assistant', 'content': None, 'tool_calls': [
            {'index': 0, 'id': f'call_{number:02}', 'type': 'function', 'function': {'name': call[0], 'arguments': json.dumps(call[1])}}]}
        usage = {'prompt_tokens': 10, 'completion_tokens': 10, 'total_tokens': 20}
        if not request.get('stream'):
            return {**head, 'object': 'chat.completion', 'choices': [{'index': 0, 'message': delta, 'finish_reason': 'stop'}], 'usage': usage}, None
        return None, [(None, {**head, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': None}]}),
                      (None, {**head, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'tool_calls' if call else 'stop'}], 'usage': usage}),
                      (None, None)]


class Gemini:
    def results(self, request):
        return [text_of(part['functionResponse']['response']) for content in request.get('contents', []) for part in content.get('parts', [])
                if 'functionResponse' in part]

    def tools(self, request):
        return {tool['name']: (tool.get('parametersJsonSchema') or tool.get('parameters') or {}).get('properties', {})
                for group in request.get('tools', []) for tool in group.get('functionDeclarations', [])}

    def answer(self, request, call, number):
        part = {'functionCall': {'id': f'call_{number:02}', 'name': call[0], 'args': call[1]}} if call else {'text': 'done'}
        whole = {'candidates': [{'content': {'role': 'model', 'parts': [part]}, 'finishReason': 'STOP', 'index': 0}], 'modelVersion': 'gemini',
                 'usageMetadata': {'promptTokenCount': 10, 'candidatesTokenCount': 10, 'totalTokenCount': 20}}
        return (None, [(None, whole)]) if request['stream'] else (whole, None)


INTERFACES = {'/v1/messages': Anthropic, '/v1/responses': Responses, '/v1/chat/completions': Chat}


class Model:
    """The steps of the task become calls of the tools that the agent offers: `translate(step, tools)` gives (tool, arguments). After a run,
    `results` are what the agent gave back for each step."""

    def __init__(self, steps, translate):
        self.steps, self.translate = steps, translate
        self.results, self.tools, self.failures = [], {}, []
        self.lock = threading.Lock()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                model.post(self)

            def do_GET(self):
                model.send(self, 200, {'models': [], 'data': []})

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def send(self, handler, status, value):
        body = json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header('content-type', 'application/json')
        handler.send_header('content-length', str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def stream(self, handler, events):
        handler.send_response(200)
        handler.send_header('content-type', 'text/event-stream')
        handler.send_header('connection', 'close')
        handler.end_headers()
        for name, event in events:
            data = '[DONE]' if event is None else json.dumps(event)
            handler.wfile.write(((f'event: {name}\n' if name else '') + f'data: {data}\n\n').encode())
        handler.close_connection = True

    def post(self, handler):
        length = handler.headers.get('content-length')
        raw = handler.rfile.read(int(length)) if length else read_chunks(handler.rfile)
        path = handler.path.split('?')[0]
        try:
            request = json.loads(raw)
        except ValueError:
            return self.send(handler, 400, {'error': {'message': 'no JSON'}})
        if path.endswith((':generateContent', ':streamGenerateContent')):
            interface, request['stream'] = Gemini(), ':stream' in path
        elif path in INTERFACES:
            interface = INTERFACES[path]()
        else:  # counts of tokens, statistics
            return self.send(handler, 200, {'input_tokens': 10, 'totalTokens': 10})
        with self.lock:
            call, number = self.next(interface, request)
        whole, events = interface.answer(request, call, number)
        return self.stream(handler, events) if events else self.send(handler, 200, whole)

    def next(self, interface, request):
        tools = interface.tools(request)
        results = interface.results(request)
        if not tools:  # a title, a summary
            return None, 99
        if len(results) >= len(self.results):
            self.results, self.tools = results, tools
        if len(results) >= len(self.steps):
            return None, len(results)
        try:
            return self.translate(self.steps[len(results)], tools), len(results)
        except KeyError as missing:
            self.failures.append(f'no tool for {self.steps[len(results)]}: {missing} among {sorted(tools)}')
            return None, len(results)


def read_chunks(stream):
    body = b''
    while size := int(stream.readline().split(b';')[0] or b'0', 16):
        body += stream.read(size)
        stream.readline()
    stream.readline()
    return body
