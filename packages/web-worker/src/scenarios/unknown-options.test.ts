import { expect, test } from 'vitest';
import { missingRefusals, type TestedEntry, type Wrong } from '@test/exports/unknown-options.ts';
import * as page from '../index.ts';
import * as move from '../move/index.ts';
import * as store from '../store/index.ts';
import * as worker from '../worker/index.ts';

const connected = new EventTarget() as Worker;
const stores = {
  IndexedDbSessions: (wrong: Wrong) => new page.IndexedDbSessions(wrong),
  IndexedDbStore: (wrong: Wrong) => new page.IndexedDbStore(wrong),
};

const entries: Readonly<Record<string, TestedEntry>> = {
  './index': {
    exports: page,
    calls: {
      ...stores,
      agentWorker: (wrong) => page.agentWorker(connected, wrong),
      browserModel: (wrong) => page.browserModel(wrong),
      connectAgent: (wrong) =>
        page.connectAgent(connected, { ...(wrong as object), sessionId: 's' } as Wrong),
      followAgent: (wrong) => page.followAgent({} as Wrong, {} as Wrong, wrong),
      pageHooks: (wrong) => page.pageHooks([], wrong),
      pageTools: (wrong) => page.pageTools([], wrong),
    },
    checked: 'pageApprovals pageModel',
  },
  './move': {
    exports: move,
    calls: {
      browserPlace: (wrong) => move.browserPlace(wrong),
      endpointPlace: (wrong) => move.endpointPlace('https://a.test/api/chat', wrong),
    },
    // `moveSession` is a function of core, whose test shows the same.
    checked: 'movableSessions',
    others: { data: 'moveSession' },
  },
  './store': {
    exports: store,
    calls: { ...stores, IndexedDbMemory: (wrong) => new store.IndexedDbMemory('s', wrong) },
  },
  './worker': {
    exports: worker,
    calls: {
      exposeAgent: (wrong) => worker.exposeAgent(() => ({}) as Wrong, wrong),
    },
  },
};

test.for(Object.entries(entries))(
  'each function of %s refuses an option that it does not have',
  async ([, entry]) => {
    expect(await missingRefusals(entry)).toEqual([]);
  },
);

test('exposeAgent() refuses an unknown option of `tabs`', () => {
  const expose = () => worker.exposeAgent(() => ({}) as Wrong, { tabs: { scop: 'x' } as Wrong });
  expect(expose).toThrow('exposeAgent(): tabs has no option `scop`. It has: ');
});

test.for(['id', 'chatId', 'threadId'])(
  'connectAgent() says that the id of a conversation is not %s',
  (name) => {
    const connect = () => page.connectAgent(connected, { [name]: 's' } as Wrong);
    expect(connect).toThrow(
      new RegExp(`^connectAgent\\(\\) has no option \`${name}\`\\. .* Use \`sessionId\`\\.$`),
    );
  },
);
