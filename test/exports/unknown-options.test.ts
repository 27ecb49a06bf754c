import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import {
  AgentError,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  listSessions,
  tool,
  ReActAgent,
} from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { answerAtLimit, summarize, summaryFallback } from '@isoloop/core/answer';
import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import {
  clearToolResults,
  fitContext,
  markImported,
  summarizeHistory,
  trimContext,
} from '@isoloop/core/context';
import { userErrorText } from '@isoloop/core/error';
import { attach } from '@isoloop/core/event';
import { endpointPlace, moveSession, storePlace, placeWith } from '@isoloop/core/move';
import { JsonReader, createUiMessageEncoder, toUiMessages, textStream } from '@isoloop/core/stream';
import { Semaphore, modelRequestLimit, runLimits, toolCallLimit } from '@isoloop/core/limits';
import { attachment } from '@isoloop/core/message';
import { multiAgent, boundedModel } from '@isoloop/core/model';
import { jsonlTrace, metrics } from '@isoloop/core/observe';
import { jsonMode, structured, yamlMode } from '@isoloop/core/output';
import { promptVariables, renderTemplate, systemPrompt } from '@isoloop/core/prompt';
import {
  circuitBreaker,
  fallback,
  inMemoryReplies,
  modelTimeout,
  replyCache,
  retry,
  toolRetry,
} from '@isoloop/core/resilience';
import {
  emulateTools,
  evictLargeResults,
  reuseResults,
  rewordToolErrors,
  todoList,
} from '@isoloop/core/results';
import { byModel, bySimilarity, byWords, selectTools, toolSearch } from '@isoloop/core/selection';
import { agentTool, handOff, operatorMessage } from '@isoloop/core/several';
import { ScriptedModel, memoryConformance, modelConformance } from '@isoloop/core/testing';
import { checkAnswers, textToolCalls } from '@isoloop/core/text-protocol';
import { Toolkit, metaTool } from '@isoloop/core/tool';
import {
  classifierGuard,
  inMemoryCounters,
  injectionGuard,
  inputGuard,
  lengthGuard,
  lengthRule,
  outputGuards,
  permissionGuard,
  piiGuard,
  piiRule,
  rateLimit,
  regexRule,
  spendCap,
  storedCounters,
} from '@isoloop/guards';
import { mcpTools } from '@isoloop/mcp';
import {
  arcReactor,
  arcReactorTrim,
  oxygent,
  springAiAlibaba,
  weightedHistory,
} from '@isoloop/presets';
import {
  chunkText,
  keywordMemory,
  keywordRerank,
  keywordRetriever,
  longTermMemory,
  mmrRerank,
  retrieval,
} from '@isoloop/recall';
import { openai } from '@isoloop/core/openai';
import { Agent } from '@isoloop/core/agent';
import { unstorageStore } from '@isoloop/core/memory';
import { openTelemetry } from '@isoloop/core/open-telemetry';
import { jsonSchema } from '@isoloop/core/schema';
import { stateKeys } from '@isoloop/core/state';
import { TokenCalibration } from '@isoloop/core/tokens';
import { packageFolders, readManifest } from '../../scripts/packages.ts';
import { steering } from '@isoloop/core/steering';
import { httpProviders } from '../support/providers.ts';
import { given, missingRefusals, type Wrong } from './unknown-options.ts';

const model = new ScriptedModel([]);
const store = new MemoryStore();
const agent = new ReActAgent({ name: 'a', model });
const noop = (): void => {};

/** Calls of all functions with options. Each call adds the options to those it needs. */
const calls: Readonly<Record<string, (wrong: Wrong) => unknown>> = {
  Agent: (wrong) => new Agent(given({ name: 'a', model }, wrong)),
  TokenCalibration: (wrong) => new TokenCalibration(wrong),
  jsonSchema: (wrong) => jsonSchema({}, wrong),
  openTelemetry: (wrong) => openTelemetry(given({ api: {} }, wrong)),
  stateKeys: (wrong) => stateKeys({}, wrong),
  textStream: (wrong) => textStream(agent.stream('Hi'), wrong),
  unstorageStore: (wrong) =>
    unstorageStore(
      { getItem: noop, getKeys: noop, setItem: noop, removeItem: noop, hasItem: noop } as Wrong,
      wrong,
    ),
  ...Object.fromEntries(
    httpProviders.map(({ name, model: make }) => [
      name,
      (wrong: Wrong) => make(given({ model: 'm' }, wrong)),
    ]),
  ),
  ReActAgent: (wrong) => new ReActAgent(given({ name: 'a', model }, wrong)),
  tool: (wrong) => tool(given({ name: 'a', description: '', input: {} }, wrong)),
  InMemoryMemory: (wrong) => new InMemoryMemory([], wrong),
  MemoryStore: (wrong) => new MemoryStore(wrong),
  SessionMemory: (wrong) => new SessionMemory(store, 's', wrong),
  listSessions: (wrong) => listSessions(store, wrong),
  attach: (wrong) => attach(agent, wrong),
  endpointPlace: (wrong) => endpointPlace('https://a.test/api/chat', wrong),
  moveSession: (wrong) => moveSession('s', wrong),
  storePlace: (wrong) => storePlace(given({ name: 'a:', store }, wrong)),
  fromAiSdk: (wrong) => fromAiSdk({ specificationVersion: 'v4' } as Wrong, wrong),
  createUiMessageEncoder: (wrong) => createUiMessageEncoder(wrong),
  toUiMessages: (wrong) => toUiMessages([], wrong),
  clearToolResults: (wrong) => clearToolResults(wrong),
  fitContext: (wrong) => fitContext(wrong),
  markImported: (wrong) => markImported(wrong),
  summarizeHistory: (wrong) => summarizeHistory(wrong),
  weightedHistory: (wrong) => weightedHistory(wrong),
  inMemoryCounters: (wrong) => inMemoryCounters(wrong),
  storedCounters: (wrong) => storedCounters(store, wrong),
  injectionGuard: (wrong) => injectionGuard(wrong),
  inputGuard: (wrong) => inputGuard('g', (input) => input, wrong),
  lengthGuard: (wrong) => lengthGuard(wrong),
  classifierGuard: (wrong) => classifierGuard(() => 'ok' as Wrong, wrong),
  permissionGuard: (wrong) => permissionGuard(() => true, wrong),
  rateLimit: (wrong) => rateLimit(wrong),
  spendCap: (wrong) => spendCap(given({ limit: 1 }, wrong)),
  outputGuards: (wrong) => outputGuards([], wrong),
  lengthRule: (wrong) => lengthRule(wrong),
  regexRule: (wrong) => regexRule(given({ pattern: /x/ }, wrong)),
  piiRule: (wrong) => piiRule(wrong),
  piiGuard: (wrong) => piiGuard(wrong),
  mcpTools: (wrong) => mcpTools(given({ url: 'https://test' }, wrong)),
  keywordMemory: (wrong) => keywordMemory(given({ store }, wrong)),
  keywordRetriever: (wrong) => keywordRetriever([], wrong),
  chunkText: (wrong) => chunkText('', wrong),
  approvals: (wrong) => approvals(wrong),
  circuitBreaker: (wrong) => circuitBreaker(wrong),
  userErrorText: (wrong) => userErrorText(new Error('x'), wrong),
  evictLargeResults: (wrong) => evictLargeResults(given({ store }, wrong)),
  fallback: (wrong) => fallback([model], wrong),
  handOff: (wrong) =>
    handOff(given({ to: [{ name: 'b', description: '', systemPrompt: '' }] }, wrong)),
  inMemoryReplies: (wrong) => inMemoryReplies(wrong),
  modelRequestLimit: (wrong) => modelRequestLimit(given({ run: 1 }, wrong)),
  modelTimeout: (wrong) => modelTimeout(given({ totalMs: 1 }, wrong)),
  operatorMessage: (wrong) => operatorMessage('', given({ name: 'Ann' }, wrong)),
  closeOpenCalls: (wrong) => closeOpenCalls(wrong),
  summarize: (wrong) => summarize(wrong),
  replyCache: (wrong) => replyCache(wrong),
  retry: (wrong) => retry(wrong),
  runLimits: (wrong) => runLimits(wrong),
  reuseResults: (wrong) => reuseResults(wrong),
  Semaphore: (wrong) => new Semaphore(1, wrong),
  summaryFallback: (wrong) => summaryFallback(wrong),
  answerAtLimit: (wrong) => answerAtLimit(wrong),
  todoList: (wrong) => todoList(wrong),
  toolCallLimit: (wrong) => toolCallLimit(given({ tool: 'a', run: 1 }, wrong)),
  emulateTools: (wrong) => emulateTools(given({ model }, wrong)),
  rewordToolErrors: (wrong) => rewordToolErrors(wrong),
  toolRetry: (wrong) => toolRetry(wrong),
  jsonlTrace: (wrong) => jsonlTrace(new WritableStream(), wrong),
  metrics: (wrong) => metrics({}, wrong),
  jsonMode: (wrong) => jsonMode({}, wrong),
  structured: (wrong) => structured({}, wrong),
  yamlMode: (wrong) => yamlMode({}, given({ parse: noop }, wrong)),
  arcReactorTrim: (wrong) => arcReactorTrim(wrong),
  trimContext: (wrong) =>
    trimContext('mine()', wrong, {
      keepsResultsWithQuestion: true,
      beginsWithUser: true,
      trimEnd: ({ from }) => from,
    }),
  oxygent: (wrong) => oxygent(wrong),
  springAiAlibaba: (wrong) => springAiAlibaba(wrong),
  attachment: (wrong) => attachment(new Uint8Array(1), wrong),
  multiAgent: (wrong) => multiAgent(model, wrong),
  promptVariables: (wrong) => promptVariables(wrong),
  renderTemplate: (wrong) => renderTemplate('', {}, wrong),
  systemPrompt: (wrong) => systemPrompt(given({ base: '' }, wrong)),
  keywordRerank: (wrong) => keywordRerank(wrong),
  longTermMemory: (wrong) => longTermMemory(wrong),
  mmrRerank: (wrong) => mmrRerank(wrong),
  retrieval: (wrong) => retrieval(given({ retriever: { retrieve: noop } }, wrong)),
  ScriptedModel: (wrong) => new ScriptedModel([], wrong),
  memoryConformance: (wrong) => memoryConformance({} as Wrong, '', noop as Wrong, wrong),
  modelConformance: (wrong) =>
    modelConformance({} as Wrong, '', given({ modelWith: noop }, wrong) as Wrong),
  checkAnswers: (wrong) => checkAnswers(wrong),
  textToolCalls: (wrong) => textToolCalls(wrong),
  agentTool: (wrong) => agentTool(agent, given({ description: '' }, wrong)),
  byModel: (wrong) => byModel(given({ model }, wrong)),
  bySimilarity: (wrong) => bySimilarity(given({ embed: noop }, wrong)),
  byWords: (wrong) => byWords(wrong),
  metaTool: (wrong) => metaTool(wrong),
  selectTools: (wrong) => selectTools(wrong),
  Toolkit: (wrong) => new Toolkit([], wrong),
  toolSearch: (wrong) => toolSearch(wrong),
  JsonReader: (wrong) => new JsonReader(wrong),
  placeWith: (wrong) => placeWith(given({ name: 'a:', change: noop }, wrong)),
  boundedModel: (wrong) => boundedModel(model, wrong),
};

/** Functions that create something, and take no arguments. */
const withoutOptions =
  'agentscope answersOnly arcReactor classifyModelErrors directAnswers errorHints ' +
  'injectionPatterns operator parallelIds reactMemory showToolMedia steering ' +
  'successfulTurns';

/** Functions and classes whose first argument is something else than options. */
const checked =
  'perAgent addSecrets adoptRecords allowTools appendKey byCategory ' +
  'changeOwner checkId checkRecords concurrencyLimit contextPolicy contextToken ' +
  'definePreset friendlyErrors joinTools lastTurns listCheckpoints loadState ' +
  'nestedHooks perRun positionHooks provide recentQuestions repairSession ' +
  'returnToCheckpoint saveState storedReplies traceChanges ' +
  'typedTransport withCalibration withStream wrapModel';

/** Functions that read or make data, such as messages, errors, texts and results. */
const data =
  'shortenResults ' +
  'SessionFold SessionStore addToLevels askText changedError damageError ' +
  'deletedError flushesOf fullLevels inOrder isDamage makeRef nextHead parseBatch ' +
  'parseSealed replacedBy seal shortId suffixOf turnIdOf ' +
  'sessionSummaries ' +
  'answerSoFar beginTurn checkDecisionSize ' +
  'checkFirstTurn checkMessageId decisionError eventWith fieldError ' +
  'getToolName hasAnswer isToolUIPart ' +
  ' newMessages pendingCallsOf ' +
  'readChatTurn readMessages readUserMessage reopenCalls resumeTurn runsHere ' +
  'storeTitle storedView withEarlierAnswer ' +
  'AgentError AgentStream Deadline ObjectReader RunDriver SseParser abortable ' +
  'acceptBlock acceptMessage acceptOutput addExtras addUsage addressProblem ' +
  'answerOf answerState argumentsIn assistantMessage backOff ' +
  'callListener checkDecision checkFields checkNewIds ' +
  'checkNoOptions checkNotMoved checkOptions checkWithClientTexts ' +
  'classifyError cleanText clientJsonMode clientTextError ' +
  'closedByMoveId contextSection copyOfSession countMessage countMessages ' +
  'countRequest countTools createMessage currentTurn ' +
  'defaultToolTimeout deniedResult digest documentsText ' +
  'either encodeForKey endedCallsOf endedIdsOf errorOfResponse errorResult ' +
  'errorText estimateTokens eventLogShortener failureText fence fieldsOf ' +
  'friendlyText fromUiDecisions fromUiMessage hasApprovalResponse hasResult ' +
  'imageDetailFields incompleteReason ' +
  'isAnswerReason isCutOff isEnding ' +
  'isMisuse isNewAnswer isNext isQuestion isRecord ' +
  'isToolContent joinValue jsonClientText jsonForm jsonText keepDataParts ' +
  'keyValueStoreConformance latestMessages logMemoryOf logText mapTexts ' +
  'markAsProgram maskParameters maskSecrets maxTokensFieldOf mayAskForApproval ' +
  'mergeKey messageIdOf metadataOf ' +
  'monotonicNow onAbort nestedWraps objectWriterOf omitUndefined ' +
  'objectsIn oneOf openToolUses optional outputItems outputText pairedForModel ' +
  'parametersIssue parseHistory parseJson parseMessages ' +
  'parseToolCalls partialOutput pauseNextCall profileFor ' +
  'providedValue readSchema recordsOf replaceKey replyState ' +
  'reportFailure requestEndpoint resumptionOf retryableOnce runInfo ' +
  'searchTerms sessionViewOf shortQuery sleepFor ' +
  'sourcesOf splitValue startOf startOfTexts syncValue systemMessage ' +
  'textHistory textOf textsOf thinkingOf timerMs titleOf ' +
  'toTimelineEvent todosOf toolMessage toolNameOf toolResultsOf ' +
  'toolUsesOf turnView typedMessages userMessage ' +
  'userText valueFor valueKeys withControls withEndedCalls withExecute ' +
  'withMethod ';

/** The packages whose functions are in the table; the other packages have tables of their own. */
const packages = packageFolders.filter(
  (name) => !['edge', 'openai-api', 'web-worker', 'react', 'inspector'].includes(name),
);
const specifiers = packages.flatMap((folder) => {
  const { name, exports } = readManifest(folder);
  const keys = Object.keys(exports).filter((key) => key !== './package.json');
  return keys.map((key) => `${name}${key.slice(1)}`);
});

test('each function of core and of the packages of features refuses an option that it does not have', async () => {
  const exports: object = {};
  for (const specifier of specifiers) Object.assign(exports, await import(specifier));
  expect(
    await missingRefusals({ exports, calls, withoutOptions, checked, others: { data } }),
  ).toEqual([]);
});

test.each(['web-worker', 'edge'] as const)(
  'unknown-options.test.ts of %s has each entry of the package',
  (name) => {
    const source = readFileSync(
      `${root}/packages/${name}/src/scenarios/unknown-options.test.ts`,
      'utf8',
    );
    const entries = Object.keys(readManifest(name).exports)
      .filter((entry) => entry !== './package.json')
      .map((entry) => (entry === '.' ? './index' : entry));
    expect(entries.length).toBeGreaterThan(2);
    expect(entries.filter((entry) => !source.includes(`'${entry}': {`))).toEqual([]);
  },
);

test.each<[make: () => unknown, message: string]>([
  [() => retry({ attemps: 1 } as Wrong), 'retry() has no option `attemps`. It has: '],
  [() => springAiAlibaba({ paralelToolExecution: true } as Wrong), 'It has: '],
  [() => openai({ model: 'm', baseUrl: 'http://mine/v1' } as Wrong), 'It has: '],
  [() => openai({ model: 'm', APIKEY: 'k' } as Wrong), 'It has: '],
  [() => retry({ attempts: -1 }), 'retry(): attempts must be a number of 0 or more; got -1.'],
  [
    () => new ReActAgent({ name: 'a', model, limits: { iterations: -1 } }),
    'iterations must be a number of 0 or more; got -1.',
  ],
  [
    () => (arcReactor as (options: object) => unknown)({ maxToolCalls: 3 }),
    'arcReactor() takes no options. Set the limits of the agent, such as `limits: { toolCalls: 3 }`.',
  ],
  [
    () => (steering as (options: object) => unknown)({ whenIdle: noop }),
    'steering() takes no options. Set `whenBusy` and `interruptWhenIdle` of the agent.',
  ],
  [
    () => tool({ name: 'not a name!', description: '', input: {} }),
    '"not a name!" is not a tool name.',
  ],
])('%o names what is right', (make, message) => {
  expect(make).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(message) }),
  );
});

test('a spread preset and a part of the same name give one retry, with the attempts of the part', async () => {
  const error = new AgentError('MODEL_SERVER', 'down', { retryable: true });
  const failing = new ScriptedModel([{ error }, { error }, { error }]);
  const use = [...arcReactor(), retry({ attempts: 1 })];
  const one = new ReActAgent({ name: 'a', model: failing, use });
  await expect(one.call('Hi')).rejects.toThrow('down');
  expect(failing.requests).toHaveLength(1);
});
