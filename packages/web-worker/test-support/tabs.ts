import { AgentError, ReActAgent, tool } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { joinTools } from '@isoloop/core/tools';
import { humanInTheLoop } from '@isoloop/core/middleware';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import {
  exposeAgent,
  IndexedDbMemory,
  IndexedDbStore,
  type AgentFactory,
  type ExposeOptions,
} from '@isoloop/web-worker/worker';
import * as z from 'zod';

/** A worker's name, as JSON. */
export interface TabsFixtureName {
  readonly tabs?: ExposeOptions['tabs'];
  /** Which features the browser lacks, or refuses. */
  readonly without?: readonly (
    | 'locks'
    | 'BroadcastChannel'
    | 'leave for locks'
    | 'leave for BroadcastChannel'
  )[];
  /** Exposes two agents, `main` and `other`, which forgets. */
  readonly several?: boolean;
}

export interface TabsFixtureOptions {
  readonly replies: readonly (
    | string
    | (Omit<ScriptedStep, 'wait'> & { readonly gate?: string })[]
  )[];
  readonly database: string;
  /** The factory finds no key. */
  readonly noKey?: boolean;
  /** The factory waits for this gate. */
  readonly slow?: string;
  /** The model is the page's. */
  readonly pageModel?: boolean;
  /** Asks the page about each call of these tools. */
  readonly approvalOn?: readonly string[];
}

/** What the workers of a test tell the page, each on a channel named after the database. */
export type Witnessed =
  | { readonly built: string }
  | { readonly ran: string }
  | { readonly reached: string }
  | { readonly failed: string }
  | { readonly open: string }
  | { readonly held: true };

/** What a test posts to a worker, beside the protocol. */
interface TabsCommand {
  /** A gate. */
  readonly open: string;
  /** An address. The worker is frozen until it answers. */
  readonly holdAt: string;
  /** The worker is frozen until it is terminated. */
  readonly spin: boolean;
}

const { tabs, without = [], several } = JSON.parse(self.name || '{}') as TabsFixtureName;
if (without.includes('locks')) Object.defineProperty(navigator, 'locks', { value: undefined });
if (without.includes('BroadcastChannel'))
  Object.defineProperty(globalThis, 'BroadcastChannel', { value: undefined });
const refused = new DOMException('Not here.', 'SecurityError');
if (without.includes('leave for locks'))
  Object.defineProperty(navigator.locks, 'request', { value: () => Promise.reject(refused) });
if (without.includes('leave for BroadcastChannel')) {
  const refuse = function (): never {
    throw refused;
  };
  Object.defineProperty(globalThis, 'BroadcastChannel', { value: refuse });
}

// The tests' own line, which is there without BroadcastChannel too.
const told: Witnessed[] = [];
const gates = new Map<string, () => void>();
const tell = (witnessed: Witnessed): void => {
  told.push(witnessed);
  self.postMessage?.({ witnessed });
};
const gate = (name: string): Promise<void> => {
  tell({ reached: name });
  return new Promise((resolve) => gates.set(name, resolve));
};

const note = tool({
  name: 'note',
  description: 'Takes a note',
  input: { type: 'object' },
  execute: (_input, { toolUseId }) => {
    tell({ ran: toolUseId });
    return 'noted';
  },
});

const ask = tool({
  name: 'ask',
  description: 'Asks',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => 'allowed',
});

const factory: AgentFactory = async ({ sessionId, options, page }) => {
  const {
    replies,
    database,
    noKey,
    slow,
    pageModel,
    approvalOn = [],
  } = options as unknown as TabsFixtureOptions;
  if (slow) await gate(slow);
  if (noKey) throw new AgentError('CREDENTIALS_REQUIRED', 'Enter your key.');
  tell({ built: sessionId });
  const model = new ScriptedModel(
    replies.map((reply) =>
      typeof reply === 'string'
        ? reply
        : reply.map(({ gate: name, ...step }) =>
            name ? { ...step, wait: () => gate(name) } : step,
          ),
    ),
  );
  return new ReActAgent({
    name: 'tab',
    sessionId,
    model: pageModel ? page.model : model,
    memory: new IndexedDbMemory(sessionId, { store: new IndexedDbStore({ database }) }),
    tools: joinTools([note, ask], page.tools),
    use: [
      humanInTheLoop({
        approvalOn: Object.fromEntries(approvalOn.map((name) => [name, true])),
        decide: page.decide,
      }),
    ],
  });
};
const inMemory: AgentFactory = ({ sessionId, options }) =>
  new ReActAgent({
    name: 'other',
    sessionId,
    model: new ScriptedModel((options as unknown as TabsFixtureOptions).replies as string[]),
  });

const word = z.object({ word: z.string() });
const outputs = {
  word: structured(word),
  // Nothing that could be cloned.
  odd: structured(word.transform((value) => () => value)),
};
const exposeOptions = { outputs, ...(tabs !== undefined && { tabs }) };
if (several) exposeAgent({ main: factory, other: inMemory }, exposeOptions);
else exposeAgent(factory, exposeOptions);

self.addEventListener?.('message', ({ data }: MessageEvent<Partial<TabsCommand> | null>) => {
  if (data?.open !== undefined) gates.get(data.open)?.();
  if (data?.holdAt !== undefined) {
    tell({ held: true });
    // A synchronous request: a frozen worker does nothing at all.
    const request = new XMLHttpRequest();
    request.open('GET', data.holdAt, false);
    request.send();
  }
  while (data?.spin);
});
