import { expect, test } from 'vitest';
import { layerViolations } from '../scripts/layers.ts';

const check = (path: string, source: string): readonly string[] => layerViolations([{ path, source }]);

test('a folder of core may import itself and what stands above it', () => {
  expect(check('packages/core/src/agent/loop.ts', `import { a } from './limit.ts';\nimport { b } from '../hook/dispatch.ts';`)).toEqual([]);
});

test('a folder of core may not import a later one, however it is written', () => {
  const path = 'packages/core/src/model/http.ts';
  const why = 'model/ must not import agent/, a later layer';
  expect(check(path, `// first line\nimport { run } from '../agent/loop.ts';`)).toEqual([`${path}:2: ${why}`]);
  expect(check(path, `import { type Run, run } from '../agent/loop.ts';`)).toEqual([`${path}:1: ${why}`]);
  expect(check(path, `import '../agent/loop.ts';`)).toEqual([`${path}:1: ${why}`]);
  expect(check(path, `export * from '../agent/loop.ts';`)).toEqual([`${path}:1: ${why}`]);
  expect(check(path, `const { run } = await import('../agent/loop.ts');`)).toEqual([`${path}:1: ${why}`]);
});

test('types may cross inside core, and a comment or a string is no import', () => {
  const path = 'packages/core/src/model/http.ts';
  expect(check(path, `import type { Run } from '../agent/loop.ts';\nexport type { Stop } from '../agent/loop.ts';`)).toEqual([]);
  expect(check(path, `// import { run } from '../agent/loop.ts';\nconst text = "import '../agent/loop.ts'";`)).toEqual([]);
});

test("tests may use any of core's folders", () => {
  expect(check('packages/core/src/model/http.test.ts', `import { run } from '../agent/loop.ts';`)).toEqual([]);
});

test('no folder may import an entry file, and none may stand outside the list', () => {
  expect(check('packages/core/src/model/http.ts', `import { tool } from '../index.ts';`)[0]).toContain('entry file index.ts');
  expect(check('packages/core/src/utils/all.ts', `import { b } from '../hook/dispatch.ts';`)[0]).toContain(
    "utils/ is none of core's layers",
  );
});

test('core imports neither adapter, the adapters not each other, not even their types', () => {
  expect(check('packages/core/src/agent/loop.ts', `import type { X } from '@isoloop/edge';`)[0]).toContain('core must not import edge');
  expect(check('packages/web-worker/src/index.ts', `import type { X } from '@isoloop/edge';`)[0]).toContain(
    'web-worker must not import edge',
  );
  expect(check('packages/edge/src/index.ts', `import { connectAgent } from '@isoloop/web-worker';`)[0]).toContain(
    'edge must not import web-worker',
  );
  expect(check('packages/edge/src/index.ts', `import { openai } from '@isoloop/core/openai';`)).toEqual([]);
});

test('a package may use its own name in tests only', () => {
  expect(check('packages/core/src/agent/loop.test.ts', `import { ScriptedModel } from '@isoloop/core/testing';`)).toEqual([]);
  expect(check('packages/core/src/agent/loop.ts', `import { tool } from '@isoloop/core';`)[0]).toContain('imports itself by name');
});

test("an adapter goes through core's exports, not to its files", () => {
  expect(check('packages/edge/src/index.ts', `import { tool } from '../../core/src/index.ts';`)[0]).toContain('reaches out of its sources');
});
