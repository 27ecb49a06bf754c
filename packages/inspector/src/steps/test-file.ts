import { outputText, textOf, toolUsesOf, type Msg } from '@isoloop/core';
import { metadataOf } from '@isoloop/core/message';
import type { LogTurn } from './log-turns.ts';
import { replayScript, type ReplayScript } from './replay-script.ts';
import { briefly, shownText } from './shown-text.ts';

/** A test of a turn as a file for vitest. */
export interface TestFile {
  readonly name: string;
  readonly source: string;
}

/**
 * Writes a test that runs a turn again: a `ScriptedModel` gives the replies of the log, and tools
 * give its results. What looks like a secret is masked. The test passes as it is. Then you replace
 * the stand-ins by your own agent and tools.
 */
export function testFile(turn: LogTurn): TestFile {
  const script = replayScript(turn);
  const title = briefly(script.input.map(textOf).join(' '), 60) || 'a turn of the log';
  const calls = script.replies.flatMap(toolUsesOf);
  const lastReply = script.replies.at(-1);
  const isOpen =
    lastReply !== undefined && toolUsesOf(lastReply).some(({ id }) => !script.results.has(id));
  const text = textOf(script.ending ?? lastReply ?? script.input[0]!);
  const lines = [
    `import { ${imports(turn, calls.length > 0).join(', ')} } from '@isoloop/core';`,
    `import { ScriptedModel } from '@isoloop/core/testing';`,
    `import { expect, test } from 'vitest';`,
    '',
    ...toolLines(script),
    `test(${textLiteral(title)}, async () => {`,
    `  const model = new ScriptedModel([`,
    ...replyLines(script, isOpen),
    `  ]);`,
    `  // Put your own agent here, with \`model\` as its model.`,
    `  const agent = new ReActAgent({ ${agentFields(script).join(', ')} });`,
    ...historyLines(turn.earlierMessages),
    `  const result = await agent.call(${textLiteral(script.input.map(textOf).join('\n'))});`,
    `  expect(result.reason).toBe(${textLiteral(isOpen ? 'suspended' : 'stop')});`,
    ...(isOpen ? [] : [`  expect(result.text).toBe(${textLiteral(text)});`]),
    ...(calls.length && !isOpen
      ? [`  expect(result.toolsUsed).toEqual(${listLiteral(script.tools)});`]
      : []),
    `  model.assertDone();`,
    `});`,
    '',
  ];
  return { name: `${fileName(title)}.test.ts`, source: lines.join('\n') };
}

/** Number of model requests that an agent makes without a limit of its own. */
const defaultIterations = 10;

function agentFields({ tools, replies }: ReplayScript): readonly string[] {
  const requests = replies.length + 1;
  return [
    "name: 'assistant'",
    'model',
    ...(tools.length ? ['tools'] : []),
    ...(requests > defaultIterations ? [`limits: { iterations: ${requests} }`] : []),
  ];
}

/** The tools answer in the order of their calls, because the test's tool calls have other ids. */
function toolLines({ tools, replies, results }: ReplayScript): readonly string[] {
  if (!tools.length) return [];
  const calls = replies.flatMap(toolUsesOf);
  const answers = calls.map(({ id }, index) => {
    const result = results.get(id);
    if (!result) return `  call_${index + 1}: { waits: true },`;
    const isError = result.state !== 'success';
    // The agent writes this word in front of the message of an exception.
    const text = outputText(result.output).replace(isError ? /^Error: / : '', '');
    return `  call_${index + 1}: { ${isError ? 'error' : 'output'}: ${textLiteral(text)} },`;
  });
  return [
    '// What the tools answered, by the id of the call.',
    'const answers: Record<string, { output?: string; error?: string; waits?: boolean }> = {',
    ...answers,
    '};',
    '',
    `const tools = ${listLiteral(tools)}.map((name) =>`,
    `  tool({`,
    `    name,`,
    `    description: 'Answers as in the log',`,
    `    input: {},`,
    `    execute: (_input, { toolUseId, suspend }) => {`,
    `      const { output, error, waits } = answers[toolUseId]!;`,
    `      if (waits) suspend();`,
    `      if (error !== undefined) throw new Error(error);`,
    `      return output;`,
    `    },`,
    `  }),`,
    `);`,
    '',
  ];
}

function replyLines(script: ReplayScript, isOpen: boolean): readonly string[] {
  const replies = script.replies.map((reply) => {
    const calls = toolUsesOf(reply).map(
      ({ name, input }) => `{ name: ${textLiteral(name)}, input: ${jsonLiteral(input)} }`,
    );
    const text = textOf(reply);
    if (!calls.length) return `    ${textLiteral(text)},`;
    const textField = text ? `text: ${textLiteral(text)}, ` : '';
    return `    { ${textField}toolCalls: [${calls.join(', ')}] },`;
  });
  const { ending } = script;
  if (!ending || isOpen) return replies;
  const { reason = '' } = metadataOf(ending);
  return [
    ...replies,
    `    // No model wrote this: the run ended as "${reason}".`,
    `    ${textLiteral(textOf(ending))},`,
  ];
}

function historyLines(earlierMessages: readonly Msg[]): readonly string[] {
  const messages = earlierMessages.filter(
    (message) => /^(user|assistant)$/.test(message.role) && textOf(message).trim(),
  );
  if (!messages.length) return [];
  const lines = messages.map(
    (message) =>
      `    createMessage(${textLiteral(message.role)}, ${textLiteral(textOf(message))}),`,
  );
  return [`  await agent.observe([`, ...lines, `  ]);`];
}

/** Returns a text as a literal of TypeScript, without secrets. */
function textLiteral(text: string): string {
  const literal = JSON.stringify(shownText(text)).slice(1, -1).replaceAll('\\"', '"');
  return `'${literal.replaceAll("'", "\\'")}'`;
}

function jsonLiteral(value: unknown): string {
  return shownText(JSON.stringify(value));
}

function listLiteral(value: readonly string[]): string {
  return `[${value.map(textLiteral).join(', ')}]`;
}

function fileName(title: string): string {
  const words = title.toLowerCase().match(/[a-z\d]+/g) ?? [];
  return words.slice(0, 6).join('-') || 'turn';
}

function imports({ earlierMessages }: LogTurn, hasTools: boolean): readonly string[] {
  return [
    'ReActAgent',
    ...(historyLines(earlierMessages).length ? ['createMessage'] : []),
    ...(hasTools ? ['tool'] : []),
  ];
}
