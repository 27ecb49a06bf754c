import { AgentError, ReActAgent, tool } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { joinTools } from '@isoloop/core/tool';
import { approvals } from '@isoloop/core/approval';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { IndexedDbMemory, IndexedDbStore } from '@isoloop/web-worker/store';
import { exposeAgent, type AgentFactory, type ExposeOptions } from '@isoloop/web-worker/worker';
import * as z from 'zod';

/** Configuration of a worker. The page passes it as JSON in the worker's name. */
export interface TabsFixtureName {
  readonly tabs?: ExposeOptions['tabs'];
  /**
   * Features that this worker removes (`locks`), or that fail with a SecurityError (`leave for
   * locks`).
   */
  readonly without?: readonly (
    | 'locks'
    | 'BroadcastChannel'
    | 'leave for locks'
    | 'leave for BroadcastChannel'
  )[];
  /**
   * Exposes two agents, `main` and `other`. The agent `other` keeps its conversation in memory
   * only.
   */
  readonly several?: boolean;
}

export interface TabsFixtureOptions {
  readonly replies: readonly (
    | string
    | (Omit<ScriptedStep, 'wait'> & { readonly gate?: string })[]
  )[];
  readonly database: string;
  /** The agent factory throws CREDENTIALS_REQUIRED. */
  readonly noKey?: boolean;
  /** Name of a gate. The agent factory waits until the test opens this gate. */
  readonly slow?: string;
  /** The agent uses the page's model. */
  readonly pageModel?: boolean;
  /** The store of the memory has no `compareAndSet`. */
  readonly weak?: boolean;
  /** Names of tools whose calls need the page's approval. */
  readonly needsApproval?: readonly string[];
}

/** Report that a worker posts to its page during a test. */
export type Witnessed =
  | { readonly built: string }
  | { readonly ran: string }
  | { readonly reached: string }
  | { readonly failed: string }
  | { readonly open: string }
  | { readonly held: true };

/** Command that a test posts to a worker. */
interface TabsCommand {
  /** Name of the gate to open. */
  readonly open: string;
  /** Address of a request. The worker is frozen until it gets the response. */
  readonly holdAt: string;
  /** Blocks the worker's thread with an endless loop. */
  readonly spin: boolean;
}

// Unlike a worker, a SharedWorker can only end itself.
addEventListener('connect', (event) => {
  for (const port of (event as MessageEvent).ports)
    port.addEventListener('message', ({ data }: MessageEvent<{ readonly end?: true } | null>) => {
      if (data?.end) self.close();
    });
});

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

// Posts reports as plain messages, because some tests run without BroadcastChannel.
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
    weak,
    needsApproval = [],
  } = options as unknown as TabsFixtureOptions;
  if (slow) await gate(slow);
  if (noKey) throw new AgentError('CREDENTIALS_REQUIRED', 'Enter your key.');
  tell({ built: sessionId });
  const store = new IndexedDbStore({ database });
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
    memory: new IndexedDbMemory(sessionId, { store: weak ? weakStore(database) : store }),
    tools: joinTools([note, ask], page.tools),
    use: [
      approvals({
        needsApproval: Object.fromEntries(needsApproval.map((name) => [name, true])),
        decide: page.decide,
      }),
    ],
  });
};
/** Returns a store without `compareAndSet`. */
function weakStore(database: string): IndexedDbStore {
  const store = new IndexedDbStore({ database });
  const features = { ...store.features, compareAndSet: false };
  return Object.assign(store, { features, compareAndSet: undefined });
}

const inMemory: AgentFactory = ({ sessionId, options }) =>
  new ReActAgent({
    name: 'other',
    sessionId,
    model: new ScriptedModel((options as unknown as TabsFixtureOptions).replies as string[]),
  });

const word = z.object({ word: z.string() });
const outputs = {
  word: structured(word),
  // A function cannot be cloned.
  odd: structured(word.transform((value) => () => value)),
};
const exposeOptions = { outputs, ...(tabs !== undefined && { tabs }) };
if (several) exposeAgent({ main: factory, other: inMemory }, exposeOptions);
else exposeAgent(factory, exposeOptions);

self.addEventListener?.('message', ({ data }: MessageEvent<Partial<TabsCommand> | null>) => {
  if (data?.open !== undefined) gates.get(data.open)?.();
  if (data?.holdAt !== undefined) {
    tell({ held: true });
    // A synchronous request freezes the whole worker.
    const request = new XMLHttpRequest();
    request.open('GET', data.holdAt, false);
    request.send();
  }
  while (data?.spin);
});
