import { expect, test } from 'vitest';
import * as z from 'zod';
import { extent } from '../../test-extent.ts';
import {
  type AgentEvent,
  type AgentResult,
  type Decision,
  MemoryStore,
  SessionMemory,
  userMessage,
  textOf,
  type Msg,
  ReActAgent,
  type AgentOptions,
} from '@isoloop/core';
import { type OutputMode, structured } from '@isoloop/core/output';
import { createUiMessageEncoder } from '@isoloop/core/stream';
import { isCutOff } from '@isoloop/core/log';
import { openToolUses } from '../../../packages/core/src/message/conversation/tool-pairs.ts';
import { spreadPoints } from '../../faults/inject-faults.ts';
import { historyFaults } from '../../support/history-faults.ts';
import { makeWitness, MortalProcess, type Life } from '../../faults/mortal-process.ts';
import type { ScriptedReply } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { agentTool } from '@isoloop/core/several';

type Durability = 'step' | 'turn';

/** A process that runs an action, such as an interrupt, at one of the points where it may die. */
class StartledProcess extends MortalProcess {
  at = Infinity;
  act: () => void = () => {};

  override point(name: string): Promise<void> {
    if (this.points.length === this.at) this.act();
    return super.point(name);
  }
}

interface Scenario {
  readonly name: string;
  readonly options: (process: MortalProcess) => Partial<AgentOptions>;
  readonly reply: (messages: readonly Msg[]) => ScriptedReply;
  readonly output?: OutputMode;
  /** Final text of the run without a crash. */
  readonly text: string;
  /** Other valid final texts after a crash. */
  readonly also?: RegExp;
}

const repliesIn = (messages: readonly Msg[]): number =>
  messages.filter(({ role }) => role === 'assistant').length;

const inOrder =
  (...replies: readonly ScriptedReply[]) =>
  (messages: readonly Msg[]): ScriptedReply =>
    replies[Math.min(repliesIn(messages), replies.length - 1)]!;

const calls = (...names: readonly string[]): ScriptedReply => ({
  text: 'Let me see.',
  toolCalls: names.map((name, index) => ({ name, id: `${name}-${index}` })),
});

const tools = (process: MortalProcess) => [
  process.tool({ name: 'never', description: '', input: {}, execute: () => 'never done' }),
  process.tool({
    name: 'safe',
    description: '',
    input: {},
    replay: 'safe',
    execute: () => 'safe done',
  }),
  process.tool({
    name: 'ask',
    description: '',
    input: {},
    replay: 'ask',
    execute: () => 'ask done',
  }),
  process.tool({
    name: 'yes',
    description: '',
    input: {},
    needsApproval: true,
    execute: () => 'yes done',
  }),
  process.tool({
    name: 'direct',
    description: '',
    input: {},
    returnDirect: true,
    execute: () => 'Direct.',
  }),
];

const check = (reply: string): string | undefined =>
  reply === 'Well?' ? 'That is no answer.' : undefined;

const city = z.object({ city: z.string() });
const longer = z.object({ n: z.number().transform((n) => n * 2) });
const value = (input: { readonly city: string } | { readonly n: number }): ScriptedReply => ({
  toolCalls: [{ name: 'generate_response', id: 'value', input }],
});

const scenarios: readonly Scenario[] = [
  { name: 'text', options: () => ({}), reply: inOrder('All done.'), text: 'All done.' },
  ...['never', 'safe', 'ask', 'yes'].map((name): Scenario => ({
    name: `tool ${name}`,
    options: (process) => ({ tools: tools(process) }),
    reply: inOrder(calls(name), 'All done.'),
    text: 'All done.',
  })),
  {
    name: 'parallel calls',
    options: (process) => ({ tools: tools(process) }),
    reply: inOrder(calls('never', 'safe', 'ask', 'yes', 'never'), calls('never'), 'All done.'),
    text: 'All done.',
  },
  {
    name: 'direct answer',
    options: (process) => ({ tools: tools(process) }),
    reply: inOrder(calls('direct'), 'It was cut off.'),
    text: 'Direct.',
    also: /^It was cut off\.$/,
  },
  {
    name: 'structured by tool',
    options: (process) => ({ tools: tools(process) }),
    reply: inOrder(calls('never'), 'Oslo, I think.', value({ city: 'Oslo' })),
    output: structured(city),
    text: '{"city":"Oslo"}',
  },
  {
    name: 'structured by tool beside another call',
    options: (process) => ({ tools: tools(process) }),
    reply: inOrder(
      { toolCalls: [{ name: 'never' }, { name: 'generate_response', input: { n: 4 } }] },
      value({ n: 4 }),
    ),
    output: structured(longer),
    text: '{"n":8}',
  },
  {
    name: 'structured by prompt',
    options: (process) => ({ tools: tools(process) }),
    reply: inOrder(calls('never'), 'Oslo?', '```json\n{"n": 4}\n```'),
    output: structured(longer, { mode: 'prompt' }),
    text: '{"n":8}',
  },
  {
    name: 'text protocol',
    options: (process) => ({ tools: tools(process), use: [textToolCalls({ check })] }),
    reply: (messages) =>
      ['{"tool_name":"never","arguments":{}}', 'Well?', 'All done.'][
        messages.filter(({ role }) => role === 'user').length - 1
      ]!,
    text: 'All done.',
  },
  {
    name: 'sub-agent',
    options: (process) => ({
      tools: [
        agentTool(
          ({ sessionId }) =>
            new ReActAgent({
              name: 'child',
              sessionId,
              memory: process.memory(sessionId),
              model: process.model(({ messages }) => inOrder(calls('never'), 'Done.')(messages)),
              tools: tools(process),
            }),
          { name: 'child', description: '', replay: 'safe' },
        ),
      ],
    }),
    reply: inOrder(
      { toolCalls: [{ name: 'call_child', id: 'child', input: { message: 'Do it.' } }] },
      'All done.',
    ),
    text: 'All done.',
  },
];

function open(scenario: Scenario, process: MortalProcess, durability: Durability): ReActAgent {
  let id = 0;
  return new ReActAgent({
    name: 'a',
    sessionId: 's',
    memory: process.memory('s', { durability }),
    model: process.model(
      ({ messages }) => scenario.reply(messages),
      scenario.name === 'text protocol' ? { features: { tools: false } } : {},
    ),
    generateId: () => `${process.generation}-${(id += 1)}`,
    ...scenario.options(process),
  });
}

const question = userMessage('Go.', { id: 'question' });
const approve = ({ pending }: AgentResult): readonly Decision[] =>
  pending.map(({ toolUseId }) => ({ toolUseId, type: 'approve' }));

/**
 * Makes calls and approves pending tool calls until the run ends. Checks that the UI stream’s last
 * text is the answer.
 */
async function finish(
  agent: ReActAgent,
  first: Msg | undefined,
  options: { readonly output?: OutputMode; readonly signal?: AbortSignal },
): Promise<AgentResult> {
  let input: Msg | readonly Decision[] | undefined = first;
  for (;;) {
    const stream = agent.stream(input, options);
    const encoder = createUiMessageEncoder();
    let shown = '';
    for await (const batch of stream.batches()) {
      for (const chunk of encoder.encode(batch)) {
        if (/^(start|reset)-step$/.test(chunk.type)) shown = '';
        if (chunk.type === 'text-delta') shown += chunk.delta;
      }
    }
    const result = await stream.result;
    if (result.reason === 'stop') expect(shown).toBe(result.text);
    if (result.reason !== 'suspended' || !result.pending.length) return result;
    input = approve(result);
  }
}

async function begin(
  scenario: Scenario,
  process: MortalProcess,
  durability: Durability,
): Promise<AgentResult> {
  const { output } = scenario;
  const agent = open(scenario, process, durability);
  return finish(agent, question, { ...(output && { output }), signal: process.signal });
}

/**
 * Follows the recovery recipe of docs/guides/stores.md: reads the log with a new agent and
 * continues the interrupted run.
 */
async function recover(
  scenario: Scenario,
  process: MortalProcess,
  durability: Durability,
  isOpen: (memory: SessionMemory) => Promise<boolean>,
): Promise<readonly Msg[]> {
  const agent = open(scenario, process, durability);
  const memory = agent.memory as SessionMemory;
  const { output, text, also } = scenario;
  const options = output ? { output } : {};
  const isAsked = (await memory.read()).some(({ id }) => id === question.id);
  const isLeft = await isOpen(memory);
  if (!isAsked || isLeft) {
    const result = await finish(agent, isAsked ? undefined : question, options);
    if (!also?.test(result.text)) expect(result.text).toBe(text);
    if (output) expect(result.output).toEqual(JSON.parse(text));
    expect(result.reason).toMatch(/^(stop|return-direct)$/);
  }
  const messages = await new SessionMemory(process.store, 's').read();
  expect(historyFaults(messages)).toEqual([]);
  return messages;
}

const openRun = async (memory: SessionMemory): Promise<boolean> =>
  (await memory.view()).openRunId !== undefined;
/** Returns true if the log has an interrupted run or open tool calls. */
const cutOff = async (memory: SessionMemory): Promise<boolean> => {
  const view = await memory.view();
  return isCutOff(view) || view.calls.size > 0;
};

const durabilities: readonly Durability[] = ['step', 'turn'];
const all = scenarios.flatMap((scenario) =>
  durabilities.map((durability) => [scenario.name, durability, scenario] as const),
);

test.each(all)(
  '%s, %s: after a crash at any point, the recovery recipe ends with the same answer',
  async (_name, durability, scenario) => {
    const whole = new MortalProcess(new MemoryStore(), makeWitness(), { generation: 0 });
    const uncut = await begin(scenario, whole, durability);
    expect(uncut.text).toBe(scenario.text);
    for (const [dieAt, point] of whole.points.entries()) {
      const store = new MemoryStore();
      const witness = makeWitness();
      const life: Life = { generation: 0, dieAt };
      const first = new MortalProcess(store, witness, life);
      await Promise.race([begin(scenario, first, durability), first.death]);
      first.bury();
      const second = new MortalProcess(store, witness, { generation: 1 });
      const where = `killed at ${dieAt} (${point})`;
      const isLate = /written/.test(point) || dieAt % 2 === 0;
      const found = await recover(scenario, second, durability, isLate ? openRun : cutOff).catch(
        (error: unknown) => {
          throw new Error(`${where}: ${String(error)}`, { cause: error });
        },
      );
      // The test approves that `ask` runs again. With durability "turn", all tools of a lost turn
      // run again.
      const faults = witness.faults.filter((fault) => !fault.startsWith('ask ran 2'));
      const left = durability === 'step' ? faults : [];
      expect(left, where).toEqual([]);
      expect(openToolUses(found), where).toEqual([]);
      const last = textOf(found.at(-1)!);
      if (!scenario.also?.test(last)) expect(last, where).toBe(scenario.text);
    }
  },
);

type Stop = (agent: ReActAgent, controller: AbortController) => void;

const stops: readonly (readonly [name: string, stop: Stop])[] = [
  ['an interrupt', (agent) => void agent.interrupt()],
  ['an interrupt with words', (agent) => void agent.interrupt('Stopped by Ann.')],
  ['an abort', (_agent, controller) => controller.abort()],
  ['a pause', (agent) => void agent.interrupt({ mode: 'pause' })],
];

const stopped = stops.flatMap(([name, stop]) =>
  all.map(([scenario, durability, about]) => [name, scenario, durability, about, stop] as const),
);

test.each(stopped)(
  'after %s at any point, a call without input asks the model again: %s, %s',
  async (_stop, _name, durability, scenario, stop) => {
    const { output, text, also } = scenario;
    const options = output ? { output } : {};
    const whole = new MortalProcess(new MemoryStore(), makeWitness(), { generation: 0 });
    await begin(scenario, whole, durability);
    const most = extent({ quick: 6, full: Infinity });
    for (const at of spreadPoints(most)(whole.points.length)) {
      const point = whole.points[at];
      const where = `stopped at ${at} (${point})`;
      const store = new MemoryStore();
      const witness = makeWitness();
      const process = new StartledProcess(store, witness, { generation: 0 });
      const controller = new AbortController();
      const agent = open(scenario, process, durability);
      process.at = at;
      process.act = () => stop(agent, controller);
      const { signal } = controller;
      const ended = await finish(agent, question, { ...options, signal });

      const second = new MortalProcess(store, witness, { generation: 1 });
      const fresh = open(scenario, second, durability);
      const memory = fresh.memory as SessionMemory;
      expect(isCutOff(await memory.view()), where).toBe(false);
      const starts: AgentEvent[] = [];
      fresh.addHook({ on: { 'run-start': (event) => void starts.push(event) } });
      const isAsked = (await memory.read()).some(({ id }) => id === question.id);
      if (/^(stop|return-direct)$/.test(ended.reason)) {
        await expect(fresh.call(undefined, options), where).rejects.toThrow('input is missing');
        continue;
      }
      const result = await finish(fresh, isAsked ? undefined : question, options);
      if (!also?.test(result.text)) expect(result.text, where).toBe(text);
      if (output) expect(result.output, where).toEqual(JSON.parse(text));
      if (isAsked) expect(starts[0], where).toHaveProperty('resumes');
      const faults = witness.faults.filter((fault) => !fault.startsWith('ask ran 2'));
      expect(faults, where).toEqual([]);
      const messages = await new SessionMemory(store, 's').read();
      expect(historyFaults(messages), where).toEqual([]);
      expect(
        messages.filter(({ metadata }) => metadata?.['partial']),
        where,
      ).toEqual([]);
      expect(
        messages.filter(({ metadata }) => metadata?.['reason'] === 'interrupted'),
        where,
      ).toEqual([]);
      expect(messages.at(-1), where).toEqual(result.message);
    }
  },
);
