import { expect, test, vi } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { AgentError } from '../error/agent-error.ts';
import { contextPolicy } from '../context/context-policy.ts';
import { summaryFallback } from '../answer/summary-fallback.ts';
import type { JsonObject, JsonValue } from '../message/json.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { look } from '@test/support/plain-tools.ts';
import { jsonlTrace, type JsonlTraceOptions } from './jsonl-trace.ts';

function agentWith(trace: ReturnType<typeof jsonlTrace>, name = 'a'): ReActAgent {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'look', input: { apiKey: 'k' } }] },
    'all done',
    'again',
  ]);
  return new ReActAgent({
    name,
    model,
    tools: [look],
    sessionId: 's',
    userId: 'u',
    use: [trace],
  });
}

function collect(options?: JsonlTraceOptions) {
  const chunks: Uint8Array[] = [];
  let closed = false;
  const sink = new WritableStream<Uint8Array>({
    write: (chunk) => void chunks.push(chunk),
    close: () => void (closed = true),
  });
  const trace = jsonlTrace(sink, options);
  const text = () =>
    new TextDecoder().decode(new Uint8Array(chunks.flatMap((chunk) => [...chunk])));
  const lines = (): JsonObject[] =>
    text()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonObject);
  return { trace, lines, text, isClosed: () => closed };
}

test('the trace has the error of a failed summary, without its secrets', async () => {
  const { trace, lines } = collect();
  const error = new AgentError('MODEL_SERVER', 'down, apiKey=a1b2c3d4e5');
  const model = new ScriptedModel([{ error }]);
  const fit = contextPolicy({
    fit: ({ messages }) => ({ messages, removed: 0, before: 1, after: 1, error }),
  });
  const use = [trace, summaryFallback(), fit];
  await new ReActAgent({ name: 'a', model, limits: { iterations: 0 }, use }).call('go');
  await trace.settled();
  const shown = { code: 'MODEL_SERVER', message: 'down, apiKey=***' };
  expect(lines().find(({ type }) => type === 'context-fitted')).toMatchObject({ error: shown });
  expect(lines().at(-1)).toMatchObject({ result: { error: shown, warnings: [shown] } });
});

test('jsonlTrace() writes each event with its ids as a line, without prompts and chunks, and masks secrets', async () => {
  const { trace, lines, text } = collect();
  const agent = agentWith(trace);
  await agent.call('go');
  await trace.settled();
  expect(lines().map(({ type }) => type)).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'post-reasoning',
    'pre-acting',
    'post-acting',
    'pre-reasoning',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
  for (const line of lines())
    expect(line).toMatchObject({
      runId: expect.any(String),
      sessionId: 's',
      userId: 'u',
      agentPath: ['a'],
    });
  expect(lines()[2]).toMatchObject({ messages: 1, tools: 1 });
  expect(text()).toContain('"apiKey":"***"');
  expect(text()).not.toContain('"k"');
});

test('with `includeChunks` and `includeRequests`, chunks and prompts are written; an event that `mask` removes is not written', async () => {
  const { trace, lines } = collect({
    includeChunks: true,
    includeRequests: true,
    mask: (event) => ((event as JsonObject)['type'] === 'run-start' ? undefined : event),
  });
  await agentWith(trace).call('go');
  await trace.settled();
  const types = lines().map(({ type }) => type);
  expect(types).toEqual(expect.arrayContaining(['reasoning-chunk', 'tool-input-chunk']));
  expect(types).not.toContain('run-start');
  expect(lines().find(({ type }) => type === 'pre-reasoning')).toMatchObject({
    messages: [{ role: 'user' }],
    tools: [{ name: 'look' }],
  });
});

test('the trace contains an event as later hooks changed it', async () => {
  const { trace, text } = collect();
  const agent = agentWith(trace);
  agent.addHook({
    on: { 'post-acting': (event) => ({ ...event, result: { ...event.result, output: 'hidden' } }) },
  });
  await agent.call('go');
  await trace.settled();
  expect(text()).toContain('hidden');
  expect(text()).not.toContain('"seen"');
});

test('several agents share one trace, and close() writes the waiting lines', async () => {
  const { trace, lines, isClosed } = collect();
  await Promise.all([agentWith(trace, 'a').call('go'), agentWith(trace, 'b').call('go')]);
  await trace.close();
  expect(isClosed()).toBe(true);
  expect(lines()).toHaveLength(20);
});

test('a slow sink delays no call, and lines that exceed `maxWaiting` are dropped and counted', async () => {
  let release!: () => void;
  const held = new Promise<void>((resolve) => (release = resolve));
  const seen: JsonObject[] = [];
  const sink = new WritableStream<Uint8Array>({
    async write(chunk) {
      await held;
      seen.push(JSON.parse(new TextDecoder().decode(chunk)) as JsonObject);
    },
  });
  const trace = jsonlTrace(sink, { maxWaiting: 3 });
  expect(await agentWith(trace).call('go')).toMatchObject({ text: 'all done' });
  release();
  await trace.close();
  expect(seen.map(({ type, events }) => events ?? type)).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    7,
  ]);
});

test('a sink that fails is reported once and does not fail the call', async () => {
  const sink = new WritableStream<Uint8Array>({ write: () => Promise.reject(new Error('full')) });
  const errors: AgentError[] = [];
  const trace = jsonlTrace(sink, { onError: (error) => errors.push(error) });
  const agent = agentWith(trace);
  await agent.call('go');
  await agent.call('again');
  await trace.close();
  expect(errors).toMatchObject([{ code: 'STORAGE_FAILED', cause: { message: 'full' } }]);

  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const silent = jsonlTrace(new WritableStream({ write: () => Promise.reject(new Error('full')) }));
  await agentWith(silent).call('go');
  await silent.close();
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});

test('jsonlTrace() tolerates an `onError` that throws, a sink that fails to close, and a second close()', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const onError = vi.fn(() => {
    throw new Error('mine');
  });
  const broken = jsonlTrace(
    new WritableStream({ write: () => Promise.reject(new Error('full')) }),
    { onError },
  );
  await agentWith(broken).call('go');
  await broken.settled();
  await broken.close();
  expect(onError).toHaveBeenCalledOnce();
  const shown = warn.mock.calls.flat().map(String).join();
  expect(shown).toContain('The trace c');
  expect(shown).toContain('mine');
  warn.mockRestore();

  const errors: AgentError[] = [];
  const sink = new WritableStream({ close: () => Promise.reject(new Error('gone')) });
  const unclosed = jsonlTrace(sink, { onError: (error) => errors.push(error) });
  await Promise.all([unclosed.close(), unclosed.close()]);
  expect(errors).toMatchObject([{ code: 'STORAGE_FAILED', cause: { message: 'gone' } }]);
});

test('events after close() are dropped and do not fail the call', async () => {
  const lines: Uint8Array[] = [];
  const errors: AgentError[] = [];
  const trace = jsonlTrace(new WritableStream({ write: (line) => void lines.push(line) }), {
    onError: (error) => errors.push(error),
  });
  const agent = agentWith(trace);
  await agent.call('go');
  await trace.close();
  const { length } = lines;
  expect(await agent.call('again')).toMatchObject({ reason: expect.any(String) });
  await trace.settled();
  expect([lines.length, errors]).toEqual([length, []]);
});

test('an event for which `mask` throws is counted and not written', async () => {
  let written = '';
  const sink = new WritableStream<Uint8Array>({
    write: (line) => void (written += new TextDecoder().decode(line)),
  });
  const mask = (event: JsonValue): JsonValue => {
    if ((event as { readonly type?: unknown }).type === 'post-reasoning') throw new Error('no');
    return event;
  };
  const trace = jsonlTrace(sink, { mask });
  await agentWith(trace).call('go');
  await trace.close();
  expect(written).toContain('"dropped"');
  expect(written).not.toContain('post-reasoning');
});

test.each([
  [undefined],
  ['file'],
  [new WritableStream(), null],
  [new WritableStream(), { maxWaiting: -5 }],
  [new WritableStream(), { mask: 'k' }],
])(
  'jsonlTrace() rejects the options %#, and a sink that is locked by another writer',
  (sink, options?: unknown) => {
    const refused = expect.objectContaining({ code: 'CONFIGURATION' });
    expect(() => jsonlTrace(sink as never, options as never)).toThrow(refused);
    const locked = new WritableStream();
    locked.getWriter();
    expect(() => jsonlTrace(locked)).toThrow(refused);
  },
);
