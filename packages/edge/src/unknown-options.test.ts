import { MemoryStore } from '@isoloop/core';
import { expect, test } from 'vitest';
import * as edge from './index.ts';
import * as jwts from './jwt.ts';
import * as kvs from './kv.ts';
import * as llms from './llm.ts';
import * as operators from './operator.ts';
import * as moves from './move.ts';
import * as openais from './openai.ts';
import * as stores from './store.ts';

// A value of the type `never` fits the options of each function.
type Wrong = never;

interface Entry {
  readonly exports: object;
  /** Calls of all functions with options. Each call adds the options to those it needs. */
  readonly calls: Readonly<Record<string, (wrong: Wrong) => unknown>>;
  /** All functions and classes without options. */
  readonly others?: readonly string[];
}

const given = (more: object, wrong: Wrong): Wrong => ({ ...more, ...(wrong as object) }) as Wrong;
const agent = () => ({}) as never;
const kv = {} as KVNamespace;

const entries: Readonly<Record<string, Entry>> = {
  './index': {
    exports: edge,
    calls: {
      createAgentHandler: (wrong) => edge.createAgentHandler(given({ agent }, wrong)),
      KvMemory: (wrong) => new edge.KvMemory(kv, 's', wrong),
      KvStore: (wrong) => new edge.KvStore(kv, wrong),
      publicFetch: (wrong) => edge.publicFetch(wrong),
      workersAi: (wrong) => edge.workersAi({} as never, given({ model: 'm' }, wrong)),
    },
    others: ['DurableStore', 'bearerToken'],
  },
  './jwt': {
    exports: jwts,
    calls: { jwt: (wrong) => jwts.jwt(given({ issuer: 'i', audience: 'a' }, wrong)) },
  },
  './kv': { exports: kvs, calls: {}, others: ['kvSessions'] },
  './store': {
    exports: stores,
    calls: { storeSessions: (wrong) => stores.storeSessions(new MemoryStore(), wrong) },
  },
  './openai': { exports: openais, calls: { openAiRoutes: openais.openAiRoutes } },
  './move': { exports: moves, calls: {}, others: ['sessionMoves'] },
  './operator': {
    exports: operators,
    calls: { operatorDesk: (wrong) => operators.operatorDesk(given({ authorize: agent }, wrong)) },
  },
  './llm': {
    exports: llms,
    calls: { llmProxy: (wrong) => llms.llmProxy(given({ models: [], upstream: agent }, wrong)) },
  },
};

test.each(Object.entries(entries))(
  'each function of %s with options refuses an unknown name',
  (_name, { exports, calls, others = [] }) => {
    const functions = Object.entries(exports).flatMap(([name, value]) =>
      typeof value === 'function' ? [name] : [],
    );
    expect(functions.toSorted()).toEqual([...Object.keys(calls), ...others].toSorted());
    for (const [name, call] of Object.entries(calls))
      expect(() => call({ misspelled: 1 } as Wrong), name).toThrow(
        / has no option `misspelled`\. /,
      );
  },
);

test.each<[options: object, message: string]>([
  [{ model: [] }, 'createAgentHandler() has no option `model`. It has: '],
  [{ limits: { bodyByte: 1 } }, 'createAgentHandler(): limits has no option `bodyByte`. It has: '],
  [
    { sessions: { heartbeat: 1 } },
    'createAgentHandler(): sessions has no option `heartbeat`. It has: ',
  ],
])('createAgentHandler() with %j names the right option', (options, message) => {
  expect(() => edge.createAgentHandler(given({ agent }, options as Wrong))).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message),
    }),
  );
});
