import { expect, test } from 'vitest';
import { heldQuestion, release } from './held-answer.ts';
import { answers, ask, atRest, goHome, openDemo, questions, send, timeline } from './open-demo.ts';
import { lastAnswer, openTwo, shows } from './two-tabs.ts';

test('In this tab’s worker: a tab shows the questions and streamed answers of another tab, and can stop them', async () => {
  const { first, second, problems } = await openTwo('In this tab’s worker', { held: true });
  const sums = heldQuestion('what 17 * 23 is, and what time it is in Tokyo, in');
  await send(first, sums);
  await shows([second], ['What is 1 + 1?', sums]);
  await timeline(second).getByText('Reasoning, step 1').waitFor();
  await release(sums);
  await expect.poll(() => lastAnswer(second)).toMatch(/17 \* 23 = 391\.\s+In Tokyo it is/);
  await timeline(second).getByText('Calls 2 tools').waitFor();
  await timeline(second).getByText('Ended: stop').waitFor();
  await atRest(second);
  expect(await answers(second).count()).toBe(2);

  const speech = heldQuestion();
  await send(first, speech);
  await second.getByText('I am the offline').first().waitFor();
  expect(await first.getByRole('button', { name: 'Stop' }).count()).toBe(1);
  await second.getByRole('button', { name: 'Stop' }).click();
  await timeline(first).getByText('Ended: aborted').waitFor();
  await atRest(first);
  const kept = await lastAnswer(first);
  expect(kept).not.toContain('top of the page');
  await expect.poll(() => lastAnswer(second)).toBe(kept);

  await ask(second, 'What is 2 + 2?');
  await expect.poll(() => lastAnswer(first)).toContain('2 + 2 = 4.');
  const all = ['What is 1 + 1?', sums, speech, 'What is 2 + 2?'];
  await shows([first, second], all);
  for (const page of [first, second]) expect(await answers(page).count()).toBe(4);
  expect(problems).toEqual([]);
});

test('In this tab’s worker: both tabs ask for an approval, and either tab can decide', async () => {
  const { first, second, problems } = await openTwo('In this tab’s worker', {
    begin: 'Note: oolong',
  });
  for (const [asking, answering, word, said] of [
    [first, second, 'Deny', 'All right, it stays as it is.'],
    [second, first, 'Allow', 'Deleted: “oolong”.'],
  ] as const) {
    await ask(asking, 'Delete my notes about oolong');
    await answering.getByRole('button', { name: word }).click();
    for (const page of [first, second]) {
      await expect.poll(() => lastAnswer(page)).toContain(said);
      await atRest(page);
      expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
    }
  }
  for (const page of [first, second]) expect(await answers(page).count()).toBe(3);
  expect(problems).toEqual([]);
});

test('In this tab’s worker: when a tab closes during its answer, the other tab shows the rest', async () => {
  const { first, second, problems } = await openTwo('In this tab’s worker', {
    begin: 'Note: sencha',
    held: true,
  });
  const speech = heldQuestion();
  await send(first, speech);
  await second.getByText('I am the offline').first().waitFor();
  await first.close();
  const restarts = timeline(second).getByText(/Step started over/);
  // The worker of a closed tab lives for another moment. If the answer continued at once, it
  // could still end in that worker.
  await restarts.waitFor();
  await release(speech);
  await expect.poll(() => lastAnswer(second)).toContain('top of the page');
  await timeline(second).getByText('Ended: stop').waitFor();
  await atRest(second);
  expect(await restarts.count()).toBe(1);
  expect(await answers(second).count()).toBe(2);
  await ask(second, 'Show my notes');
  expect(await lastAnswer(second)).toContain('sencha');
  await second.reload();
  await shows([second], ['Note: sencha', speech, 'Show my notes']);
  expect(problems).toEqual([]);
});

test('At the edge: a page takes messages when it knows that no answer is running', async () => {
  const { page, problems } = await openDemo();
  await goHome(page, 'At the edge');
  const order: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') order.push('post');
  });
  let answerLook: () => void = () => {};
  const mayAnswer = new Promise<void>((resolve) => (answerLook = resolve));
  await page.route(
    '**/api/chat/*/stream*',
    async (route) => {
      await mayAnswer;
      order.push('look');
      await route.fulfill({ status: 204 });
    },
    { times: 1 },
  );
  await page.reload();
  await page.getByText('Loading the conversation').waitFor();
  expect(await page.getByLabel('Your message').count()).toBe(0);
  answerLook();
  await send(page, 'What is 2 + 2?');
  await expect.poll(() => lastAnswer(page)).toContain('2 + 2 = 4.');
  expect(order).toEqual(['look', 'post']);
  expect(await questions(page).allInnerTexts()).toEqual(['What is 2 + 2?']);
  expect(problems).toEqual([]);
});
