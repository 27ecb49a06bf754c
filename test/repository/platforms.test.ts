import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { usualPlaces } from '../../scripts/chromium.ts';
import { commandLine } from '../../scripts/command-line.ts';
import { findFiles } from '../../scripts/find-files.ts';
import { adviceFor, installCommands } from '../../scripts/install-chromium.ts';
import { root } from '../../scripts/root.ts';
import { withSlashes } from '../../scripts/with-slashes.ts';

// What the scripts do on systems other than the one that runs the tests.

test('a path of Windows gets slashes, and a backslash in a name of another system stays', () => {
  expect(withSlashes('docs\\guides\\a.md', '\\')).toBe('docs/guides/a.md');
  expect(withSlashes('docs/a\\b.md', '/')).toBe('docs/a\\b.md');
});

test('findFiles() returns sorted paths without the files to leave out', () => {
  const files = findFiles('*.ts', { folder: `${root}/test`, exclude: ['*.test.ts'] });
  expect(files).toContain('random-of.ts');
  expect(files.filter((file) => file.endsWith('.test.ts'))).toEqual([]);
  expect(files).toEqual(files.toSorted());
});

test.each(
  'astro attw conformance oxfmt oxlint playwright publint size-limit tsc vite wrangler'.split(' '),
)('Node runs the script of the tool %s, because Windows needs a shell to start it', (tool) => {
  const { file, args } = commandLine(tool, ['--help']);
  const [script = '', ...rest] = args;
  expect([file, rest]).toEqual([process.execPath, ['--help']]);
  expect(existsSync(script), script).toBe(true);
});

test('commandLine() runs Node and npm with the Node of this process, and other programs as they are', () => {
  const { execPath } = process;
  expect(commandLine('node', ['a.ts'])).toEqual({ file: execPath, args: ['a.ts'] });
  expect(commandLine('npm', ['pack'], '/npm/bin/npm-cli.js')).toEqual({
    file: execPath,
    args: ['/npm/bin/npm-cli.js', 'pack'],
  });
  expect(commandLine('apt-get', ['update'])).toEqual({ file: 'apt-get', args: ['update'] });
  const chrome = 'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe';
  expect(commandLine(chrome, ['--version'])).toEqual({ file: chrome, args: ['--version'] });
});

test('Chrome is looked for in the program folders of Windows, and Edge after it', () => {
  const env = {
    ProgramFiles: 'C:\\Program Files',
    'ProgramFiles(x86)': 'C:\\Program Files (x86)',
    LOCALAPPDATA: undefined,
  };
  expect(usualPlaces('win32', env)).toEqual([
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files\\Microsoft\\Edge\\Application\\msedge.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ]);
});

test('Chrome is looked for in the applications of macOS, and in the usual paths of Linux', () => {
  expect(usualPlaces('darwin', {})).toContain(
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  );
  expect(usualPlaces('linux', {})[0]).toBe('/usr/bin/chromium-headless-shell');
});

test('only root on Debian installs Chromium with apt-get, and only root on Linux its libraries', () => {
  const commands = (platform: NodeJS.Platform, isRoot: boolean, isDebian: boolean) =>
    installCommands({ platform, isRoot, isDebian }).map((command) => command.join(' '));
  const download = 'playwright install chromium';
  const withLibraries = 'playwright install --with-deps chromium';
  expect(commands('linux', true, true)).toEqual([
    'apt-get update',
    'apt-get install -y --no-install-recommends chromium-headless-shell',
    withLibraries,
  ]);
  expect(commands('linux', true, false)).toEqual([withLibraries]);
  expect(commands('linux', false, true)).toEqual([download]);
  expect(commands('darwin', true, false)).toEqual([download]);
  expect(commands('win32', false, false)).toEqual([download]);
});

test.each([
  ['linux', 'sudo apt-get install'],
  ['darwin', 'https://www.google.com/chrome'],
  ['win32', 'https://www.google.com/chrome'],
] as const)('the advice for %s says how to get a Chromium', (platform, install) => {
  const advice = adviceFor(platform);
  expect(advice).toContain(install);
  expect(advice).toContain('CHROMIUM_PATH');
  expect(advice.includes('apt-get')).toBe(platform === 'linux');
});
