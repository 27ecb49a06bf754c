import { findFiles } from '../find-files.ts';

/** A Vitest project of `vitest.config.ts`. */
export type TestProjectName = 'node' | 'workerd' | 'browser' | 'leaks' | 'e2e';

/**
 * `quick` is `npm test`. `rest` is `npm run test:all`, which runs what `quick` leaves out. `long`
 * is `npm run test:long`, which runs everything.
 */
export type Suite = 'quick' | 'rest' | 'long';

/**
 * The suite whose files run. `chosen`: no suite, because someone chose steps or files, or started
 * Vitest alone. No file is then left out.
 */
export const testSuite: Suite | 'chosen' = (process.env['TEST_SUITE'] ?? 'chosen') as
  | Suite
  | 'chosen';

interface ProjectFiles {
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  /** Patterns of the files that `npm test` runs. Absent: none. */
  readonly quick?: readonly string[];
  /** Files that match `quick` and cost too much for `npm test`. */
  readonly costly?: readonly string[];
}

const core = 'packages/core/src/**/*.test.ts';
/** Packages of features, and scenarios that cross folders: tests that need no certain engine. */
const features = [
  'packages/{guards,presets,recall,mcp}/src/**/*.test.ts',
  'test/scenarios/**/*.test.ts',
];
/** Shows that the setup file of a project watches what tests leave behind. */
const leftBehindIsActive = 'test/left-behind/active.engine.test.ts';
/** Shows that the setup file of a project checks the requests of its tests. */
const requestsAreChecked = 'test/sent-requests/active.engine.test.ts';
/** Core tests whose result depends on the JavaScript engine run in all of them. */
const inEngines = [
  ...(testSuite === 'long'
    ? [core, ...features]
    : [
        'packages/{core,guards,presets,recall,mcp}/src/**/*.engine.test.ts',
        'test/scenarios/**/*.engine.test.ts',
      ]),
  'test/clock/fake-clock.engine.test.ts',
  leftBehindIsActive,
  requestsAreChecked,
];
/** Tests of core that use Node's API or mock a module run in Node, even in long mode. */
const nodeOnly = '{packages/{core,guards,presets,recall,mcp}/src,test/scenarios}/**/*.node.test.ts';
/** What the inspector derives from events and logs needs no page. */
const inspectorInNode = 'packages/inspector/src/{steps,replay}/*.test.ts';
const leaks = 'packages/web-worker/src/scenarios/leaks.test.ts';
/** End-to-end tests of `npm run test:long` only; docs/contributing/tests.md tells why. */
const longOnly = [
  'test/e2e/templates.test.ts',
  'test/e2e/readme-install.test.ts',
  'test/e2e/tabs.test.ts',
];

const projects: Readonly<Record<TestProjectName, ProjectFiles>> = {
  node: {
    include: [core, ...features, 'test/**/*.test.ts', inspectorInNode],
    exclude: [
      'test/e2e/**',
      'test/left-behind/{page,workerd}.test.ts',
      'test/sent-requests/page.test.ts',
    ],
    // Core in one engine, the examples of the docs, the promises of the reference documents, what
    // differs on macOS and Windows.
    quick: [
      core,
      ...features,
      inspectorInNode,
      'test/{examples,documents,model-conformance,provider-errors}/**/*.test.ts',
      'test/hosts/{changed-model,objects-at-edge,edge-any-host,reloaded-module,server-rendering}.test.ts',
      'test/exports/sends-data.test.ts',
      'test/repository/{create-project,platforms,test-runner,workflows}.test.ts',
    ],
    // Failures at every step, random damage, patterns over long texts, real waits.
    costly: [
      'test/scenarios/{together/unused-cost.node,resume/recovery-matrix}.test.ts',
      'packages/core/src/memory/scenarios/{damage-fuzz,killed-hosts}.test.ts',
      'packages/guards/src/pii/{pii-rule.node,scenarios/pii-stream,scenarios/written-around}.test.ts',
      'packages/core/src/model/responses/background.test.ts',
    ],
  },
  workerd: {
    include: [
      ...inEngines,
      'packages/{edge,openai-api}/src/**/*.test.ts',
      'test/left-behind/workerd.test.ts',
    ],
    exclude: [nodeOnly],
    // One endpoint with each kind of session, one object that is killed and resumes, real clients.
    quick: [
      'packages/core/src/scenarios/entries.engine.test.ts',
      'test/scenarios/{calls/react-agent,endings/timer-yield}.engine.test.ts',
      'packages/edge/src/handler/agent-handler.test.ts',
      'packages/edge/src/routes/chat-route-{forged-history,use-chat}.test.ts',
      'packages/edge/src/routes/{chat-route,messages-route,run-route,chats-route,interrupt-route,stream-route}.test.ts',
      'packages/openai-api/src/routes/{completions-route,responses-route}.test.ts',
      'packages/edge/src/durable/durable-object.test.ts',
      'packages/edge/src/session/{begin-session-turn,answer-in-request-approvals}.test.ts',
      'packages/edge/src/move/imported-records.test.ts',
      'packages/edge/src/durable/durable-store.test.ts',
      'packages/edge/src/http/stream-response.test.ts',
      'packages/edge/src/http/{access,bearer-token,cross-origin,endpoint,with-rate-limit}.test.ts',
      'packages/edge/src/jwt/jwt.test.ts',
      'packages/openai-api/src/request/field-table.test.ts',
      'packages/openai-api/src/scenarios/{real-clients,client-words}.test.ts',
    ],
  },
  browser: {
    include: [
      ...inEngines,
      'packages/{web-worker,react,inspector}/src/**/*.test.ts',
      'test/left-behind/page.test.ts',
      'test/sent-requests/page.test.ts',
    ],
    exclude: [leaks, nodeOnly, inspectorInNode],
    // One agent in a worker, its store, `useChat` and the hook, tabs that share a run.
    quick: [
      'packages/core/src/scenarios/entries.engine.test.ts',
      'test/scenarios/{calls/react-agent,endings/timer-yield}.engine.test.ts',
      'packages/web-worker/src/page/{connect-agent,remote-agent,worker-link,follow-agent}.test.ts',
      'packages/react/src/scenarios/{deleted-chat,previous-user}.test.ts',
      'packages/react/src/hooks/{use-agent-chat,use-agent-chat-tabs}.test.ts',
      'packages/react/src/shared/shared-answers.test.ts',
      'packages/web-worker/src/{worker/expose-agent,store/indexed-db-*}.test.ts',
      'packages/web-worker/src/scenarios/{use-chat,page-life,tabs-chat,tabs-use-chat}.test.ts',
      'packages/web-worker/src/scenarios/{forged-claims,shared-worker,hand-off}.test.ts',
    ],
  },
  leaks: { include: [leaks] },
  e2e: {
    include: ['test/e2e/**/*.test.ts', leftBehindIsActive, requestsAreChecked],
    exclude: testSuite === 'long' ? [] : longOnly,
  },
};

/** Returns the patterns of the files that a project runs. */
export function filesOf(name: TestProjectName): { include: string[]; exclude: string[] } {
  const { include, exclude = [] } = projects[name];
  if (testSuite === 'quick') return { include: [...quickFiles(name)], exclude: [...exclude] };
  const isRest = testSuite === 'rest';
  return { include: [...include], exclude: [...exclude, ...(isRest ? quickFiles(name) : [])] };
}

/** Returns the files that `npm test` runs in a project. Throws for a name without a file. */
export function quickFiles(name: TestProjectName): readonly string[] {
  const { quick = [], costly = [], exclude = [] } = projects[name];
  const names = [...quick, ...costly].flatMap(namesIn);
  const unused = names.filter((pattern) => findFiles(pattern).length === 0);
  if (unused.length > 0) throw new Error(`No test file matches ${unused.join(', ')}.`);
  const leftOut = new Set(findFiles([...costly, ...exclude]));
  return findFiles(quick).filter((file) => !leftOut.has(file));
}

/** Returns the patterns of single names: `{a,b}.ts` becomes `a.ts` and `b.ts`. */
function namesIn(pattern: string): readonly string[] {
  const [group, names] = /\{([^{}]*)\}/.exec(pattern) ?? [];
  if (!group || names === undefined) return [pattern];
  return names.split(',').flatMap((name) => namesIn(pattern.replace(group, name)));
}
