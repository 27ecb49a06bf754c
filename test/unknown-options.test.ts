import { expect, test } from 'vitest';
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
import {
  answerAtLimit,
  answerFromObservations,
  summarize,
  summaryFallback,
} from '@isoloop/core/answer';
import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import {
  clearToolResults,
  fitContext,
  markImported,
  summarizeHistory,
} from '@isoloop/core/context';
import { userErrorText } from '@isoloop/core/error';
import { EchoMemory, attach, endpointPlace, moveSession, storePlace } from '@isoloop/core/host';
import { Semaphore, modelRequestLimit, runLimits, toolCallLimit } from '@isoloop/core/limits';
import { attachment } from '@isoloop/core/message';
import { multiAgent } from '@isoloop/core/model';
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
import { createUiMessageEncoder, toUiMessages, textStream } from '@isoloop/core/stream';
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
  oxygentHistory,
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
import { packageFolders, readManifest } from '../scripts/packages.ts';
import { httpProviders } from './support/providers.ts';

// The options have a type that fits each function.
type Wrong = never;

const model = new ScriptedModel([]);
const store = new MemoryStore();
const agent = new ReActAgent({ name: 'a', model });
const given = (more: object, wrong: Wrong): Wrong => ({ ...more, ...(wrong as object) }) as Wrong;
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
  EchoMemory: (wrong) => new EchoMemory(store, 's', wrong),
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
  answerFromObservations: (wrong) => answerFromObservations(wrong),
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
  oxygent: (wrong) => oxygent(wrong),
  oxygentHistory: (wrong) => oxygentHistory(wrong),
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
};

/** All functions and classes without options, separated by blanks. */
const others =
  'abortable addExtras answerOf backOff blockFilter callListener checkWithClientTexts ' +
  'cleanText clientTextsOf contextSection currentTurn Deadline defaultToolTimeout ' +
  'encodeForKey fence fieldOf fieldsOf friendlyText groupOf invalidInput isAnswerReason ' +
  'isFromProgram isText lengthOfTexts mapTexts markAsProgram mediaKind misconfigured ' +
  'objectInput omitUndefined openToolUses pairedForModel parametersIssue parseJson ' +
  'percentDecode pickFields providedValue reportFailure requestMeter searchTerms ' +
  'shortQuery shortenText isMisuse withControls startOf startOfTexts stepsStart syncValue ' +
  'textHistory textIn textWithUrls textsOf toolNameOf toolOf toolUseIn trimRequest ' +
  'turnView userText valueKeys wellFormed withoutMark ' +
  'AgentError AgentStream BatchCache EchoSigner JsonReader ObjectReader RunDriver ' +
  'SseParser acceptBlock acceptMessage acceptOutput addSecrets addUsage addressProblem ' +
  'adoptRecords agentscope allowTools answerEnding answersOnly appendKey arcReactor ' +
  'argumentsIn assistantMessage boundedModel brokenRules byCategory changeBranchOwner ' +
  'changeOwner checkDecision checkFields checkId checkNewIds checkNotMoved checkOptions ' +
  'checkRecords classifyError classifyModelErrors clientJsonMode clientTextError ' +
  'closedByMoveId concurrencyLimit contextPolicy contextToken copyOfSession countMessage ' +
  'countMessages countRequest countTools createMessage decideForMessage definePreset ' +
  'deniedChunks deniedResult digest directAnswers documentsText editProblem endedCallsOf ' +
  'endedIdsOf errorHints errorOfResponse errorResult errorText estimateTokens ' +
  'eventLogShortener failureText friendlyErrors fromUiDecisions fromUiMessage ' +
  'hasApprovalResponse hasResult hasTypedParts hostedToolOf imageDetailFields ' +
  'incompleteReason injectionPatterns isCallId isCorrection isCutOff isEnding isError ' +
  'isNewAnswer isNext isObjectOrArray isQuestion isRecord isToolContent joinTools ' +
  'joinValue jsonClientText jsonForm jsonText keepDataParts keyValueStoreConformance ' +
  'lastTurns latestMessages listCheckpoints loadState logText maskParameters maskSecrets ' +
  'maxTokensFieldOf mayAskForApproval mergeKey messageIdOf messagesBefore messagesOf ' +
  'metadataOf monotonicNow nestedHooks nestedWraps objectWriterOf operator outputItems ' +
  'outputText parallelIds parseErrorText parseHistory parseMessages parseOxygent ' +
  'parseToolCalls partialOutput pauseNextCall perRun placeWith positionHooks profileFor ' +
  'provide reactMemory readSchema recentQuestions recordsOf refuseEmptyAnswers ' +
  'repairSession replaceKey replyEnding requestEndpoint resumptionOf retryableOnce ' +
  'returnToCheckpoint runInfo saveState sessionSummaries sessionViewOf ' +
  'showToolMedia sleepFor sourcesOf splitValue steering storedReplies successfulTurns ' +
  'systemMessage textOf thinkingOf timerMs titleOf toTimelineEvent toTypedChunk todosOf ' +
  'toolMessage toolResultsOf toolUsesOf traceChanges trustedCalls typedMessages ' +
  'typedTransport userMessage valueFor withCalibration withEndedCalls withExecute ' +
  'withStream wrapModel ';

/** The packages whose functions are in the table; `edge` and `web-worker` have tables of their own. */
const packages = packageFolders.filter(
  (name) => !['edge', 'web-worker', 'inspector'].includes(name),
);
const specifiers = packages.flatMap((folder) => {
  const { name, exports } = readManifest(folder);
  const keys = Object.keys(exports).filter((key) => key !== './package.json');
  return keys.map((key) => `${name}${key.slice(1)}`);
});

test('each function with options refuses an unknown name', async () => {
  const functions = new Set<string>();
  for (const specifier of specifiers) {
    const exports = (await import(specifier)) as object;
    for (const [name, value] of Object.entries(exports)) {
      if (typeof value === 'function') functions.add(name);
    }
  }
  const listed = [...Object.keys(calls), ...others.split(' ').filter(Boolean)];
  expect([...functions].toSorted()).toEqual(listed.toSorted());
  for (const [name, call] of Object.entries(calls)) {
    const make = async (): Promise<unknown> => call({ misspelled: 1 } as Wrong);
    await expect(make(), name).rejects.toThrow(/ has no option `misspelled`\. /);
  }
});

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
