import type { Driver } from 'unstorage';
import memoryDriver from 'unstorage/drivers/memory';
import { describe, expect, test } from 'vitest';
import { ReActAgent } from '../../react-agent/react-agent.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { keyValueStoreConformance } from '../../testing/store-conformance.ts';
import { SessionMemory } from '../session-memory.ts';
import { toDriverKey, unstorageStore } from './unstorage-store.ts';
import { sessionConformance } from '@test/stores/session-conformance.ts';

const framework = { describe, expect, test };
keyValueStoreConformance(framework, 'unstorageStore() in memory', () =>
  unstorageStore(memoryDriver(), { singleProcess: true }),
);
sessionConformance(framework, 'unstorageStore() in memory', () =>
  unstorageStore(memoryDriver(), { singleProcess: true }),
);
keyValueStoreConformance(framework, 'unstorageStore() for several processes', () =>
  unstorageStore(memoryDriver()),
);
sessionConformance(framework, 'unstorageStore() for several processes', () =>
  unstorageStore(memoryDriver()),
);

/** Driver that dies in the write with this number and leaves half of the value. */
function dyingDriver(driver: Driver, dieAt: number): Driver {
  let writes = 0;
  return {
    ...driver,
    async setItem(key, value, options) {
      if (writes++ !== dieAt) return driver.setItem!(key, value, options);
      await driver.setItem!(key, value.slice(0, value.length / 2), options);
      throw new Error('The process died.');
    },
  };
}

test.for([0, 1, 2, 3, 4, 5, 6, 7])(
  'a process that dies in write %i leaves a session that can be read',
  async (dieAt) => {
    const driver = memoryDriver();
    const model = new ScriptedModel(['One.', 'Two.', 'Three.']);
    const open = (on: Driver): ReActAgent =>
      new ReActAgent({ name: 'a', model, memory: new SessionMemory(unstorageStore(on), 's') });
    const dying = open(dyingDriver(driver, dieAt));
    const acknowledged: string[] = [];
    try {
      for (const text of ['A', 'B']) acknowledged.push((await dying.call(text)).text);
    } catch (error) {
      expect(error).toMatchObject({ code: 'STORAGE_FAILED' });
    }
    const messages = await open(driver).messages();
    const texts = messages.map(({ content: [block] }) => block?.type === 'text' && block.text);
    expect(texts).toEqual(expect.arrayContaining(acknowledged));
  },
);

test('a value that is damaged in both places is an error', async () => {
  const driver = memoryDriver();
  const store = unstorageStore(driver);
  await store.set('k', '"a"');
  await store.set('k', '"b"');
  await driver.setItem!(toDriverKey('k'), 'x', {});
  expect(await store.get('k')).toBe('"b"');
  await driver.setItem!(`${toDriverKey('k')}.copy`, 'x', {});
  await expect(store.get('k')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});

test('keys that differ only in case are two keys', async () => {
  expect(toDriverKey('s:Ann:head').toLowerCase()).not.toBe(toDriverKey('s:ann:head').toLowerCase());
});

test.for([
  ['a full disk', Object.assign(new Error('no space'), { code: 'ENOSPC' }), 'STORAGE_QUOTA'],
  ['a broken connection', new Error('ECONNRESET'), 'STORAGE_FAILED'],
] as const)('%s has the code of a store', async ([, error, code]) => {
  const setItem = async (): Promise<void> => {
    throw error;
  };
  const store = unstorageStore({ ...memoryDriver(), setItem });
  await expect(store.set('k', '1')).rejects.toMatchObject({ code });
});

test.for([
  ['no driver', undefined],
  ['a storage without `setItem`', { ...memoryDriver(), setItem: undefined }],
])('refuses %s', ([, driver]) => {
  const create = () => unstorageStore(driver as unknown as Driver);
  expect(create).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});
