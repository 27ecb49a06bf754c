import { AgentError, InMemoryMemory, ReActAgent, tool } from '@isoloop/core';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { IndexedDbMemory, IndexedDbStore } from '@isoloop/web-worker/store';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';
import * as z from 'zod';

/** Options that tests pass to this worker when they connect. */
export interface FixtureOptions {
  readonly replies?: readonly (string | ScriptedStep)[];
  /** Keeps the conversation in this IndexedDB database instead of in the worker's memory. */
  readonly database?: string;
  /** Each run, aborted or not, ends only after the page has posted `{ open: true }`. */
  readonly gated?: boolean;
  /** Number of times that the agent factory throws before it returns an agent. Default: 0. */
  readonly failures?: number;
  /** The agent factory throws an `AgentError` with a code instead of a plain error. */
  readonly coded?: boolean;
  /** The agent factory returns undefined. */
  readonly noAgent?: boolean;
  /** The model fails with a coded error that has details. */
  readonly rateLimited?: boolean;
}

/** Answer of the worker to a message `{ report }`. */
export interface FixtureReport {
  /** Id of the session. */
  readonly report: string;
  /** Number of network reads that the session's scripted model has served. */
  readonly reads: number;
  /** Number of requests to the session's model. */
  readonly requests: number;
  /** Number of times that the session's agent factory was called. */
  readonly built: number;
  /** Number of aborted calls of the tool `wait`, over all sessions of the worker. */
  readonly aborted: number;
}

const models = new Map<string, ScriptedModel>();
const built = new Map<string, number>();
let aborted = 0;

let open: () => void;
const opened = new Promise<void>((resolve) => (open = resolve));

class GatedMemory extends InMemoryMemory {
  override flush(): Promise<void> {
    return opened;
  }
}

const add = tool({
  name: 'add',
  description: 'Adds two numbers',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }, { emit }) => {
    emit({ adding: [a, b] });
    return a + b;
  },
});

const wait = tool({
  name: 'wait',
  description: 'Never ends by itself',
  input: { type: 'object' },
  execute: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        aborted += 1;
        reject(signal.reason);
      });
    }),
});

const odd = tool({
  name: 'odd',
  description: 'Returns a value that cannot be cloned',
  input: { type: 'object' },
  execute: () => ({
    content: [{ type: 'text', text: 'done', providerMetadata: { f: Promise.resolve() as never } }],
  }),
});

exposeAgent(async ({ sessionId, options }: WorkerAgentSetup<FixtureOptions | null>) => {
  const {
    replies = ['ok'],
    database,
    gated,
    failures = 0,
    coded,
    noAgent,
    rateLimited,
  } = options ?? {};
  if (noAgent) return undefined as never;
  const count = (built.get(sessionId) ?? 0) + 1;
  built.set(sessionId, count);
  if (count <= failures)
    throw coded
      ? new AgentError('CONFIGURATION', 'no model is set', { details: { field: 'model' } })
      : new Error('no model');
  const error = new AgentError('MODEL_RATE_LIMITED', 'slow down', {
    retryable: true,
    details: { retryAfterMs: 1500 },
  });
  const model = new ScriptedModel(rateLimited ? [{ text: 'half ', error }, ...replies] : replies);
  models.set(sessionId, model);
  const inMemory = gated ? new GatedMemory() : new InMemoryMemory();
  const memory = database
    ? new IndexedDbMemory(sessionId, { store: new IndexedDbStore({ database }) })
    : inMemory;
  return new ReActAgent({ name: 'worker', sessionId, model, memory, tools: [add, wait, odd] });
});

addEventListener(
  'message',
  ({
    data,
  }: MessageEvent<{
    readonly report?: string;
    readonly throw?: string;
    readonly open?: true;
  } | null>) => {
    if (data?.throw !== undefined) throw new Error(data.throw);
    if (data?.open) open();
    if (data?.report === undefined) return;
    const model = models.get(data.report);
    const report: FixtureReport = {
      report: data.report,
      reads: model?.reads ?? 0,
      requests: model?.requests.length ?? 0,
      built: built.get(data.report) ?? 0,
      aborted,
    };
    postMessage(report);
  },
);
