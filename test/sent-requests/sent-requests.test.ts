import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../../scripts/run-command.ts';

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

test('a test fails if it sends a request that its provider refuses, and a file if its hooks do', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sent-requests-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'report.json');
  await runCommand('vitest', [
    'run',
    '--config=test/sent-requests/fixture/vitest.config.ts',
    '--reporter=json',
    `--outputFile=${file}`,
  ]);
  const { testResults } = JSON.parse(await readFile(file, 'utf8')) as Report;
  const failures = testResults.flatMap(({ message, assertionResults }) => [
    ['the file', message],
    ...assertionResults.map(({ title, failureMessages = [] }) => [title, ...failureMessages]),
  ]);
  const sentence = (wire: string, at: string, text: string, source: string): string =>
    `Error: A request breaks the rule ${wire}/called-results: ${text} ` +
    `It is broken at ${at}. Published: ${source}`;
  const morphic = 'https://github.com/miurla/morphic/issues/136';
  const text = 'A tool message follows the message whose tool call it answers.';
  expect(failures).toEqual([
    ['the file', expect.stringContaining('breaks the rule chat-completions/known-fields')],
    ['sends a good request'],
    ['sends a result without a call', sentence('chat-completions', 'messages[0]', text, morphic)],
    [
      'sends it to the Responses API',
      sentence(
        'responses',
        'input[0]',
        'An output follows its call, which may be in a stored response.',
        'https://github.com/microsoft/vscode/issues/320060',
      ),
    ],
    [
      'sends it to DashScope',
      sentence(
        'dashscope',
        'input.messages[0]',
        text,
        'https://github.com/philschmid/mcp-openai-gemini-llama-example/pull/5',
      ),
    ],
    [
      'passes it to AI SDK',
      sentence(
        'ai-sdk',
        'prompt[0]',
        'A tool result follows the message whose tool call it answers.',
        morphic,
      ),
    ],
    ['may send it'],
  ]);
});
