import { expect, test } from 'vitest';
import * as page from './index.ts';
import * as inspector from '../../inspector/src/index.ts';
import * as move from './move.ts';
import * as react from './react.ts';
import type { Endpoint } from './react/source/endpoint-agent.ts';
import { linkEndpoint } from './react/source/endpoint-link.ts';
import * as worker from './worker.ts';

// A value of the type `never` fits the options of each function.
type Wrong = never;

interface Entry {
  readonly exports: object;
  /** Calls of all functions with options. */
  readonly calls: Readonly<Record<string, (wrong: Wrong) => unknown>>;
  /** All functions and classes without options. */
  readonly others?: readonly string[];
}

const connected = new EventTarget() as Worker;
const link = (wrong: Wrong): unknown => {
  const endpoint = react.agentEndpoint('/api/chat') as Endpoint;
  return linkEndpoint({ ...(wrong as object), sessionId: 's' }, () => endpoint);
};

const stores = {
  IndexedDbSessions: (wrong: Wrong) => new page.IndexedDbSessions(wrong),
  IndexedDbStore: (wrong: Wrong) => new page.IndexedDbStore(wrong),
};

const entries: Readonly<Record<string, Entry>> = {
  './index': {
    exports: page,
    calls: {
      ...stores,
      browserModel: (wrong) => page.browserModel(wrong),
      connectAgent: (wrong) =>
        page.connectAgent(connected, { ...(wrong as object), sessionId: 's' } as Wrong),
      followAgent: (wrong) => page.followAgent({} as Wrong, {} as Wrong, wrong),
      pageHooks: (wrong) => page.pageHooks([], wrong),
      pageTools: (wrong) => page.pageTools([], wrong),
    },
    others: ['pageApprovals', 'pageModel'],
  },
  './inspector': {
    exports: inspector,
    calls: {
      endpointSource: (wrong) => inspector.endpointSource('/api/chat', wrong),
      workerSource: (wrong) => inspector.workerSource(connected, wrong),
    },
    others: ['defineInspector'],
  },
  './move': {
    exports: move,
    calls: {
      browserPlace: (wrong) => move.browserPlace(wrong),
      endpointPlace: (wrong) => move.endpointPlace('https://a.test/api/chat', wrong),
    },
    // `moveSession` is a function of core, whose test shows the same.
    others: ['movableSessions', 'moveSession'],
  },
  './react': {
    exports: react,
    // `useAgentChat` links the chat, which refuses its options.
    calls: {
      agentEndpoint: (wrong) => react.agentEndpoint('/api/chat', wrong),
      useAgentChat: link,
      useOperatorMessages: (wrong) => react.useOperatorMessages(undefined, 's', wrong),
      useMovableSession: (wrong) => react.useMovableSession({} as Wrong, 's', wrong),
    },
    others: ['getToolName', 'isToolUIPart', 'useAgentEvents'],
  },
  './worker': {
    exports: worker,
    calls: {
      ...stores,
      IndexedDbMemory: (wrong) => new worker.IndexedDbMemory('s', wrong),
      exposeAgent: (wrong) => worker.exposeAgent(() => ({}) as Wrong, wrong),
    },
  },
};

test.for(Object.entries(entries))(
  'each function of %s with options refuses an unknown name',
  ([, { exports, calls, others = [] }]) => {
    const functions = Object.entries(exports).flatMap(([name, value]) =>
      typeof value === 'function' ? [name] : [],
    );
    expect(functions.toSorted()).toEqual([...Object.keys(calls), ...others].toSorted());
    for (const [name, call] of Object.entries(calls))
      expect(() => call({ misspelled: 1 } as Wrong), name).toThrow(
        /has no option `misspelled`|, not misspelled\./,
      );
  },
);

test('exposeAgent() refuses an unknown option of `tabs`', () => {
  const expose = () => worker.exposeAgent(() => ({}) as Wrong, { tabs: { scop: 'x' } as Wrong });
  expect(expose).toThrow('exposeAgent(): tabs has no option `scop`. It has: ');
});
