/// <reference path="./test/provided-context.d.ts" />
import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { chromiumArgs, chromiumPath } from './scripts/chromium.ts';
import { sourceAlias } from './scripts/source-alias.ts';
import { bundledWorkers } from './test/bundled-workers.ts';
import { holdPlugin } from './test/hold-plugin.ts';
import { policyPlugin } from './test/policy-plugin.ts';
import { scriptPagePlugin } from './test/script-page-plugin.ts';

const resolve = { alias: sourceAlias };
const minutes = 60_000;

/** `npm run test:long` sets it: all core tests in every engine, random tests in full. */
const long = process.env['TEST_LONG'] === '1';
const core = 'packages/core/src/**/*.test.ts';
/**
 * Core tests whose result depends on the JavaScript engine run in all of them; CONTRIBUTING.md
 * tells which.
 */
const coreInEngines = long ? core : 'packages/core/src/**/*.engine.test.ts';

/** Tests of core that need a module system of their own, so they run in Node even in long mode. */
const nodeOnly = 'packages/core/src/**/*.node.test.ts';

/** End-to-end tests of `npm run test:long` only; CONTRIBUTING.md tells why. */
const longOnly = [
  'test/e2e/templates.test.ts',
  'test/e2e/readme-install.test.ts',
  'test/e2e/tabs.test.ts',
];
/** What the inspector derives from events and logs needs no page. */
const inspectorInNode = 'packages/web-worker/src/inspector/{steps,replay}/*.test.ts';
const leaks = 'packages/web-worker/src/worker/leaks.test.ts';

export default defineConfig({
  logLevel: 'error',
  test: {
    globalSetup: ['test/provider-server/vitest-setup.ts', 'test/mcp-server/vitest-setup.ts'],
    // Time limits only detect a hang: on a busy machine, everything may take much longer.
    testTimeout: (long ? 20 : 4) * minutes,
    hookTimeout: 4 * minutes,
    teardownTimeout: 2 * minutes,
    expect: { poll: { timeout: 2 * minutes, interval: 10 } },
    // By default Vitest leaves one CPU to its main process, which is mostly idle.
    maxWorkers: '100%',
    // Files share workers and pages, because starting one takes longer than most files.
    isolate: false,
    restoreMocks: true,
    unstubGlobals: true,
    provide: { long },
    projects: [
      {
        extends: true,
        resolve,
        test: {
          name: 'node',
          environment: 'node',
          include: [core, 'test/**/*.test.ts', inspectorInNode],
          exclude: ['test/e2e/**'],
        },
      },
      {
        extends: true,
        resolve,
        plugins: [
          cloudflareTest({
            wrangler: { configPath: './test/workerd/wrangler.toml' },
            remoteBindings: false,
          }),
        ],
        test: {
          name: 'workerd',
          include: [coreInEngines, 'packages/edge/src/**/*.test.ts'],
          exclude: [nodeOnly],
          setupFiles: ['packages/edge/test-support/reset-storage.ts'],
        },
      },
      browserProject({
        name: 'browser',
        include: [coreInEngines, 'packages/web-worker/src/**/*.test.ts'],
        exclude: [leaks, nodeOnly, inspectorInNode],
      }),
      // It counts objects of its page. In a page that other files share, its counts missed new
      // ports.
      browserProject({ name: 'leaks', include: [leaks] }),
      {
        extends: true,
        resolve,
        test: {
          name: 'e2e',
          environment: 'node',
          include: ['test/e2e/**/*.test.ts'],
          exclude: long ? [] : longOnly,
          globalSetup: ['test/e2e/vitest-setup.ts'],
          // More than cores: its files mostly wait for pages and servers.
          maxWorkers: 3,
          // Each look makes a page compute its layout.
          expect: { poll: { timeout: 2 * minutes, interval: 100 } },
        },
      },
    ],
  },
});

interface BrowserProject {
  readonly name: string;
  readonly include: string[];
  readonly exclude?: string[];
}

function browserProject({
  name,
  include,
  exclude = [],
}: BrowserProject): TestProjectInlineConfiguration {
  return {
    extends: true,
    resolve,
    plugins: [policyPlugin(), holdPlugin(), scriptPagePlugin(), bundledWorkers()],
    optimizeDeps: {
      include: [
        'comlink',
        'idb-keyval',
        'zod',
        'ai',
        '@ai-sdk/anthropic',
        '@ai-sdk/google',
        '@ai-sdk/openai',
        '@ai-sdk/react',
        '@assistant-ui/react',
        '@assistant-ui/react-ai-sdk',
        'react',
        'react-dom/client',
        'react-dom/server.browser',
        'eventsource-parser',
        'minisearch',
        'yaml',
        '@cfworker/json-schema',
        '@modelcontextprotocol/client',
        '@modelcontextprotocol/client/validators/cf-worker',
        // A dependency that Vite finds during the run reloads the page, and all tests in it.
        ...(long ? ['@opentelemetry/api', '@opentelemetry/sdk-trace-base'] : []),
      ],
    },
    test: {
      name,
      include,
      exclude,
      browser: {
        enabled: true,
        headless: true,
        screenshotFailures: false,
        connectTimeout: 4 * minutes,
        provider: playwright({
          launchOptions: {
            executablePath: chromiumPath(),
            args: chromiumArgs,
            timeout: 4 * minutes,
          },
        }),
        instances: [{ browser: 'chromium' }],
      },
    },
  };
}
