import { MemoryStore } from '@isoloop/core';
import { expect, test } from 'vitest';
import {
  missingRefusals,
  given,
  type TestedEntry,
  type Wrong,
} from '@test/exports/unknown-options.ts';
import * as edge from '../index.ts';
import * as jwts from '../jwt/index.ts';
import * as kvs from '../kv/index.ts';
import * as llms from '../llm/index.ts';
import * as operators from '../operator/index.ts';
import * as moves from '../move/index.ts';
import * as api from '../api/index.ts';
import * as stores from '../store/index.ts';

const agent = () => ({}) as never;
const kv = {} as KVNamespace;

const entries: Readonly<Record<string, TestedEntry>> = {
  './index': {
    exports: edge,
    calls: {
      createAgentHandler: (wrong) => edge.createAgentHandler(given({ agent }, wrong)),
      publicFetch: (wrong) => edge.publicFetch(wrong),
      workersAi: (wrong) => edge.workersAi({} as never, given({ model: 'm' }, wrong)),
    },
    checked: 'DurableStore bearerToken',
  },
  './jwt': {
    exports: jwts,
    calls: { jwt: (wrong) => jwts.jwt(given({ issuer: 'i', audience: 'a' }, wrong)) },
  },
  './kv': {
    exports: kvs,
    calls: {
      KvMemory: (wrong) => new kvs.KvMemory(kv, 's', wrong),
      KvStore: (wrong) => new kvs.KvStore(kv, wrong),
    },
    withoutOptions: 'kvSessions',
    others: { data: 'repairKvSession' },
  },
  './store': {
    exports: stores,
    calls: { storeSessions: (wrong) => stores.storeSessions(new MemoryStore(), wrong) },
  },
  './api': {
    exports: api,
    others: {
      data: 'answerConversation answerTurn checkModel checkName checkSessionId hasOutput modelsRoute readJson toOpenAiError toText withoutSystem',
    },
  },
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
