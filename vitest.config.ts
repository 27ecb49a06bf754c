/// <reference path="./test/faults/provided-context.d.ts" />
import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumArgs, chromiumPath } from './scripts/chromium.ts';
import { sourceAlias } from './scripts/source-alias.ts';
import { policyPlugin } from './test/policy-plugin.ts';

const resolve = { alias: sourceAlias };
const core = 'packages/core/src/**/*.test.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/provider-server/vitest-setup.ts', 'test/mcp-server/vitest-setup.ts'],
    // No test waits by the clock: this only tells a hang from a machine with much else to do.
    testTimeout: 30_000,
    // `npm run faults` tries more points than `npm test`.
    provide: { faultPoints: Number(process.env['FAULT_POINTS'] ?? 0) },
    projects: [
      {
        extends: true,
        resolve,
        test: { name: 'node', environment: 'node', include: [core, 'test/**/*.test.ts'], exclude: ['test/e2e/**'] },
      },
      {
        extends: true,
        resolve,
        plugins: [cloudflareTest({ wrangler: { configPath: './test/workerd/wrangler.toml' }, remoteBindings: false })],
        test: { name: 'workerd', include: [core, 'packages/edge/src/**/*.test.ts'] },
      },
      {
        extends: true,
        resolve,
        plugins: [policyPlugin()],
        optimizeDeps: {
          include: [
            'comlink',
            'idb-keyval',
            'zod',
            'ai',
            '@ai-sdk/openai',
            '@ai-sdk/react',
            'react',
            'react-dom/client',
            'eventsource-parser',
            'minisearch',
            'yaml',
            '@cfworker/json-schema',
            '@modelcontextprotocol/sdk/client/index.js',
            '@modelcontextprotocol/sdk/client/streamableHttp.js',
            '@modelcontextprotocol/sdk/types.js',
          ],
        },
        test: {
          name: 'chromium',
          include: [core, 'packages/web-worker/src/**/*.test.ts'],
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({ launchOptions: { executablePath: chromiumPath(), args: chromiumArgs } }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
      {
        extends: true,
        resolve,
        test: {
          name: 'e2e',
          environment: 'node',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 60_000,
          expect: { poll: { timeout: 15_000 } },
        },
      },
    ],
  },
});
