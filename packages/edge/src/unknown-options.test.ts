import { MemoryStore } from '@isoloop/core';
import { expect, test } from 'vitest';
import {
  missingRefusals,
  given,
  type TestedEntry,
  type Wrong,
} from '../../../test/unknown-options.ts';
import * as edge from './index.ts';
import * as jwts from './jwt.ts';
import * as kvs from './kv.ts';
import * as llms from './llm.ts';
import * as operators from './operator.ts';
import * as moves from './move.ts';
import * as openais from './openai.ts';
import * as stores from './store.ts';

const agent = () => ({}) as never;
const kv = {} as KVNamespace;

const entries: Readonly<Record<string, TestedEntry>> = {
  './index': {
    exports: edge,
    calls: {
      createAgentHandler: (wrong) => edge.createAgentHandler(given({ agent }, wrong)),
      KvMemory: (wrong) => new edge.KvMemory(kv, 's', wrong),
      KvStore: (wrong) => new edge.KvStore(kv, wrong),
      publicFetch: (wrong) => edge.publicFetch(wrong),
      workersAi: (wrong) => edge.workersAi({} as never, given({ model: 'm' }, wrong)),
    },
    checked: 'DurableStore bearerToken',
  },
  './jwt': {
    exports: jwts,
    calls: { jwt: (wrong) => jwts.jwt(given({ issuer: 'i', audience: 'a' }, wrong)) },
  },
  './kv': { exports: kvs, withoutOptions: 'kvSessions' },
  './store': {
    exports: stores,
    calls: { storeSessions: (wrong) => stores.storeSessions(new MemoryStore(), wrong) },
  },
  './openai': { exports: openais, calls: { openAiRoutes: openais.openAiRoutes } },
  './move': { exports: moves, withoutOptions: 'sessionMoves' },
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
  'each function of %s refuses an option that it does not have',
  async (_name, entry) => {
    expect(await missingRefusals(entry)).toEqual([]);
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
