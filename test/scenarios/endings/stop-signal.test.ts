import { expect, test } from 'vitest';
import { ReActAgent, tool, type Middleware, type Run } from '@isoloop/core';
import { askText } from '@isoloop/core/model';
import { ScriptedModel } from '@isoloop/core/testing';
import { historyFaults } from '../../support/history-faults.ts';

type Work = (run: Run) => Promise<unknown>;

/** Work that ends with `run.stopSignal`, as the work of middleware has to. */
const works: Readonly<Record<string, Work>> = {
  askText: (run) =>
    askText({
      model: new ScriptedModel([{ hang: true }]),
      system: 'Judge.',
      user: 'Is it right?',
      what: 'opinion',
      replyFor: 'program',
      signal: run.stopSignal,
      run,
    }),
  fetch: ({ stopSignal }) =>
    new Promise((_resolve, reject) => {
      stopSignal.addEventListener('abort', () => reject(stopSignal.reason as Error));
    }),
};

/** Places in which a middleware does its work. */
const places: Readonly<Record<string, (work: Work) => Middleware>> = {
  wrapSettle: (work) => ({
    async wrapSettle(input, next, run) {
      const outcome = await next(input);
      await work(run);
      return outcome;
    },
  }),
  wrapRequest: (work) => ({
    async wrapRequest(draft, next, run) {
      await work(run);
      return next(draft);
    },
  }),
  wrapReply: (work) => ({
    async wrapReply(reply, next, run) {
      const outcome = await next(reply);
      await work(run);
      return outcome;
    },
  }),
  wrapRound: (work) => ({
    async wrapRound(round, next, run) {
      await work(run);
      return next(round);
    },
  }),
  wrapTool: (work) => ({
    async wrapTool(call, next, run) {
      await work(run);
      return next(call);
    },
  }),
  'a pre-acting hook': (work) => ({
    on: { 'pre-acting': async (_event, run) => void (await work(run)) },
  }),
  'a post-acting hook': (work) => ({
    on: { 'post-acting': async (_event, run) => void (await work(run)) },
  }),
  'a post-reasoning hook': (work) => ({
    on: { 'post-reasoning': async (_event, run) => void (await work(run)) },
  }),
};

const cases = Object.keys(places).flatMap((place) =>
  Object.keys(works).flatMap((work) => [
    [place, work, 'stop', 'interrupted'] as const,
    [place, work, 'pause', 'suspended'] as const,
  ]),
);

test.each(cases)(
  'in %s, %s with `run.stopSignal` lets a %s end the run as %s',
  async (place, work, mode, reason) => {
    const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
    let isFirst = true;
    const stopping: Work = async (run) => {
      if (!isFirst) return;
      isFirst = false;
      const waiting = works[work]!(run);
      run.ending.interrupt({ mode });
      await waiting;
    };
    const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }, 'One.', 'Two.', 'Three.']);
    const use = [places[place]!(stopping)];
    const agent = new ReActAgent({ name: 'a', model, tools: [look], use });
    expect(await agent.call('Go')).toMatchObject({ reason });
    expect(await agent.call(mode === 'pause' ? undefined : 'Go on')).toMatchObject({
      reason: 'stop',
    });
    expect(historyFaults(await agent.messages())).toEqual([]);
  },
);

test('an error of its own still fails the call after an interrupt', async () => {
  const failing: Middleware = {
    async wrapReply(reply, next, run) {
      await next(reply);
      run.ending.interrupt();
      throw new Error('broken');
    },
  };
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['One.']), use: [failing] });
  await expect(agent.call('Go')).rejects.toThrow('broken');
});
