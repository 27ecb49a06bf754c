import { expect, test, vi } from 'vitest';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { type Middleware, textOf, type Msg } from '@isoloop/core';
import { isEnding, isNewAnswer } from '@isoloop/core/agent';
import { jsonMode } from '@isoloop/core/output';
import { piiRule } from '../pii/pii-rule.ts';
import { outputGuards } from './output-guards.ts';
import { lengthRule } from './length-rule.ts';
import type { OutputRule } from './output-rule.ts';
import { regexRule } from './regex-rule.ts';

const never = regexRule({ pattern: /forbidden/, action: 'reject', name: 'never' });
const mail = 'mail bob@example.com';

function withText(message: Msg, text: string): Msg {
  return { ...message, content: [{ type: 'text', text }] };
}

/** Middleware that gives each answer another text. */
const rewrite = (text: string): Middleware => ({
  name: 'rewrite',
  wrapReply: async (reply, next) => {
    const outcome = await next(reply);
    return isNewAnswer(outcome)
      ? { ...outcome, message: withText(outcome.message, text) }
      : outcome;
  },
});

test.each<[string, Middleware]>([
  ['a wrapper changed', rewrite(mail)],
  [
    'a wrapper made',
    {
      wrapReply: async (reply, next, run) => {
        const outcome = await next(reply);
        const message = run.createMessage('assistant', mail);
        return isEnding(outcome) ? { kind: 'custom', reason: 'stop', message } : outcome;
      },
    },
  ],
])('an answer that %s is checked before readers and the log get it', async (_what, inner) => {
  const { agent } = scriptedAgent(['ok'], { use: [outputGuards([piiRule()]), inner] });
  const stream = agent.stream('Hi');
  const seen: string[] = [];
  for await (const event of stream) seen.push(JSON.stringify(event));
  expect((await stream.result).text).toBe('mail [EMAIL]');
  expect(JSON.stringify([seen, await agent.messages()])).not.toContain('bob@');
});

test('the log gets an answer that a hook changed after its check', async () => {
  const hook: Middleware = {
    on: { 'post-reasoning': (event) => ({ ...event, message: withText(event.message, mail) }) },
  };
  const { agent } = scriptedAgent(['ok'], { use: [outputGuards([piiRule()]), hook] });
  expect((await agent.call('Hi')).text).toBe('mail [EMAIL]');
  expect(JSON.stringify(await agent.messages())).not.toContain('bob@');
});

test('an answer that outer middleware changed is not checked', async () => {
  const { agent } = scriptedAgent(['ok'], { use: [rewrite(mail), outputGuards([piiRule()])] });
  expect((await agent.call('Hi')).text).toBe(mail);
});

test('a changed answer can be rejected', async () => {
  const use = [outputGuards([never]), rewrite('forbidden')];
  const { agent } = scriptedAgent(['ok'], { use });
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    error: { code: 'GUARD_REJECTED', details: { stage: 'never' } },
  });
  expect(JSON.stringify(await agent.messages())).not.toContain('forbidden');
});

test('a rule does not ask the model again about a changed answer', async () => {
  const use = [outputGuards([lengthRule({ min: 10, tooShort: 'retry' })]), rewrite('Short')];
  const { agent, model } = scriptedAgent(['A long answer.'], { use });
  expect(await agent.call('Hi')).toMatchObject({
    text: 'Short',
    message: { metadata: { warnings: [{ stage: 'lengthRule', length: 5, min: 10 }] } },
  });
  model.assertDone();
});

test('an answer without a change, and a structured one, is reviewed once', async () => {
  const texts: string[] = [];
  const rule = {
    name: 'listen',
    review(text: string) {
      texts.push(text);
      return { text };
    },
  };
  const { agent } = scriptedAgent(['ok', 'So: {"a": 1}'], { use: [outputGuards([rule])] });
  await agent.call('Hi');
  await agent.call('Hi', { output: jsonMode() });
  expect(texts).toEqual(['ok', 'So: {"a": 1}']);
});

test('a rule that wants another reply rejects a changed answer, and is not reported', async () => {
  const calm: OutputRule = {
    name: 'calm',
    review: (text) => (text.includes('!') ? { retry: 'Be calm.' } : { text }),
  };
  const onError = vi.fn();
  const { agent } = scriptedAgent(['ok'], {
    use: [outputGuards([calm], { onError }), rewrite('wow!')],
  });
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    error: { details: { category: 'OUTPUT_REJECTED', stage: 'calm' } },
  });
  expect(onError).not.toHaveBeenCalled();
});

const long = 'This answer is long enough for the rule.';
const notShort = outputGuards([lengthRule({ min: 30, tooShort: 'reject' })]);

test.each<[string, string, Middleware]>([
  [
    'with which a hook stops the run',
    'stopped-by-hook',
    { on: { 'post-reasoning': (event) => event.jumpTo('end', 'Done.') } },
  ],
  [
    'of an interrupt',
    'interrupted',
    {
      wrapReply: async (reply, next, run) => {
        const outcome = await next(reply);
        run.ending.interrupt('Done.');
        return run.ending.stopped ? run.ending.whenStopped(reply.message) : outcome;
      },
    },
  ],
])('a message %s is no answer, so rules do not check it', async (_what, reason, inner) => {
  const { agent } = scriptedAgent([long], { use: [notShort, inner] });
  expect(await agent.call('Hi')).toMatchObject({ reason, text: 'Done.' });
});

test('a text that lengthRule() shortened is not shortened again after a change', async () => {
  const seen: number[] = [];
  const rule = lengthRule({ max: 40, onViolation: ({ value }) => seen.push(value) });
  const actions: string[] = [];
  const guards = outputGuards([rule], { onAction: ({ action }) => actions.push(action) });
  const upper: Middleware = {
    wrapReply: async (reply, next) => {
      const outcome = await next(reply);
      if (!isNewAnswer(outcome)) return outcome;
      const text = textOf(outcome.message).toUpperCase();
      return { ...outcome, message: withText(outcome.message, text) };
    },
  };
  const { agent } = scriptedAgent(['x'.repeat(60)], { use: [guards, upper] });
  expect((await agent.call('Hi')).text).toBe(`${'X'.repeat(24)}\n\n[CUT OFF HERE]`);
  expect([seen, actions]).toEqual([[60], ['changed']]);
});

test('rules check a reply that a hook changed before it stopped the run', async () => {
  const hook: Middleware = {
    on: {
      'post-reasoning': (event) => {
        event.stop();
        return { ...event, message: withText(event.message, mail) };
      },
    },
  };
  const { agent } = scriptedAgent(['ok'], { use: [outputGuards([piiRule()]), hook] });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stopped-by-hook', text: 'mail [EMAIL]' });
});

test('rules do not check what a `post-call` hook changes', async () => {
  const hook: Middleware = {
    on: { 'post-call': (event) => ({ ...event, message: withText(event.message, mail) }) },
  };
  const { agent } = scriptedAgent(['ok'], { use: [outputGuards([piiRule()]), hook] });
  expect((await agent.call('Hi')).text).toBe(mail);
});

test('a text that middleware makes too long is shortened again, and reported as another reply', async () => {
  const seen: number[] = [];
  const rule = lengthRule({ max: 30, mark: '…', onViolation: ({ value }) => seen.push(value) });
  const actions: string[] = [];
  const guards = outputGuards([rule], { onAction: ({ action }) => actions.push(action) });
  const use = [guards, rewrite('y'.repeat(31))];
  const { agent } = scriptedAgent(['x'.repeat(60)], { use });
  expect((await agent.call('Hi')).text).toBe(`${'y'.repeat(29)}…`);
  expect([seen, actions]).toEqual([
    [60, 31],
    ['changed', 'changed'],
  ]);
});

test('an answer of two texts that a rule shortens keeps no empty text', async () => {
  const two: Middleware = {
    wrapReply: async (reply, next) => {
      const outcome = await next(reply);
      if (!isNewAnswer(outcome)) return outcome;
      const content = ['x'.repeat(30), 'y'.repeat(30)].map(
        (text) => ({ type: 'text', text }) as const,
      );
      return { ...outcome, message: { ...outcome.message, content } };
    },
  };
  const use = [outputGuards([lengthRule({ max: 40 })]), two];
  const { message } = await scriptedAgent(['ok'], { use }).agent.call('Hi');
  expect(message.content).toHaveLength(1);
  expect(textOf(message)).toHaveLength(40);
});
