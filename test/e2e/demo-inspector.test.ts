import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright';
import { expect, test } from 'vitest';
import { answers, atRest, openDemo, questions, send } from './open-demo.ts';

/** Returns the rules of axe that the page breaks now, also in the shadow of the inspector. */
async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate<AxeResults>('axe.run()');
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

async function openInspector(page: Page) {
  await page.getByRole('button', { name: 'Inspect' }).click();
  const inspector = page.getByRole('region', { name: 'Agent inspector' });
  await inspector.waitFor();
  return inspector;
}

const question = 'What time is it in Tokyo?';
const systemPrompt = 'You are a helpful assistant on a web page.';

test('the inspector shows what the model saw, replays the run and exports it', async () => {
  const { page, problems } = await openDemo();
  const inspector = await openInspector(page);
  await send(page, question);
  await atRest(page);
  const run = inspector.getByRole('group', { name: `Run: ${question}` }).first();
  await run.getByText('answered', { exact: true }).waitFor();
  expect(await run.locator('.name').allInnerTexts()).toEqual([
    'Input',
    'Reason 1',
    'time_in_city',
    'Reason 2',
  ]);
  await run.getByText('Reason 2', { exact: true }).click();
  await run.getByText('as it was sent').waitFor();
  await run.getByText(systemPrompt).waitFor();
  await run.getByRole('button', { name: 'Replay' }).click();
  const replay = inspector.getByRole('region', { name: 'Replay', exact: true });
  await replay.getByRole('button', { name: 'Play all' }).click();
  await replay.getByText('The replay ended like the log.').waitFor();
  await replay.getByText('Reason 2', { exact: true }).click();
  await replay.getByText('recomputed by this replay').waitFor();
  // The replay ran the middleware and the prompt of the demo's agent.
  await replay.getByText(systemPrompt).waitFor();
  expect(await violations(page)).toEqual([]);
  await run.getByRole('button', { name: 'Export test' }).first().click();
  await run.getByText('new ScriptedModel').waitFor();
  expect(problems).toEqual([]);
});

/** Returns the scripts of the inspector that the page has loaded. */
function inspectorScripts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map(({ name }) => name)
      .filter((name) => /inspector|replay|stored-logs/.test(name)),
  );
}

test('nothing of the inspector is loaded before somebody asks for it; a fork asks something else in a new conversation', async () => {
  const { page, problems } = await openDemo();
  await send(page, question);
  await atRest(page);
  expect(await inspectorScripts(page)).toEqual([]);
  expect(await page.evaluate(() => customElements.get('isoloop-inspector'))).toBeUndefined();
  const inspector = await openInspector(page);
  expect(await inspectorScripts(page)).toContainEqual(expect.stringContaining('inspector-dock'));
  const run = inspector.getByRole('group', { name: `Run: ${question}` }).first();
  await run.getByText('Input', { exact: true }).click();
  await run.getByText('Fork: ask something else').click();
  await run.getByRole('textbox', { name: 'Ask something else' }).fill('What is 6 * 7?');
  await run.getByRole('button', { name: 'Start a new conversation' }).click();
  await expect.poll(() => questions(page).allInnerTexts()).toEqual(['What is 6 * 7?']);
  await expect.poll(() => answers(page).last().innerText()).toContain('42');
  await inspector.getByRole('combobox', { name: 'Conversation' }).selectOption({ label: question });
  await expect.poll(() => questions(page).allInnerTexts()).toEqual([question]);
  expect(problems).toEqual([]);
});
