// SPDX-License-Identifier: Apache-2.0
// A conversation with ward mcp through an official client library; prints what came of it as one object.
//
//   node converse.mjs '{"library": "v1"|"v2", "version": "2025-06-18", "ward": "/path/of/ward", "outside": "/a/directory"}'
//
// The libraries check every message and every structured result themselves, and throw.

import {writeFileSync} from 'node:fs';

const task = JSON.parse(process.argv[2]);
const isNew = task.version === '2026-07-28';
const capabilities = task.version >= '2025-06-18' ? {elicitation: isNew || task.version >= '2025-11-25' ? {form: {}} : {}} : {};
const asked = [];
let choice = 'deny once';

function answer(request) {
	asked.push(request.params);
	return {action: 'accept', content: {answer: choice}};
}

async function connectFirst() {
	const {Client} = await import('@modelcontextprotocol/sdk/client/index.js');
	const {StdioClientTransport} = await import('@modelcontextprotocol/sdk/client/stdio.js');
	const {ElicitRequestSchema} = await import('@modelcontextprotocol/sdk/types.js');
	const client = new Client({name: 'converse', version: '1'}, {capabilities});
	const transport = new StdioClientTransport({command: task.ward, args: ['mcp'], env: process.env, stderr: 'inherit'});
	const send = transport.send.bind(transport);

	// The library asks for its newest version; it speaks the older ones where the server answers with them.
	transport.send = (message, ...more) => {
		if (message.method === 'initialize')
			message = {...message, params: {...message.params, protocolVersion: task.version}};
		return send(message, ...more);
	};
	if (capabilities.elicitation)
		client.setRequestHandler(ElicitRequestSchema, answer);
	await client.connect(transport);
	return client;
}

async function connectSecond() {
	const {Client} = await import('@modelcontextprotocol/client');
	const {StdioClientTransport} = await import('@modelcontextprotocol/client/stdio');
	const how = isNew ? {versionNegotiation: {mode: {pin: task.version}}} : {supportedProtocolVersions: [task.version]};
	const client = new Client({name: 'converse', version: '1'}, {capabilities, ...how});

	if (capabilities.elicitation)
		client.setRequestHandler('elicitation/create', answer);
	await client.connect(new StdioClientTransport({command: task.ward, args: ['mcp'], env: process.env, stderr: 'inherit'}));
	return client;
}

const client = await (task.library === 'v1' ? connectFirst() : connectSecond());
const told = [];

async function call(name, args, options) {
	const params = {name, arguments: args};
	const result = task.library === 'v1' ? await client.callTool(params, undefined, options) : await client.callTool(params, options);
	return result.structuredContent ?? JSON.parse(result.content[0].text.startsWith('{') ? result.content[0].text : JSON.stringify({text: result.content[0].text}));
}

const report = {instructions: client.getInstructions?.(), server: client.getServerVersion?.()};
report.tools = (await client.listTools()).tools.map((tool) => tool.name);
// What comes together with the result may be told of after it, and is then told to nobody.
report.run = await call('run', {command: 'echo out; echo err >&2; until [ -e told ]; do sleep 0.05; done; rm told; exit 3'}, {onprogress: (progress) => {
	told.push(progress.message ?? progress.progress);
	writeFileSync('told', '');
}});
report.told = told;
report.written = await call('write_file', {path: 'file', content: 'one\ntwo\n'});
report.patched = await call('apply_patch', {patch: '*** Begin Patch\n*** Update File: file\n@@\n one\n-two\n+TWO\n*** End Patch\n'});
report.read = await call('read_file', {path: 'file'});
report.checked = await call('check', {command: 'rm -rf /'});
report.refused = await call('run', {command: `echo x > ${task.outside}/refused`});
choice = 'approve once';
report.granted = await call('run', {command: `echo x > ${task.outside}/granted`, reason: 'the test wants it'});
report.pending = await call('pending', {});
report.asked = asked;

const controller = new AbortController();
const cancelled = call('run', {argv: ['sleep', task.sleep]}, {signal: controller.signal});
while (!(await call('run', {command: 'true'})).run); // it has begun by now
controller.abort('the user has changed their mind');
report.cancelled = await cancelled.then(() => false, () => true);
report.after = (await call('run', {argv: ['echo', 'still there']})).stdout;
await client.close();
console.log(JSON.stringify(report));
