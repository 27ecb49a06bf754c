/// <reference path="./test/provided-context.d.ts" />
import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { chromiumArgs, chromiumPath } from './scripts/chromium.ts';
import { root } from './scripts/root.ts';
import { sourceAlias } from './scripts/source-alias.ts';
import { bundledWorkers } from './test/bundled-workers.ts';
import { filesOf, testSuite } from './scripts/test/suite-files.ts';
import { holdPlugin } from './test/hold-plugin.ts';
import { policyPlugin } from './test/policy-plugin.ts';
import { scriptPagePlugin } from './test/script-page-plugin.ts';
import { sentRequestsPlugin } from './test/sent-requests/plugin.ts';

/** With `@test/`, tests of all packages import from `test`. */
const testAlias = { find: /^@test\//, replacement: `${root}/test/` };
const resolve = { alias: [...sourceAlias, testAlias] };
const minutes = 60_000;

const long = testSuite === 'long';
/**
 * Setup file that makes a test fail if it mixes fake and real time. It comes last, because its guards
 * wrap the functions of `left-behind`.
 */
const clockSetup = 'test/clock/setup.ts';
/** Setup file that makes a test fail if it sends a request which its provider refuses. */
const requestsSetup = 'test/sent-requests/setup.ts';

export default defineConfig({
  logLevel: 'error',
  plugins: [sentRequestsPlugin()],
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
    // Time that the check of `left-behind` waits for an end. The limit only detects a hang.
    provide: { long, leftBehindLimitMs: 30_000 },
    projects: [
      {
        extends: true,
        resolve,
        test: {
          name: 'node',
          environment: 'node',
          ...filesOf('node'),
          setupFiles: ['test/left-behind/setup-node.ts', clockSetup, requestsSetup],
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
          ...filesOf('workerd'),
          setupFiles: [
            'test/left-behind/setup-workerd.ts',
            clockSetup,
            requestsSetup,
            'packages/edge/test-support/reset-storage.ts',
          ],
        },
      },
      browserProject('browser'),
      // `leaks` counts the objects of its page. In a page that other files share, it would miss new
      // ports.
      browserProject('leaks'),
      {
        extends: true,
        resolve,
        test: {
          name: 'e2e',
          environment: 'node',
          ...filesOf('e2e'),
          setupFiles: [
            'test/left-behind/setup-node.ts',
            clockSetup,
            requestsSetup,
            'test/e2e/refusals-setup.ts',
          ],
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

function browserProject(name: 'browser' | 'leaks'): TestProjectInlineConfiguration {
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
        'react/jsx-dev-runtime',
        'eventsource-parser',
        'minisearch',
        'unstorage/drivers/memory',
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
      ...filesOf(name),
      setupFiles: ['test/left-behind/setup-page.ts', clockSetup, requestsSetup],
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
