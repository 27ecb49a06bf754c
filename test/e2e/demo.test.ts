import type { Page } from 'playwright';
import { expect, test } from 'vitest';
import { chooseHeldModel, heldQuestion, release } from './held-answer.ts';
import {
  answers,
  ask,
  atRest,
  goHome,
  homes,
  openDemo,
  questions,
  send,
  timeline,
} from './open-demo.ts';

/** Returns the notes that the last answer lists. */
function listed(page: Page): Promise<readonly string[]> {
  return answers(page).last().getByRole('listitem').allInnerTexts();
}

test.for(homes)(
  '%s: the demo runs two tools, streams an answer, fills the timeline, and shows the history after a reload',
  async (home) => {
    const { page, problems } = await openDemo();
    await goHome(page, home);
    await ask(page, 'What is 17 * 23, and what time is it in Tokyo?');
    const answer = answers(page).last();
    await expect
      .poll(() => answer.innerText())
      .toMatch(/17 \* 23 = 391\.\s+In Tokyo it is \d\d:\d\d on \w+day\./);
    expect(await page.getByRole('group', { name: 'Tool calculator, done' }).innerText()).toContain(
      '391',
    );
    expect(
      await page.getByRole('group', { name: 'Tool time_in_city, done' }).innerText(),
    ).toContain('Asia/Tokyo');
    const events = await timeline(page).getByRole('listitem').allInnerTexts();
    const labels = events.map((event) => event.split('\n')[0]);
    expect(labels.slice(0, 3)).toEqual(['Run started', 'Reasoning, step 1', 'Calls 2 tools']);
    expect(labels.slice(-3)).toEqual(['Reasoning, step 2', 'Answered', 'Ended: stop']);
    // The name of the model comes from the log, a moment after the answer.
    await page.locator('.written').waitFor();
    const shown = (): Promise<string> => page.getByRole('log', { name: 'Messages' }).innerText();
    const before = await shown();

    await page.reload();
    await expect.poll(shown).toBe(before);
    await ask(page, 'Note: buy milk');
    await ask(page, 'Show my notes');
    expect(await listed(page)).toContain('buy milk');
    expect(problems).toEqual([]);
  },
);

test('In this tab’s worker: the demo asks before it deletes notes, also after a reload, and the user can ask for another answer', async () => {
  const { page, problems } = await openDemo();
  const call = page.getByRole('group', { name: /^Tool notes/ }).last();
  const decide = (word: 'Allow' | 'Deny') => call.getByRole('button', { name: word });
  await ask(page, 'Note: gyokuro');
  await ask(page, 'Delete my notes about gyokuro');
  await page.reload();
  await decide('Deny').click();
  await expect
    .poll(() => answers(page).last().innerText())
    .toContain('All right, it stays as it is.');
  await atRest(page);
  await page.getByRole('button', { name: 'Answer again' }).click();
  await decide('Allow').click();
  await expect.poll(() => answers(page).last().innerText()).toContain('Deleted: “gyokuro”.');
  await atRest(page);
  // Another question does not approve the deletion.
  await ask(page, 'Note: matcha');
  await ask(page, 'Delete my notes about matcha');
  await ask(page, 'Show my notes');
  await expect.poll(() => listed(page)).toContain('matcha');
  const all = async (): Promise<void> => {
    expect(await questions(page).count()).toBe(5);
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
    const notes = page.getByRole('group', { name: 'Tool notes, denied' });
    const denied = notes.filter({ hasText: 'the user wrote a new message instead of deciding' });
    expect(await denied.count()).toBe(1);
    expect(await answers(page).nth(3).innerText()).toContain('instead of deciding');
  };
  await all();
  await page.reload();
  await expect.poll(() => listed(page)).toContain('matcha');
  await all();
  expect(problems).toEqual([]);
});

test.for(homes)(
  '%s: an answer that a reload interrupts continues to its end, once',
  async (home) => {
    const { page, problems } = await openDemo();
    await goHome(page, home);
    await ask(page, 'What is 1 + 1?');
    await chooseHeldModel(page, home);
    const speech = heldQuestion();
    await send(page, speech);
    await page.getByText('I am the offline').first().waitFor();
    await page.reload();
    await release(speech);
    await expect.poll(() => answers(page).last().innerText()).toContain('top of the page');
    await atRest(page);
    const once = async (): Promise<void> => {
      expect(await questions(page).allInnerTexts()).toEqual(['What is 1 + 1?', speech]);
      expect(await answers(page).count()).toBe(2);
      const text = await answers(page).last().innerText();
      expect(text.match(/I am the offline/g)).toHaveLength(1);
    };
    await once();
    await page.reload();
    await expect.poll(() => answers(page).last().innerText()).toContain('top of the page');
    await once();
    await ask(page, 'What is 2 + 2?');
    expect(await answers(page).last().innerText()).toContain('2 + 2 = 4.');
    expect(problems).toEqual([]);
  },
);

test('In this tab’s worker: Stop ends the run at once, the streamed text stays and looks different, also after a reload, and the conversation continues', async () => {
  const { page } = await openDemo();
  await chooseHeldModel(page, 'In this tab’s worker');
  await page.getByLabel('Your message').fill(heldQuestion());
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('I am the offline').first().waitFor();
  await page.keyboard.press('Escape');
  await timeline(page).getByText('Ended: aborted').waitFor();
  const stopped = page.locator('.row.stopped').getByText('Stopped', { exact: true });
  await stopped.waitFor();
  const kept = await answers(page).last().innerText();
  expect(kept).not.toContain('top of the page');
  await ask(page, 'What is 2 + 2?');
  await page.reload();
  await expect.poll(() => answers(page).allInnerTexts()).toHaveLength(2);
  const [first, second] = await answers(page).allInnerTexts();
  expect(first!.startsWith('I am the offline')).toBe(true);
  expect(first).not.toContain('top of the page');
  expect(second).toContain('2 + 2 = 4.');
  await expect.poll(() => stopped.count()).toBe(1);
});

test('the switch moves the conversation to the edge and back, where it continues, and a second tab follows', async () => {
  const { page } = await openDemo();
  await ask(page, 'What is 6 * 7?');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await answers(other).first().waitFor();
  for (const [index, home] of [homes[1], homes[0]].entries()) {
    await page.getByRole('radio', { name: home }).check({ force: true });
    for (const each of [page, other]) {
      await expect.poll(() => each.getByRole('radio', { name: home }).isChecked()).toBe(true);
      await expect.poll(() => answers(each).count()).toBe(index + 1);
    }
    await ask(page, 'What is 5 * 5?');
    await expect.poll(() => answers(page).last().innerText()).toContain('25');
    await expect.poll(() => answers(other).count()).toBe(index + 2);
  }
  expect(await answers(page).first().innerText()).toContain('42');
  // The edge did not make the first answer, but the second one.
  expect(await page.getByText('Imported').count()).toBe(1);
});
