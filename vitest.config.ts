import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumArgs, chromiumPath } from './scripts/chromium.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Tests run on the packages' sources: each export of a package is mapped to the file it is built from. */
const alias = ['core', 'web-worker', 'edge'].flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(path(`packages/${name}/package.json`), 'utf8'));
  return Object.entries<string | { default: string }>(exports).flatMap(([key, target]) =>
    typeof target === 'string'
      ? []
      : {
          find: new RegExp(`^@isoloop/${name}${key.slice(1)}$`),
          replacement: path(`packages/${name}/${target.default.replace('dist/', 'src/').replace(/\.js$/, '.ts')}`),
        },
  );
});

const resolve = { alias };
const core = 'packages/core/src/**/*.test.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/provider-server/vitest-setup.ts'],
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
        optimizeDeps: { include: ['comlink', 'idb-keyval', 'zod', 'ai', '@ai-sdk/openai', 'eventsource-parser'] },
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
      { extends: true, resolve, test: { name: 'e2e', environment: 'node', include: ['test/e2e/**/*.test.ts'], testTimeout: 60_000 } },
    ],
  },
});
