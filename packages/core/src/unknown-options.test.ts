import { expect, test } from 'vitest';
import * as ai from './ai-sdk.ts';
import * as adapter from './adapter.ts';
import * as context from './context.ts';
import { httpProviders } from '../test-support/providers.ts';
import * as guards from './guards.ts';
import * as core from './index.ts';
import * as jsonSchemas from './json-schema.ts';
import * as kernel from './kernel.ts';
import * as mcp from './mcp.ts';
import * as search from './memory-search.ts';
import * as middleware from './middleware.ts';
import * as observe from './observe.ts';
import * as telemetry from './open-telemetry.ts';
import * as openais from './openai.ts';
import * as outputs from './output.ts';
import * as presets from './presets.ts';
import * as prompts from './prompt.ts';
import * as recalls from './recall.ts';
import * as states from './state.ts';
import * as streams from './stream.ts';
import * as testing from './testing.ts';
import * as protocols from './text-protocol.ts';
import * as tokens from './tokens.ts';
import * as tools from './tools.ts';
import * as unstorages from './unstorage.ts';

// The options have a type that fits each function.
type Wrong = never;

interface Entry {
  readonly exports: object;
  /** Calls of all functions with options. Each call adds the options to those it needs. */
  readonly calls?: Readonly<Record<string, (wrong: Wrong) => unknown>>;
  /** All functions and classes without options, separated by blanks. */
  readonly others?: string;
}

const model = new testing.ScriptedModel([]);
const store = new core.MemoryStore();
const agent = new core.ReActAgent({ name: 'a', model });
const given = (more: object, wrong: Wrong): Wrong => ({ ...more, ...(wrong as object) }) as Wrong;
const noop = (): void => {};

/** The entries of models over HTTP. */
const providers: Readonly<Record<string, Entry>> = Object.fromEntries(
  httpProviders.map(({ entry, exports }): [string, Entry] => {
    const rows = httpProviders.filter((row) => row.entry === entry);
    const calls = rows.map(({ name, model: make }): [string, (wrong: Wrong) => unknown] => [
      name,
      (wrong) => make(given({ model: 'm' }, wrong)),
    ]);
    return [entry, { exports, calls: Object.fromEntries(calls) }];
  }),
);

const entries: Readonly<Record<string, Entry>> = {
  ...providers,
  './index': {
    exports: core,
    calls: {
      ReActAgent: (wrong) => new core.ReActAgent(given({ name: 'a', model }, wrong)),
      tool: (wrong) => core.tool(given({ name: 'a', description: '', input: {} }, wrong)),
      InMemoryMemory: (wrong) => new core.InMemoryMemory([], wrong),
      MemoryStore: (wrong) => new core.MemoryStore(wrong),
      SessionMemory: (wrong) => new core.SessionMemory(store, 's', wrong),
      listSessions: (wrong) => core.listSessions(store, wrong),
    },
    // An error must not throw another error. Messages also take the context of a hook as options.
    others:
      'AgentError AgentStream errorText outputText textOf toolResultsOf toolUsesOf ' +
      'assistantMessage createMessage systemMessage toolMessage userMessage',
  },
  './adapter': {
    exports: adapter,
    calls: {
      attach: (wrong) => adapter.attach(agent, wrong),
      EchoMemory: (wrong) => new adapter.EchoMemory(store, 's', wrong),
      endpointPlace: (wrong) => adapter.endpointPlace('https://a.test/api/chat', wrong),
      moveSession: (wrong) => adapter.moveSession('s', wrong),
      storePlace: (wrong) => adapter.storePlace(given({ name: 'a:', store }, wrong)),
    },
    others:
      'acceptBlock acceptMessage acceptOutput addressProblem isCallId isRecord isToolContent BatchCache ObjectReader objectWriterOf failureText readSchema RunDriver ' +
      'adoptRecords checkRecords SseParser addUsage argumentsIn EchoSigner changeBranchOwner changeOwner checkDecision checkFields checkNotMoved checkOptions ' +
      'copyOfSession decideForMessage deniedChunks digest answerEnding errorOfResponse hostedToolOf imageDetailFields incompleteReason isCorrection isCutOff isError ' +
      'isQuestion isObjectOrArray jsonClientText jsonForm jsonText clientJsonMode eventLogShortener mayAskForApproval closedByMoveId editProblem endedCallsOf ' +
      'endedIdsOf withEndedCalls maxTokensFieldOf messageIdOf monotonicNow messagesBefore messagesOf metadataOf parseHistory parseMessages placeWith ' +
      'replyEnding recordsOf resumptionOf retryableOnce showFailuresAs sleepFor sourcesOf thinkingOf timerMs titleOf toTypedChunk clientTextError sessionViewOf ' +
      'hasTypedParts joinValue splitValue requestEndpoint valueFor JsonReader checkId',
  },
  './ai-sdk': {
    exports: ai,
    calls: {
      fromAiSdk: (wrong) => ai.fromAiSdk({ specificationVersion: 'v4' } as Wrong, wrong),
      createUiMessageEncoder: (wrong) => ai.createUiMessageEncoder(wrong),
      toUiMessages: (wrong) => ai.toUiMessages([], wrong),
    },
    others:
      'fromUiDecisions fromUiMessage hasApprovalResponse keepDataParts latestMessages parseErrorText ' +
      'toTimelineEvent typedMessages typedTransport',
  },
  './context': {
    exports: context,
    calls: {
      clearToolResults: (wrong) => context.clearToolResults(wrong),
      fitContext: (wrong) => context.fitContext(wrong),
      markImported: (wrong) => context.markImported(wrong),
      summarizeHistory: (wrong) => context.summarizeHistory(wrong),
      weightedHistory: (wrong) => context.weightedHistory(wrong),
    },
    others: 'answersOnly contextPolicy lastTurns sessionSummaries successfulTurns',
  },
  './guards': {
    exports: guards,
    calls: {
      inMemoryCounters: (wrong) => guards.inMemoryCounters(wrong),
      storedCounters: (wrong) => guards.storedCounters(store, wrong),
      injectionGuard: (wrong) => guards.injectionGuard(wrong),
      inputGuard: (wrong) => guards.inputGuard('g', (input) => input, wrong),
      lengthGuard: (wrong) => guards.lengthGuard(wrong),
      classifierGuard: (wrong) => guards.classifierGuard(() => 'ok' as Wrong, wrong),
      permissionGuard: (wrong) => guards.permissionGuard(() => true, wrong),
      rateLimit: (wrong) => guards.rateLimit(wrong),
      spendCap: (wrong) => guards.spendCap(given({ limit: 1 }, wrong)),
      outputGuards: (wrong) => guards.outputGuards([], wrong),
      lengthRule: (wrong) => guards.lengthRule(wrong),
      regexRule: (wrong) => guards.regexRule(given({ pattern: /x/ }, wrong)),
      piiRule: (wrong) => guards.piiRule(wrong),
      piiGuard: (wrong) => guards.piiGuard(wrong),
    },
    others: 'injectionPatterns',
  },
  './json-schema': {
    exports: jsonSchemas,
    calls: { jsonSchema: (wrong) => jsonSchemas.jsonSchema({}, wrong) },
  },
  './kernel': {
    exports: kernel,
    calls: { Agent: (wrong) => new kernel.Agent(given({ name: 'a', model }, wrong)) },
  },
  './mcp': {
    exports: mcp,
    calls: {
      mcpTools: (wrong) => mcp.mcpTools(given({ url: 'https://mcp.test' }, wrong)),
    },
  },
  './memory-search': {
    exports: search,
    calls: {
      keywordMemory: (wrong) => search.keywordMemory(given({ store }, wrong)),
      keywordRetriever: (wrong) => search.keywordRetriever([], wrong),
      chunkText: (wrong) => search.chunkText('', wrong),
    },
  },
  './middleware': {
    exports: middleware,
    calls: {
      answerFromObservations: (wrong) => middleware.answerFromObservations(wrong),
      approvals: (wrong) => middleware.approvals(wrong),
      circuitBreaker: (wrong) => middleware.circuitBreaker(wrong),
      userErrorText: (wrong) => middleware.userErrorText(new Error('x'), wrong),
      evictLargeResults: (wrong) => middleware.evictLargeResults(given({ store }, wrong)),
      fallback: (wrong) => middleware.fallback([model], wrong),
      handOff: (wrong) =>
        middleware.handOff(
          given({ to: [{ name: 'b', description: '', systemPrompt: '' }] }, wrong),
        ),
      inMemoryReplies: (wrong) => middleware.inMemoryReplies(wrong),
      modelRequestLimit: (wrong) => middleware.modelRequestLimit(given({ run: 1 }, wrong)),
      modelTimeout: (wrong) => middleware.modelTimeout(given({ totalMs: 1 }, wrong)),
      operatorMessage: (wrong) => middleware.operatorMessage('', given({ name: 'Ann' }, wrong)),
      closeOpenCalls: (wrong) => middleware.closeOpenCalls(wrong),
      summarize: (wrong) => middleware.summarize(wrong),
      replyCache: (wrong) => middleware.replyCache(wrong),
      retry: (wrong) => middleware.retry(wrong),
      runLimits: (wrong) => middleware.runLimits(wrong),
      reuseResults: (wrong) => middleware.reuseResults(wrong),
      Semaphore: (wrong) => new middleware.Semaphore(1, wrong),
      summaryFallback: (wrong) => middleware.summaryFallback(wrong),
      answerAtLimit: (wrong) => middleware.answerAtLimit(wrong),
      todoList: (wrong) => middleware.todoList(wrong),
      toolCallLimit: (wrong) => middleware.toolCallLimit(given({ tool: 'a', run: 1 }, wrong)),
      emulateTools: (wrong) => middleware.emulateTools(given({ model }, wrong)),
      rewordToolErrors: (wrong) => middleware.rewordToolErrors(wrong),
      toolRetry: (wrong) => middleware.toolRetry(wrong),
    },
    others:
      'steering allowTools checkNewIds classifyError concurrencyLimit deniedResult directAnswers pauseNextCall ' +
      'errorHints errorResult ' +
      'isEnding isNewAnswer isNext hasResult classifyModelErrors nestedHooks ' +
      'nestedWraps operator ' +
      'boundedModel perRun runInfo definePreset todosOf showToolMedia storedReplies withExecute withStream wrapModel',
  },
  './observe': {
    exports: observe,
    calls: {
      jsonlTrace: (wrong) => observe.jsonlTrace(new WritableStream(), wrong),
      metrics: (wrong) => observe.metrics({}, wrong),
    },
    others: 'addSecrets traceChanges logText maskParameters maskSecrets',
  },
  './open-telemetry': {
    exports: telemetry,
    calls: { openTelemetry: (wrong) => telemetry.openTelemetry(given({ api: {} }, wrong)) },
  },
  './output': {
    exports: outputs,
    calls: {
      jsonMode: (wrong) => outputs.jsonMode({}, wrong),
      structured: (wrong) => outputs.structured({}, wrong),
      yamlMode: (wrong) => outputs.yamlMode({}, given({ parse: noop }, wrong)),
    },
    others: 'outputItems partialOutput',
  },
  './presets': {
    exports: presets,
    calls: {
      arcReactorTrim: (wrong) => presets.arcReactorTrim(wrong),
      oxygent: (wrong) => presets.oxygent(wrong),
      oxygentHistory: (wrong) => presets.oxygentHistory(wrong),
      springAiAlibaba: (wrong) => presets.springAiAlibaba(wrong),
    },
    others: 'agentscope arcReactor friendlyErrors parallelIds positionHooks reactMemory',
  },
  './prompt': {
    exports: prompts,
    calls: {
      attachment: (wrong) => prompts.attachment(new Uint8Array(1), wrong),
      multiAgent: (wrong) => prompts.multiAgent(model, wrong),
      promptVariables: (wrong) => prompts.promptVariables(wrong),
      renderTemplate: (wrong) => prompts.renderTemplate('', {}, wrong),
      systemPrompt: (wrong) => prompts.systemPrompt(given({ base: '' }, wrong)),
    },
    others: 'documentsText',
  },
  './recall': {
    exports: recalls,
    calls: {
      keywordRerank: (wrong) => recalls.keywordRerank(wrong),
      longTermMemory: (wrong) => recalls.longTermMemory(wrong),
      mmrRerank: (wrong) => recalls.mmrRerank(wrong),
      retrieval: (wrong) => recalls.retrieval(given({ retriever: { retrieve: noop } }, wrong)),
    },
    others: 'recentQuestions',
  },
  './state': {
    exports: states,
    calls: { stateKeys: (wrong) => states.stateKeys({}, wrong) },
    others:
      'appendKey listCheckpoints loadState mergeKey repairSession replaceKey returnToCheckpoint saveState',
  },
  './stream': {
    exports: streams,
    calls: { textStream: (wrong) => streams.textStream(agent.stream('Hi'), wrong) },
  },
  './testing': {
    exports: testing,
    calls: {
      ScriptedModel: (wrong) => new testing.ScriptedModel([], wrong),
      memoryConformance: (wrong) =>
        testing.memoryConformance({} as Wrong, '', noop as Wrong, wrong),
      modelConformance: (wrong) =>
        testing.modelConformance({} as Wrong, '', given({ modelWith: noop }, wrong) as Wrong),
    },
    others: 'brokenRules keyValueStoreConformance',
  },
  './text-protocol': {
    exports: protocols,
    calls: {
      checkAnswers: (wrong) => protocols.checkAnswers(wrong),
      textToolCalls: (wrong) => protocols.textToolCalls(wrong),
    },
    others: 'parseOxygent parseToolCalls refuseEmptyAnswers trustedCalls',
  },
  './tokens': {
    exports: tokens,
    calls: { TokenCalibration: (wrong) => new tokens.TokenCalibration(wrong) },
    others:
      'withCalibration countMessage countMessages countRequest countTools estimateTokens profileFor',
  },
  './tools': {
    exports: tools,
    calls: {
      agentTool: (wrong) => tools.agentTool(agent, given({ description: '' }, wrong)),
      byModel: (wrong) => tools.byModel(given({ model }, wrong)),
      bySimilarity: (wrong) => tools.bySimilarity(given({ embed: noop }, wrong)),
      byWords: (wrong) => tools.byWords(wrong),
      metaTool: (wrong) => tools.metaTool(wrong),
      selectTools: (wrong) => tools.selectTools(wrong),
      Toolkit: (wrong) => new tools.Toolkit([], wrong),
      toolSearch: (wrong) => tools.toolSearch(wrong),
    },
    others: 'byCategory contextToken joinTools provide',
  },
  './unstorage': {
    exports: unstorages,
    calls: {
      unstorageStore: (wrong) =>
        unstorages.unstorageStore(
          { getItem: noop, getKeys: noop, setItem: noop, removeItem: noop, hasItem: noop } as Wrong,
          wrong,
        ),
    },
  },
};

test.each(Object.entries(entries))(
  'each function of %s with options refuses an unknown name',
  async (_name, { exports, calls = {}, others = '' }) => {
    const functions = Object.entries(exports).flatMap(([name, value]) =>
      typeof value === 'function' ? [name] : [],
    );
    const listed = [...Object.keys(calls), ...others.split(' ').filter(Boolean)];
    expect(functions.toSorted()).toEqual(listed.toSorted());
    for (const [name, call] of Object.entries(calls)) {
      const make = async () => call({ misspelled: 1 } as Wrong);
      await expect(make(), name).rejects.toThrow(/ has no option `misspelled`\. /);
    }
  },
);

test('each file beside this test is an entry of the table', () => {
  const files = Object.keys(import.meta.glob(['./*.ts', '!./*.test.ts']));
  const names = files.map((file) => file.slice(0, -'.ts'.length));
  expect(Object.keys(entries).toSorted()).toEqual(names.toSorted());
});

test('each name, also of a type, is exported from one entry only', () => {
  const sources = import.meta.glob<string>(['./*.ts', '!./*.test.ts'], {
    query: '?raw',
    eager: true,
    import: 'default',
  });
  const names = Object.values(sources).flatMap((source) =>
    [...source.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) =>
      list.split(',').flatMap((name) => name.trim().split(' ').at(-1) || []),
    ),
  );
  expect(names.length).toBeGreaterThan(300);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test.each<[make: () => unknown, message: string]>([
  [() => middleware.retry({ attemps: 1 } as Wrong), 'retry() has no option `attemps`. It has: '],
  [() => presets.springAiAlibaba({ paralelToolExecution: true } as Wrong), 'It has: '],
  [() => openais.openai({ model: 'm', baseUrl: 'http://mine/v1' } as Wrong), 'It has: '],
  [() => openais.openai({ model: 'm', APIKEY: 'k' } as Wrong), 'It has: '],
  [
    () => middleware.retry({ attempts: -1 }),
    'retry(): attempts must be a number of 0 or more; got -1.',
  ],
  [
    () => new core.ReActAgent({ name: 'a', model, limits: { iterations: -1 } }),
    'iterations must be a number of 0 or more; got -1.',
  ],
  [
    () => core.tool({ name: 'not a name!', description: '', input: {} }),
    '"not a name!" is not a tool name.',
  ],
])('%o names what is right', (make, message) => {
  expect(make).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(message) }),
  );
});

test('a spread preset and a part of the same name give one retry, with the attempts of the part', async () => {
  const error = new core.AgentError('MODEL_SERVER', 'down', { retryable: true });
  const failing = new testing.ScriptedModel([{ error }, { error }, { error }]);
  const use = [...presets.arcReactor(), middleware.retry({ attempts: 1 })];
  const one = new core.ReActAgent({ name: 'a', model: failing, use });
  await expect(one.call('Hi')).rejects.toThrow('down');
  expect(failing.requests).toHaveLength(1);
});
