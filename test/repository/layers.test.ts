import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { layerViolations } from '../../scripts/layers.ts';
import { moduleImports } from '../../scripts/module-imports.ts';
import { root } from '../../scripts/root.ts';

const check = (path: string, source: string): readonly string[] =>
  layerViolations([{ path, source }]);

test('a folder may import itself and the folders before it', () => {
  const source = `import { a } from './limit.ts';\nimport { b } from '../event/hook-dispatcher.ts';`;
  expect(check('packages/core/src/agent/loop.ts', source)).toEqual([]);
  expect(
    check('packages/edge/src/routes/chat-route.ts', `import { a } from '../session/command.ts';`),
  ).toEqual([]);
});

test('a folder may not import a later folder, in any form of import', () => {
  const path = 'packages/core/src/model/http.ts';
  const why = 'model/ must not import agent/, a later folder';
  expect(check(path, `// first line\nimport { run } from '../agent/loop.ts';`)).toEqual([
    `${path}:2: ${why}`,
  ]);
  expect(check(path, `import { type Run, run } from '../agent/loop.ts';`)).toEqual([
    `${path}:1: ${why}`,
  ]);
  expect(check(path, `import '../agent/loop.ts';`)).toEqual([`${path}:1: ${why}`]);
  expect(check(path, `export * from '../agent/loop.ts';`)).toEqual([`${path}:1: ${why}`]);
  expect(check(path, `const { run } = await import('../agent/loop.ts');`)).toEqual([
    `${path}:1: ${why}`,
  ]);
  expect(
    check('packages/core/src/memory/log/a.ts', `import { run } from '../../agent/loop.ts';`)[0],
  ).toContain('memory/ must not');
  expect(
    check('packages/web-worker/src/wire/a.ts', `import { b } from '../tabs/b.ts';`)[0],
  ).toContain('wire/ must not import tabs/');
});

test('type imports follow the same order, except the listed types; imports in comments and strings do not count', () => {
  const path = 'packages/core/src/model/http.ts';
  const why = 'model/ must not import types of agent/, a later folder';
  expect(check(path, `import type { Run } from '../agent/loop.ts';`)).toEqual([
    `${path}:1: ${why}`,
  ]);
  expect(
    check(
      'packages/core/src/error/agent-error.ts',
      `import type { JsonObject } from '../message/json.ts';`,
    ),
  ).toEqual([]);
  expect(
    check('packages/core/src/error/agent-error.ts', `import { a } from '../message/json.ts';`),
  ).toHaveLength(1);
  expect(
    check(
      path,
      `// import { run } from '../agent/loop.ts';\nconst text = "import '../agent/loop.ts'";`,
    ),
  ).toEqual([]);
});

test('a feature may not import another feature, except what the list names', () => {
  const path = 'packages/core/src/context/a.ts';
  const why = 'context/ must not import limits/, another feature';
  const agentTool = 'packages/core/src/several/agent-tool.ts';
  expect(check(path, `import { b } from './b.ts';\nimport { c } from '../event/c.ts';`)).toEqual(
    [],
  );
  expect(check(path, `import { b } from '../limits/b.ts';`)).toEqual([`${path}:1: ${why}`]);
  expect(check(path, `import type { B } from '../limits/b.ts';`)).toEqual([`${path}:1: ${why}`]);
  const policy = '../approval/approving-agent.ts';
  expect(check(agentTool, `import { mayAskForApproval } from '${policy}';`)).toEqual([]);
});

test('only the folder of a provider and entry files may import it, except what the list names', () => {
  const path = 'packages/core/src/model/openai/a.ts';
  expect(check(path, `import { b } from './b.ts';\nimport { c } from '../http/c.ts';`)).toEqual([]);
  expect(check(path, `import { b } from '../dashscope/b.ts';`)).toEqual([
    `${path}:1: model/openai must not import model/dashscope, a provider`,
  ]);
  expect(check('packages/core/src/model/a.ts', `import { b } from './openai/b.ts';`)).toHaveLength(
    1,
  );
  expect(
    check('packages/core/src/agent/a.ts', `import { b } from '../model/openai/b.ts';`),
  ).toHaveLength(1);
  expect(check('packages/core/src/model/http/a.ts', `import { b } from '../openai/b.ts';`)).toEqual(
    ['packages/core/src/model/http/a.ts:1: model/http must not import model/openai, a provider'],
  );
  expect(
    check('packages/core/src/model/openai/index.ts', `export { b } from './openai.ts';`),
  ).toEqual([]);
  expect(
    check('packages/core/src/model/dashscope/a.ts', `import { b } from '../openai/b.ts';`),
  ).toEqual([]);
});

test('an entry of core exports only its own folder, and nothing imports it', () => {
  const path = 'packages/core/src/limits/index.ts';
  expect(check(path, `export { a } from './a.ts';`)).toEqual([]);
  expect(check(path, `export { b } from '../tool/b.ts';`)).toEqual([
    `${path}:1: the entry of a folder exports only what lies in it`,
  ]);
  expect(
    check('packages/core/src/limits/a.ts', `import { b } from '../tool/index.ts';`)[0],
  ).toContain('must not import an entry');
  expect(
    check('packages/core/src/host/index.ts', `export { b } from '../memory/log/b.ts';`),
  ).toEqual([]);
});

test('no package needs an optional peer of core', () => {
  const path = 'packages/edge/src/a.ts';
  expect(check(path, `import { jsonSchema } from '@isoloop/core/schema';`)[0]).toContain(
    'needs an optional peer',
  );
  expect(check(path, `import type { Schema } from '@isoloop/core/schema';`)).toEqual([]);
});

test('packages depend one way', () => {
  const core = `import { a } from '@isoloop/core/agent';`;
  const guards = `import { b } from '@isoloop/guards';`;
  expect(check('packages/presets/src/a.ts', core + guards)).toEqual([]);
  expect(check('packages/recall/src/a.ts', guards)[0]).toContain('recall must not import guards');
  expect(check('packages/core/src/limits/a.ts', guards)[0]).toContain(
    'core must not import guards',
  );
  expect(check('packages/core/src/limits/a.test.ts', guards)).toEqual([]);
});

test('the state of a run does not know the steps of the loop, not even types', () => {
  const path = 'packages/core/src/agent/run/a.ts';
  expect(check(path, `import type { B } from '../step/b.ts';`)).toEqual([
    `${path}:1: agent/run must not import agent/step, the steps of the loop`,
  ]);
  expect(check('packages/core/src/agent/step/b.ts', `import { a } from '../run/a.ts';`)).toEqual(
    [],
  );
});

test('tests may import any folder of their package and test support', () => {
  expect(
    check('packages/core/src/model/http.test.ts', `import { run } from '../agent/loop.ts';`),
  ).toEqual([]);
  expect(
    check('packages/edge/src/session/a.test.ts', `import { b } from '../../test-support/b.ts';`),
  ).toEqual([]);
  expect(
    check('packages/edge/src/session/a.ts', `import { b } from '../../test-support/b.ts';`)[0],
  ).toContain('is outside its sources');
});

test('no folder may import an entry file, and each folder must be in the list', () => {
  expect(
    check('packages/core/src/model/http.ts', `import { tool } from '../index.ts';`)[0],
  ).toContain('entry file index.ts');
  expect(
    check('packages/core/src/utils/all.ts', `import { b } from '../event/dispatch.ts';`)[0],
  ).toContain("utils/ is not in the list of core's folders");
});

test('core imports neither adapter, and the adapters do not import each other, not even types', () => {
  expect(
    check('packages/core/src/agent/loop.ts', `import type { X } from '@isoloop/edge';`)[0],
  ).toContain('core must not import edge');
  expect(
    check('packages/web-worker/src/index.ts', `import type { X } from '@isoloop/edge';`)[0],
  ).toContain('web-worker must not import edge');
  expect(
    check('packages/edge/src/index.ts', `import { connectAgent } from '@isoloop/web-worker';`)[0],
  ).toContain('edge must not import web-worker');
  expect(
    check('packages/edge/src/index.ts', `import { openai } from '@isoloop/core/openai';`),
  ).toEqual([]);
});

test('only tests may import their package by its name', () => {
  expect(
    check(
      'packages/core/src/agent/loop.test.ts',
      `import { ScriptedModel } from '@isoloop/core/testing';`,
    ),
  ).toEqual([]);
  expect(
    check('packages/core/src/agent/loop.ts', `import { tool } from '@isoloop/core';`)[0],
  ).toContain('imports itself by name');
});

test('an adapter imports core through its exports, not its files', () => {
  expect(
    check('packages/edge/src/index.ts', `import { tool } from '../../core/src/index.ts';`)[0],
  ).toContain('which is outside its sources');
});

test('the loop imports values of at most ten modules, so that it stays a list of its steps', () => {
  const path = 'packages/core/src/agent/loop.ts';
  const imports = moduleImports(path, readFileSync(`${root}/${path}`, 'utf8'));
  const ofValues = imports.filter(({ typeOnly }) => !typeOnly).map(({ specifier }) => specifier);
  expect(ofValues).toContain('./step/settle.ts');
  expect(ofValues.length).toBeLessThanOrEqual(10);
});
