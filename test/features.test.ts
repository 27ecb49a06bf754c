import { context, trace } from '@opentelemetry/api';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MemoryStore, type Middleware, type UseList } from '@isoloop/core';
import { keepDataParts } from '@isoloop/core/ai-sdk';
import * as contexts from '@isoloop/core/context';
import * as guards from '@isoloop/core/guards';
import * as middleware from '@isoloop/core/middleware';
import { traceChanges, jsonlTrace, metrics } from '@isoloop/core/observe';
import { openTelemetry } from '@isoloop/core/open-telemetry';
import { structured } from '@isoloop/core/output';
import * as presets from '@isoloop/core/presets';
import { promptVariables } from '@isoloop/core/prompt';
import { longTermMemory, retrieval } from '@isoloop/core/recall';
import { replaceKey, stateKeys } from '@isoloop/core/state';
import { ScriptedModel } from '@isoloop/core/testing';
import { checkAnswers, textToolCalls } from '@isoloop/core/text-protocol';
import { selectTools, toolSearch } from '@isoloop/core/tools';
import { addDecisions } from '../packages/core/src/middleware/approval/decided-input.ts';
import { basicApprovals } from '../packages/core/src/middleware/approval/basic-approvals.ts';
import { checkClientTexts } from '../packages/core/src/middleware/guard/client-texts.ts';
import { instructions } from '../packages/core/src/middleware/guard/instructions.ts';
import { findFiles } from '../scripts/find-files.ts';
import { root } from '../scripts/root.ts';

const model = new ScriptedModel([]);
const store = new MemoryStore();
const nothing = async (): Promise<void> => {};
const memory = {
  record: nothing,
  retrieve: async () => [],
  delete: nothing,
  deleteSession: nothing,
  clear: nothing,
};

/** One middleware for each row of the table, with all that its options can add. */
const parts: Readonly<Record<string, UseList[number]>> = {
  basicApprovals: basicApprovals(),
  steering: middleware.steering(),
  directAnswers: middleware.directAnswers(),
  answerAtLimit: middleware.answerAtLimit(),
  runLimits: middleware.runLimits(),
  addDecisions: addDecisions([]),
  instructions: instructions([]),
  checkClientTexts: checkClientTexts([]),
  structured: structured({ type: 'object' })[0]!,
  approvals: middleware.approvals(),
  closeOpenCalls: middleware.closeOpenCalls(),
  modelRequestLimit: middleware.modelRequestLimit({ run: 1 }),
  toolCallLimit: middleware.toolCallLimit({ session: 1 }),
  concurrencyLimit: middleware.concurrencyLimit(new middleware.Semaphore(1)),
  summaryFallback: middleware.summaryFallback(),
  fitContext: contexts.fitContext(),
  clearToolResults: contexts.clearToolResults(),
  summarizeHistory: contexts.summarizeHistory(),
  answersOnly: contexts.answersOnly(),
  lastTurns: contexts.lastTurns(1),
  markImported: contexts.markImported(),
  successfulTurns: contexts.successfulTurns(),
  weightedHistory: contexts.weightedHistory(),
  longTermMemory: longTermMemory({ memory, mode: 'both' }),
  retrieval: retrieval({ retriever: memory }),
  inputGuard: guards.inputGuard('guard', (input) => input),
  rateLimit: guards.rateLimit(),
  lengthGuard: guards.lengthGuard(),
  injectionGuard: guards.injectionGuard(),
  classifierGuard: guards.classifierGuard(() => 'pass'),
  permissionGuard: guards.permissionGuard(() => true),
  spendCap: guards.spendCap({ limit: 1 }),
  outputGuards: guards.outputGuards([guards.piiRule()]),
  piiGuard: guards.piiGuard({ output: true, toolResults: true }),
  retry: middleware.retry(),
  fallback: middleware.fallback([model]),
  circuitBreaker: middleware.circuitBreaker(),
  modelTimeout: middleware.modelTimeout({ totalMs: 1 }),
  classifyModelErrors: middleware.classifyModelErrors(),
  replyCache: middleware.replyCache(),
  checkAnswers: checkAnswers(),
  errorHints: middleware.errorHints(),
  toolRetry: middleware.toolRetry(),
  rewordToolErrors: middleware.rewordToolErrors(),
  reuseResults: middleware.reuseResults(),
  todoList: middleware.todoList(),
  emulateTools: middleware.emulateTools({ model }),
  evictLargeResults: middleware.evictLargeResults({ store }),
  keepDataParts: keepDataParts(),
  operator: middleware.operator(),
  handOff: middleware.handOff({ to: [{ name: 'b', description: '', systemPrompt: '' }] }),
  selectTools: selectTools(),
  toolSearch: toolSearch(),
  promptVariables: promptVariables({ variables: {} }),
  stateKeys: stateKeys({ count: replaceKey(0) }),
  textToolCalls: textToolCalls(),
  positionHooks: presets.positionHooks([{ name: 'hook', beforeModel: () => {} }]),
  friendlyErrors: presets.friendlyErrors(),
  reactMemory: presets.reactMemory(),
  parallelIds: presets.parallelIds(),
  metrics: metrics({}),
  jsonlTrace: jsonlTrace(new WritableStream()),
  openTelemetry: openTelemetry({ api: { context, trace } }),
  traceChanges: traceChanges([])[0]!,
};

const members =
  'defaults on onEvent tools mapEvent wrapRun wrapInput wrapSettle wrapRequest wrapModel wrapReply wrapRound wrapTool';

const page = readFileSync(`${root}/docs/guides/features.md`, 'utf8');
const [users = '', wrappers = ''] = page.split('\n## Wrappers and state\n');

test('the page of ready-made middleware names the members of each', () => {
  const rows = wrappers.matchAll(/^\| `(\w+)\(\)` +\| ([^|]+?) +\|/gm);
  const said = [...rows].map(([, name = '', code = '']) => ({
    name,
    members: code.replaceAll(/[`,]/g, ''),
  }));
  const made = Object.entries(parts).map(([name, part]) => ({
    name,
    members: membersOf(part as Middleware),
  }));
  expect(said).toEqual(made);
});

/** Functions whose middleware belongs to an option, to a row of another function, or to a preset. */
const withoutRow = new Set([
  'allowedTools',
  'defaultToolTimeout',
  'finalWithoutTools',
  'outputGuardsOf',
]);

test('the page of ready-made middleware has a row for each function that returns one', () => {
  const files = findFiles('packages/core/src/{middleware/*,preset}/**/*.ts');
  const made = files
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => [
      ...readFileSync(`${root}/${path}`, 'utf8').matchAll(
        /^export function (\w+)[^{]*?\((?:[^{}]|\{\})*?\): (?:Middleware|BasicApprovals)\b/gm,
      ),
    ])
    .map(([, name = '']) => name);
  expect(made.length).toBeGreaterThan(40);
  expect(made.filter((name) => !(name in parts) && !withoutRow.has(name))).toEqual([]);
});

/** Parts that the first table leaves out: those of `ReActAgent`, and of options of a call. */
const builtIn = new Set([
  'basicApprovals',
  'steering',
  'directAnswers',
  'answerAtLimit',
  'runLimits',
  'addDecisions',
  'instructions',
  'checkClientTexts',
]);

test('the page of ready-made middleware says what each part that users add does by default', () => {
  const listed = new Set(users.match(/(?<=[` ])\w+(?=\()/g));
  const added = Object.keys(parts).filter((name) => !builtIn.has(name));
  expect(added.filter((name) => !listed.has(name))).toEqual([]);
});

test('each part under the heading of an entry is an export of this entry', () => {
  const sections = users.split('\n### ').slice(1);
  const found = sections.flatMap((section) => {
    const heading = section.split('\n')[0]!;
    const entries = [...heading.matchAll(/`\/([\w-]+)`/g)].map(([, entry = '']) => entry);
    const rows = [...section.matchAll(/^\| (`[^|]+?) +\|/gm)].map(([, cell = '']) => cell);
    return rows.flatMap((cell) => {
      const here = [...cell.matchAll(/ at `\/([\w-]+)`/g)].map(([, entry = '']) => entry);
      const names = cell.match(/(?<=`)\w+(?=\()/g) ?? [];
      return names.map((name) => ({ name, entries: here.length > 0 ? here : entries }));
    });
  });
  expect(found.length).toBeGreaterThan(50);
  const missing = found.filter(
    ({ name, entries }) =>
      !entries.some((entry) =>
        new RegExp(`\\b${name}\\b`).test(
          readFileSync(`${root}/packages/core/src/${entry}.ts`, 'utf8'),
        ),
      ),
  );
  expect(missing).toEqual([]);
});

function membersOf(part: Middleware): string {
  const keys = Object.keys(part);
  return members
    .split(' ')
    .filter((member) => keys.includes(member))
    .join(' ');
}
