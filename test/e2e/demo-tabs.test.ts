import { expect, inject, test } from 'vitest';
import { chooseHeldModel, heldQuestion, release } from './held-answer.ts';
import {
  answers,
  ask,
  atRest,
  goHome,
  homes,
  openDemo,
  openTab,
  questions,
  send,
  timeline,
} from './open-demo.ts';
import { lastAnswer, openTwo, shows } from './two-tabs.ts';

test.for(homes)(
  '%s: a tab shows the questions and streamed answers of another tab, and can stop them',
  async (home) => {
    const { first, second, problems } = await openTwo(home, { held: true });
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
  },
);

test.for(homes)('%s: both tabs ask for an approval, and either tab can decide', async (home) => {
  const { first, second, problems } = await openTwo(home, { begin: 'Note: oolong' });
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

test.for(homes)(
  '%s: when a tab closes during its answer, the other tab shows the rest',
  async (home) => {
    const { first, second, problems } = await openTwo(home, {
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
    if (home !== 'At the edge') await restarts.waitFor();
    await release(speech);
    await expect.poll(() => lastAnswer(second)).toContain('top of the page');
    await timeline(second).getByText('Ended: stop').waitFor();
    await atRest(second);
    expect(await restarts.count()).toBe(home === 'At the edge' ? 0 : 1);
    expect(await answers(second).count()).toBe(2);
    await ask(second, 'Show my notes');
    expect(await lastAnswer(second)).toContain('sencha');
    await second.reload();
    await shows([second], ['Note: sencha', speech, 'Show my notes']);
    expect(problems).toEqual([]);
  },
);

test.for(homes)(
  '%s: a tab that opens during an answer shows the answer, and can ask a question after its end',
  async (home) => {
    const { page: first, problems } = await openDemo();
    await goHome(first, home);
    await chooseHeldModel(first, home);
    const speech = heldQuestion();
    await send(first, speech);
    await first.getByText('I am the offline').first().waitFor();
    const second = await openTab(first.context(), problems);
    await second.getByText('I am the offline').first().waitFor();
    await release(speech);
    await expect.poll(() => lastAnswer(second)).toContain('top of the page');
    await ask(second, 'What is 2 + 2?');
    await expect.poll(() => lastAnswer(first)).toContain('2 + 2 = 4.');
    for (const page of [first, second]) expect(await answers(page).count()).toBe(2);
    expect(problems).toEqual([]);
  },
);

test('At the edge: an answer that ends while a tab opens is shown in that tab', async () => {
  const { page: first, problems } = await openDemo();
  await goHome(first, 'At the edge');
  await chooseHeldModel(first, 'At the edge');
  const speech = heldQuestion();
  await send(first, speech);
  await first.getByText('I am the offline').first().waitFor();
  const second = await first.context().newPage();
  // The tab reads the history during the answer, and asks for the stream after the answer has
  // ended.
  await second.route(
    '**/api/chat/*/messages',
    async (route) => {
      const response = await route.fetch();
      await release(speech);
      await timeline(first).getByText('Ended: stop').waitFor();
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await second.goto(inject('demoUrl'));
  await expect.poll(() => lastAnswer(second)).toContain('top of the page');
  expect(await answers(second).count()).toBe(1);
  expect(problems).toEqual([]);
});

test('At the edge: a page asks for the running answer before it reads the history', async () => {
  const { page, problems } = await openDemo();
  await goHome(page, 'At the edge');
  await chooseHeldModel(page, 'At the edge');
  const speech = heldQuestion();
  await send(page, speech);
  await page.getByText('I am the offline').first().waitFor();
  const order: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/messages')) order.push('history');
  });
  await page.route(
    '**/api/chat/*/stream*',
    async (route) => {
      await release(speech);
      const url = route.request().url();
      await expect.poll(async () => (await fetch(url)).status).toBe(204);
      order.push('stream');
      await route.continue();
    },
    { times: 1 },
  );
  await page.reload();
  await expect.poll(() => lastAnswer(page)).toContain('top of the page');
  expect(await answers(page).count()).toBe(1);
  expect(order.slice(0, 2)).toEqual(['stream', 'history']);
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
