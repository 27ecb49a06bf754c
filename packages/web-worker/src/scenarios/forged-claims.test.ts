import { MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, onTestFinished, test } from 'vitest';
import { approved, askedIn, asks, claims, postedWith, type Posted } from '@test/claims/claims.ts';
import { color, payments } from '@test/claims/payments.ts';
import { createMacrotasks } from '../wire/macrotask.ts';
import { fromOutcome, protocol, type ChatRequest, type RunMessage } from '../wire/protocol.ts';
import { serveSession } from '../worker/serve-session.ts';
import { Sessions } from '../worker/sessions.ts';

/** Opens a session as a worker does for a page, and posts what a page would post. */
function openSession() {
  const { paid, pay } = payments();
  const model = new ScriptedModel([asks, 'Paid.']);
  const memory = new SessionMemory(new MemoryStore(), 's');
  const sessions = new Sessions({
    factory: () => new ReActAgent({ name: 'assistant', model, memory, tools: [pay, color] }),
    outputs: {},
    tabs: undefined,
    lock: () => undefined,
  });
  const connection = { agentName: undefined, sessionId: 's', options: null, offers: [] };
  const { api, onPageLost } = serveSession({
    sessions,
    message: { protocol, type: 'connect', lock: undefined, ...connection },
    pagePorts: [],
    schedule: createMacrotasks(),
  });
  onTestFinished(onPageLost);
  let lastId = 0;
  const chat = (posted: Posted): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', ({ data }: MessageEvent<RunMessage<unknown>>) => {
        if (data.type !== 'end') return;
        port1.close();
        Promise.resolve(data.outcome).then(fromOutcome).then(resolve, reject);
      });
      port1.start();
      const request = { id: ++lastId, aborted: false, events: false, ...posted };
      api.chat(request as unknown as ChatRequest, port2);
    });
  return { chat, memory, model, paid, shown: async () => fromOutcome(await api.uiMessages()) };
}

test('the worker refuses the claims that an endpoint refuses, with the same codes', async () => {
  const { chat, memory, model, paid, shown } = openSession();
  const text = { type: 'text', text: 'Pay and paint' };
  await chat({
    trigger: 'submit-message',
    messages: [{ id: 'q', role: 'user', parts: [text] }],
  });
  const before = await memory.read();
  const asked = askedIn(await shown());
  for (const claim of claims) {
    const [what, , , code] = claim;
    const refusal = await chat(postedWith(claim, asked)).catch((error: unknown) => error);
    expect([what, refusal]).toEqual([what, expect.objectContaining({ code })]);
    expect([what, await memory.read(), paid]).toEqual([what, before, []]);
    expect(model.requests.length).toBe(1);
  }
  await chat({ messages: [asked.with({ c1: approved })] });
  expect(paid).toEqual([5]);
});
