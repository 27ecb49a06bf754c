/// <reference path="../provided-context.d.ts" />
import { chromium } from 'playwright';
import type { TestProject } from 'vitest/node';
import { chromiumArgs, chromiumPath } from '../../scripts/chromium.ts';
import { startSiteServer } from '../../scripts/docs/site-server.ts';
import { startChatServer } from './chat-server.ts';
import { startEdgeServer } from './edge-server.ts';
import { heldModelVars, startHeldModel } from './held-model.ts';

/**
 * Starts the servers that the end-to-end tests share: one Chromium, a model, and with
 * `wrangler dev` the demo and the endpoint of the pages in `chat/`. All users of the demo share the
 * notes at the edge, so each test file uses other words in its notes.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const options = {
    executablePath: chromiumPath(),
    args: [...chromiumArgs],
    host: '127.0.0.1',
    timeout: 240_000,
  };
  const model = await startHeldModel();
  // The step `docs` has built the site.
  const docs = await startSiteServer({ isBuilt: true });
  const [browser, demo, chat] = await Promise.all([
    chromium.launchServer(options),
    startEdgeServer({ vars: { ...heldModelVars(model.url), DOCS_URL: docs.url } }),
    startChatServer(),
  ]);
  project.provide('browserEndpoint', browser.wsEndpoint());
  project.provide('demoUrl', demo.url);
  project.provide('chatUrl', chat.url);
  project.provide('heldModelUrl', model.url);
  return async () => {
    await browser.close();
    await Promise.all([demo.stop(), chat.stop()]);
    await model.close();
    await docs.stop();
  };
}
