import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { withSlashes } from '../../scripts/with-slashes.ts';

const script = `${root}/packages/create-isoloop/create.mjs`;

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'isoloop-create-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const run = (cwd: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [script, ...args], { cwd, encoding: 'utf8' });

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => withSlashes(file))
    .toSorted();

test.for(['assistant', 'endpoint', 'both'])(
  'creates a project from the template "%s"',
  (template) => {
    const folder = emptyFolder();
    const output = execFileSync(process.execPath, [script, 'My App_2', '--template', template], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(output).toContain('cd "My App_2"');
    const project = join(folder, 'My App_2');
    const { name, dependencies } = JSON.parse(readFileSync(`${project}/package.json`, 'utf8'));
    expect(name).toBe('my-app-2');
    const { version } = JSON.parse(readFileSync(`${root}/packages/core/package.json`, 'utf8'));
    expect(dependencies['@isoloop/core']).toBe(`^${version}`);
    const files = filesOf(project);
    expect(files).toContain('.gitignore');
    expect(files).toContain('README.md');
    const texts = files.filter((file) => /\.\w+$/.test(file)).map((file) => `${project}/${file}`);
    for (const file of texts) expect(readFileSync(file, 'utf8'), file).not.toContain('{{');
  },
);

test('each endpoint gets a token of its own, which Git ignores', () => {
  const tokens = ['one', 'two'].map((name) => {
    const folder = emptyFolder();
    expect(run(folder, name, '-t', 'endpoint').status).toBe(0);
    expect(readFileSync(`${folder}/${name}/.gitignore`, 'utf8')).toContain('.dev.vars');
    return /CLIENT_TOKEN="(.*)"/.exec(readFileSync(`${folder}/${name}/.dev.vars`, 'utf8'))![1]!;
  });
  expect(new Set(tokens).size).toBe(2);
  for (const token of tokens) expect(token.length).toBeGreaterThanOrEqual(16);
});

test('creates a project in an empty folder, and in one that only has a Git repository', () => {
  const folder = emptyFolder();
  mkdirSync(`${folder}/.git`);
  expect(run(folder, '.', '--template=endpoint').status).toBe(0);
  expect(filesOf(folder)).toContain('src/worker.ts');
});

test.for([
  [['app'], 'Choose a template with --template: assistant, both, endpoint.'],
  [
    ['app', '--template', 'chat'],
    'There is no template "chat". Templates: assistant, both, endpoint.',
  ],
  [['app', '--template', '..'], 'There is no template "..".'],
  [['--template', 'endpoint'], 'Name the folder of the new project.'],
  [['app', 'more', '-t', 'endpoint'], 'There is more than one folder: more.'],
  [['app', '--tempalte', 'endpoint'], '--tempalte'],
  [['...', '-t', 'endpoint'], '"..." has no letters or digits'],
  [['full', '-t', 'endpoint'], 'is not empty. Choose another folder, or empty it first.'],
  [['full/file.txt', '-t', 'endpoint'], 'file.txt is a file.'],
] as const)('the arguments %j fail with a clear error and write nothing', ([args, message]) => {
  const folder = emptyFolder();
  mkdirSync(`${folder}/full`);
  writeFileSync(`${folder}/full/file.txt`, 'mine');
  const { status, stderr } = run(folder, ...args);
  expect(status).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr).toContain('Usage: npm create isoloop@latest');
  expect(stderr).not.toContain('    at ');
  expect(filesOf(folder)).toEqual(['full', 'full/file.txt']);
});

test('--help shows the templates', () => {
  const { status, stdout } = run(emptyFolder(), '--help');
  expect(status).toBe(0);
  expect(stdout).toContain('assistant');
});
