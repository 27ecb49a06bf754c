import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../../scripts/run-command.ts';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** Runs the tests of `fixture` in a Vitest of their own. */
async function fixtureReport(): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'left-behind-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'report.json');
  const config = 'test/left-behind/fixture/vitest.config.ts';
  const { output } = await runCommand('vitest', [
    'run',
    `--config=${config}`,
    '--reporter=json',
    `--outputFile=${file}`,
  ]);
  expect(output).not.toContain('Unhandled');
  return JSON.parse(await readFile(file, 'utf8')) as Report;
}

/** Returns the sentences of failures, without ids and line numbers. */
const sentencesOf = (failures: readonly string[] = []): readonly string[] =>
  failures.map((text) =>
    text
      .split('\n')[0]!
      .replace(/^Error: /, '')
      .replace(/, [\w-]{20,},/, ', id,')
      .replace(/port \d+/, 'port')
      .replace(/:\d+:\d+\.$/, '.'),
  );

test('a test fails if it leaves something behind, and a file if its hooks do; the failure says what and where', async () => {
  const { testResults } = await fixtureReport();
  const results = testResults.flatMap(({ name, message, assertionResults }) => [
    [name.split('/').at(-1), sentencesOf(message ? [message] : [])],
    ...assertionResults.map(({ title, failureMessages }) => [title, sentencesOf(failureMessages)]),
  ]);
  const at = 'created at test/left-behind/fixture';
  expect(Object.fromEntries(results)).toEqual({
    'tests.fixture.ts': [],
    'leaves a timer': [`The test left a timer (setTimeout, 300000 ms) ${at}/tests.fixture.ts.`],
    'leaves an interval that does not keep the process alive': [
      `The test left a timer (setInterval, 1000 ms) ${at}/tests.fixture.ts.`,
    ],
    'leaves an interval of node:timers': [
      `The test left a timer (setInterval, 1000 ms) ${at}/tests.fixture.ts.`,
    ],
    'leaves a wait of node:timers/promises': [
      `The test left a timer (setTimeout of node:timers/promises, 300000 ms) ${at}/tests.fixture.ts.`,
    ],
    'leaves a timer of a fake clock': [
      `The test left a timer of a fake clock (setTimeout, 10 ms) ${at}/tests.fixture.ts.`,
    ],
    'leaves a run': [`The test left a run (held, id, running) ${at}/tests.fixture.ts.`],
    'leaves a rejection': [
      `The test left an unhandled rejection (TypeError: nobody handles it) ${at}/tests.fixture.ts.`,
    ],
    'leaves a server': [`The test left a server (port) ${at}/tests.fixture.ts.`],
    'leaves a process': [`The test left a process (sleep) ${at}/tests.fixture.ts.`],
    'leaves a worker': [`The test left a worker thread ${at}/tests.fixture.ts.`],
    'leaves two things': [
      `The test left a run (held, id, running) ${at}/tests.fixture.ts.`,
      `The test left a server (port) ${at}/tests.fixture.ts.`,
    ],
    'ends everything in its hooks': [],
    'may leave a timer': [],
    'hands a server to its file': [],
    'file.fixture.ts': [`The file left a server (port) ${at}/file.fixture.ts.`],
    'handed.fixture.ts': [`The file left a timer (setTimeout, 300000 ms) ${at}/handed.fixture.ts.`],
    'uses the server of its file': [],
    'hands a timer to its file, which does not end it': [],
  });
});
