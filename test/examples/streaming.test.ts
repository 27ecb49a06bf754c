import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region stream
import { ReActAgent } from '@isoloop/core';
// #endregion
// #region stream-detached
import { attach } from '@isoloop/core/event';
// #endregion

test('stream() yields events; a detached run continues without a reader', async () => {
  const model = new ScriptedModel([
    'Tea is a drink.',
    'One two three.',
    'In batches.',
    'A long report.',
  ]);

  // #region stream
  const agent = new ReActAgent({ name: 'assistant', model });

  let text = '';
  const stream = agent.stream('What is tea?');
  for await (const event of stream) {
    if (event.type === 'reasoning-chunk' && event.kind === 'text') text += event.delta;
  }
  const { reason, usage } = await stream.result;
  // #endregion

  expect([text, reason, usage]).toEqual([
    'Tea is a drink.',
    'stop',
    expect.objectContaining({ outputTokens: 5 }),
  ]);

  // #region stream-cancel
  for await (const event of agent.stream('Tell me more.')) {
    if (event.type === 'reasoning-chunk') break; // aborts the run, like stream.cancel()
  }
  // #endregion

  expect(model.reads).toBe(4 + 1);
  expect((await agent.messages()).at(-1)).toMatchObject({
    content: [{ text: 'One ' }],
    metadata: { partial: 'aborted' },
  });

  const socket: { readonly sent: unknown[]; send(data: string): void } = {
    sent: [],
    send: (data) => socket.sent.push(JSON.parse(data)),
  };
  // #region stream-batches
  for await (const batch of agent.stream('And more.').batches()) socket.send(JSON.stringify(batch));
  // #endregion

  expect(socket.sent.flat().at(-1)).toMatchObject({
    type: 'run-end',
    result: { text: 'In batches.' },
  });

  const log = vi.spyOn(console, 'log').mockReturnValue();
  // #region stream-detached
  const report = agent.stream('Write a long report.', { detached: true }); // the run has already started
  const { result, runId } = report;

  const reader = attach(agent, { runId, afterSeq: 3 }); // null if the agent's last stream belongs to another run
  for await (const event of reader ?? []) console.log(event.seq, event.type);
  console.assert((await result).reason === 'stop');
  // #endregion

  expect(log.mock.calls[0]?.[0]).toBe(4);
  expect(log.mock.lastCall?.[1]).toBe('run-end');
  expect(attach(agent, { runId: 'another' })).toBeNull();
  expect(attach(agent, { runId })).not.toBeNull();
  model.assertDone();
});

test('a run that waits for its reader accepts only one reader', async () => {
  const agent = new ReActAgent({ name: 'assistant', model: new ScriptedModel(['one two']) });
  const stream = agent.stream('Hi');
  const first = stream[Symbol.asyncIterator]();
  await first.next();
  expect(attach(agent)).toBeNull();
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
  await first.return?.();
});

test('cancel() ends a normal run; interrupt() and the signal end a detached run', async () => {
  const model = new ScriptedModel([
    [{ text: 'one' }, { hang: true }],
    [{ text: 'two' }, { hang: true }],
    [{ text: 'three' }, { hang: true }],
  ]);
  const agent = new ReActAgent({ name: 'assistant', model });
  const firstDelta = async (stream: ReturnType<ReActAgent['stream']>): Promise<void> => {
    for await (const event of stream) if (event.type === 'reasoning-chunk') break;
  };

  const asked = agent.stream('Hi');
  const { result } = asked;
  await firstDelta(asked);
  expect(agent.busy).toBe(true);
  await asked.cancel();
  expect((await result).reason).toBe('aborted');

  const detached = agent.stream('Hi', { detached: true });
  await firstDelta(detached);
  await detached.cancel();
  expect(agent.busy).toBe(true);
  agent.interrupt();
  expect((await detached.result).reason).toBe('interrupted');

  const controller = new AbortController();
  const signalled = agent.stream('Hi', { detached: true, signal: controller.signal });
  await firstDelta(signalled);
  controller.abort();
  expect((await signalled.result).reason).toBe('aborted');
});

test('readable() does not read ahead of its reader', async () => {
  const model = new ScriptedModel(['one two three']);
  const agent = new ReActAgent({ name: 'assistant', model });
  const readable = agent.stream('Hi').readable();
  expect(model.requests).toEqual([]);
  const types: string[] = [];
  for await (const batch of readable) types.push(...batch.map(({ type }) => type));
  expect(types.at(-1)).toBe('run-end');
});
