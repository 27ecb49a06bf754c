import { context, trace } from '@opentelemetry/api';
import { answerAtLimit, directAnswers, summaryFallback } from '@isoloop/core/answer';
import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import {
  answersOnly,
  clearToolResults,
  fitContext,
  lastTurns,
  markImported,
  successfulTurns,
  summarizeHistory,
} from '@isoloop/core/context';
import {
  Semaphore,
  concurrencyLimit,
  modelRequestLimit,
  runLimits,
  toolCallLimit,
} from '@isoloop/core/limits';
import {
  circuitBreaker,
  classifyModelErrors,
  fallback,
  modelTimeout,
  replyCache,
  retry,
  toolRetry,
} from '@isoloop/core/resilience';
import {
  emulateTools,
  errorHints,
  evictLargeResults,
  reuseResults,
  rewordToolErrors,
  todoList,
  keepDataParts,
} from '@isoloop/core/results';
import { handOff, operator } from '@isoloop/core/several';
import { steering } from '@isoloop/core/steering';
import {
  classifierGuard,
  injectionGuard,
  inputGuard,
  lengthGuard,
  outputGuards,
  permissionGuard,
  piiGuard,
  piiRule,
  rateLimit,
  spendCap,
} from '@isoloop/guards';
import {
  friendlyErrors,
  parallelIds,
  positionHooks,
  reactMemory,
  weightedHistory,
} from '@isoloop/presets';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MemoryStore, type Middleware, type UseList } from '@isoloop/core';
import { traceChanges, jsonlTrace, metrics } from '@isoloop/core/observe';
import { openTelemetry } from '@isoloop/core/open-telemetry';
import { structured } from '@isoloop/core/output';
import { promptVariables } from '@isoloop/core/prompt';
import { longTermMemory, retrieval } from '@isoloop/recall';
import { replaceKey, stateKeys } from '@isoloop/core/state';
import { ScriptedModel } from '@isoloop/core/testing';
import { checkAnswers, textToolCalls } from '@isoloop/core/text-protocol';
import { selectTools, toolSearch } from '@isoloop/core/selection';
import { addDecisions } from '../../packages/core/src/approval/decided-input.ts';
import { basicApprovals } from '../../packages/core/src/approval/basic-approvals.ts';
import { checkClientTexts } from '../../packages/core/src/prompt/client-texts.ts';
import { instructions } from '../../packages/core/src/prompt/instructions.ts';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';

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
const examples: Readonly<Record<string, UseList[number]>> = {
  basicApprovals: basicApprovals(),
  steering: steering(),
  directAnswers: directAnswers(),
  answerAtLimit: answerAtLimit(),
  runLimits: runLimits(),
  addDecisions: addDecisions([]),
  instructions: instructions([]),
  checkClientTexts: checkClientTexts([]),
  structured: structured({ type: 'object' })[0]!,
  approvals: approvals(),
  closeOpenCalls: closeOpenCalls(),
  modelRequestLimit: modelRequestLimit({ run: 1 }),
  toolCallLimit: toolCallLimit({ session: 1 }),
  concurrencyLimit: concurrencyLimit(new Semaphore(1)),
  summaryFallback: summaryFallback(),
  fitContext: fitContext(),
  clearToolResults: clearToolResults(),
  summarizeHistory: summarizeHistory(),
  answersOnly: answersOnly(),
  lastTurns: lastTurns(1),
  markImported: markImported(),
  successfulTurns: successfulTurns(),
  weightedHistory: weightedHistory(),
  longTermMemory: longTermMemory({ memory, mode: 'both' }),
  retrieval: retrieval({ retriever: memory }),
  inputGuard: inputGuard('guard', (input) => input),
  rateLimit: rateLimit(),
  lengthGuard: lengthGuard(),
  injectionGuard: injectionGuard(),
  classifierGuard: classifierGuard(() => 'pass'),
  permissionGuard: permissionGuard(() => true),
  spendCap: spendCap({ limit: 1 }),
  outputGuards: outputGuards([piiRule()]),
  piiGuard: piiGuard({ output: true, toolResults: true }),
  retry: retry(),
  fallback: fallback([model]),
  circuitBreaker: circuitBreaker(),
  modelTimeout: modelTimeout({ totalMs: 1 }),
  classifyModelErrors: classifyModelErrors(),
  replyCache: replyCache(),
  checkAnswers: checkAnswers(),
  errorHints: errorHints(),
  toolRetry: toolRetry(),
  rewordToolErrors: rewordToolErrors(),
  reuseResults: reuseResults(),
  todoList: todoList(),
  emulateTools: emulateTools({ model }),
  evictLargeResults: evictLargeResults({ store }),
  keepDataParts: keepDataParts(),
  operator: operator(),
  handOff: handOff({ to: [{ name: 'b', description: '', systemPrompt: '' }] }),
  selectTools: selectTools(),
  toolSearch: toolSearch(),
  promptVariables: promptVariables({ variables: {} }),
  stateKeys: stateKeys({ count: replaceKey(0) }),
  textToolCalls: textToolCalls(),
  positionHooks: positionHooks([{ name: 'hook', beforeModel: () => {} }]),
  friendlyErrors: friendlyErrors(),
  reactMemory: reactMemory(),
  parallelIds: parallelIds(),
  metrics: metrics({}),
  jsonlTrace: jsonlTrace(new WritableStream()),
  openTelemetry: openTelemetry({ api: { context, trace } }),
  traceChanges: traceChanges([])[0]!,
};

const members =
  'defaults on tools mapEvent wrapRun wrapInput wrapSettle wrapRequest wrapModel wrapReply wrapRound wrapTool';

const page = readFileSync(`${root}/docs/guides/features.md`, 'utf8');
const [users = '', wrappers = ''] = page.split('\n## Wrappers and state\n');

test('the page of ready-made middleware names the members of each', () => {
  const rows = wrappers.matchAll(/^\| `(\w+)\(\)` +\| ([^|]+?) +\|/gm);
  const said = [...rows].map(([, name = '', code = '']) => ({
    name,
    members: code.replaceAll(/[`,]/g, ''),
  }));
  const made = Object.entries(examples).map(([name, example]) => ({
    name,
    members: membersOf(example as Middleware),
  }));
  expect(said).toEqual(made);
});

/**
 * Functions whose middleware belongs to an option, to a row of another function, or to a preset.
 */
const withoutRow = new Set([
  'allowedTools',
  'defaultToolTimeout',
  'finalWithoutTools',
  'outputGuardsOf',
]);

test('the page of ready-made middleware has a row for each function that returns one', () => {
  const files = findFiles([
    'packages/core/src/{answer,approval,context,limits,observe,open-telemetry,output,prompt,resilience,results,selection,several,state,steering,text-protocol}/**/*.ts',
    'packages/{guards,presets,recall}/src/**/*.ts',
  ]);
  const made = files
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => [
      ...readFileSync(`${root}/${path}`, 'utf8').matchAll(
        /^export function (\w+)[^{]*?\((?:[^{}]|\{\})*?\): (?:Middleware|BasicApprovals)\b/gm,
      ),
    ])
    .map(([, name = '']) => name);
  expect(made.length).toBeGreaterThan(40);
  expect(made.filter((name) => !(name in examples) && !withoutRow.has(name))).toEqual([]);
});

/** Middleware that the first table leaves out: those of `ReActAgent`, and of options of a call. */
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

test('the page of ready-made middleware says what each middleware that users add does by default', () => {
  const listed = new Set(users.match(/(?<=[` ])\w+(?=\()/g));
  const added = Object.keys(examples).filter((name) => !builtIn.has(name));
  expect(added.filter((name) => !listed.has(name))).toEqual([]);
});

test('each middleware under the heading of an entry is an export of this entry', () => {
  const sections = users.split('\n### ').slice(1);
  const found = sections.flatMap((section) => {
    const heading = section.split('\n')[0]!;
    const entries = entriesIn(heading);
    const rows = [...section.matchAll(/^\| (`[^|]+?) +\|/gm)].map(([, cell = '']) => cell);
    return rows.flatMap((cell) => {
      const here = entriesIn(cell.split(' at ')[1] ?? '');
      const names = cell.match(/(?<=`)\w+(?=\()/g) ?? [];
      return names.map((name) => ({ name, entries: here.length > 0 ? here : entries }));
    });
  });
  expect(found.length).toBeGreaterThan(50);
  const missing = found.filter(
    ({ name, entries }) =>
      !entries.some((entry) =>
        new RegExp(`\\b${name}\\b`).test(
          readFileSync(`${root}/packages/${entry}/index.ts`, 'utf8'),
        ),
      ),
  );
  expect(missing).toEqual([]);
});

/** Returns the folders of the entries that a text names: `/limits` of core, or a package. */
function entriesIn(text: string): readonly string[] {
  return [...text.matchAll(/`(?:\/([\w-]+)|@isoloop\/([\w-]+))`/g)].map(([, entry, name]) =>
    name ? `${name}/src` : `core/src/${entry}`,
  );
}

function membersOf(middleware: Middleware): string {
  const keys = Object.keys(middleware);
  return members
    .split(' ')
    .filter((member) => keys.includes(member))
    .join(' ');
}
