import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region select-tools
import { ReActAgent, tool, type Tool } from '@isoloop/core';
import {
  byCategory,
  byModel,
  bySimilarity,
  byWords,
  selectTools,
  toolSearch,
} from '@isoloop/core/selection';
// #endregion
// #region select-by-model
// #endregion
// #region tool-search
// #endregion

const named = (name: string, server?: string): Tool =>
  tool({
    name,
    description: name,
    input: { type: 'object' },
    execute: () => name,
    ...(server && { server }),
  });
const offered = (model: ScriptedModel): readonly (readonly string[])[] =>
  model.requests.map(({ tools }) => tools.map(({ name }) => name));

test('selectTools() sends fewer tools per request', async () => {
  const model = new ScriptedModel(['Sent.', 'Hm.', 'Booked.', 'Noon.']);
  const tools = [
    named('mail_send', 'office'),
    named('cal_add', 'office'),
    named('cal_list', 'office'),
    named('clock'),
  ];

  // #region select-tools
  const categories = [
    { keywords: ['mail', '메일', 'メール', '邮件'], tools: ['mail_*'] },
    { keywords: ['calendar', '일정', '予定', '日程'], tools: ['cal_add', 'cal_list'] },
  ];
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    use: [selectTools({ by: byCategory(categories), maxTools: 20 })],
  });
  await agent.call('안나에게 메일을 보내 줘'); // sends mail_send and clock
  await agent.call('How are you?'); // no category fits: sends all tools
  // #endregion

  expect(offered(model)).toEqual([
    ['mail_send', 'clock'],
    ['mail_send', 'cal_add', 'cal_list', 'clock'],
  ]);

  const embed = async (texts: readonly string[]): Promise<readonly (readonly number[])[]> =>
    texts.map((text) => (/cal|meeting/.test(text) ? [1, 0] : [0, 1]));
  const warned: string[] = [];
  const report = (message: string): void => void warned.push(message);

  // #region select-by-similarity
  const selecting = selectTools({
    by: bySimilarity({ embed, threshold: 0.3, maxTools: 2 }), // `embed` maps texts to vectors; each tool is embedded once
    onError: ({ message }) => report(message), // if `embed` fails, all tools are sent
  });
  const planner = new ReActAgent({ name: 'planner', model, tools, use: [selecting] });
  await planner.call('Add the meeting'); // sends cal_add and cal_list

  const own = selectTools({
    by: async (question, schemas) =>
      schemas.flatMap(({ name }) => (question.includes(name) ? name : [])),
  });
  const picky = new ReActAgent({ name: 'picky', model, tools, use: [own] });
  await picky.call('What does the clock say?'); // sends clock
  // #endregion

  expect(offered(model).slice(2)).toEqual([['cal_add', 'cal_list'], ['clock']]);
  expect(warned).toEqual([]);
});

test('byWords() and byModel() select tools', async () => {
  const model = new ScriptedModel(['Sent.', 'Booked.']);
  const small = new ScriptedModel(['{"tools":["cal_add"]}']);
  const tools = [named('mail_send'), named('cal_add'), named('cal_list')];

  // #region select-by-model
  const byText = selectTools({ by: byWords({ maxTools: 10, evenWhenFew: true }) }); // compares words of names, descriptions and parameters
  const clerk = new ReActAgent({ name: 'clerk', model, tools, use: [byText] });
  await clerk.call('Send a mail'); // sends mail_send

  const asked = selectTools({
    by: byModel({ model: small, maxTools: 2, alwaysOffer: [] }),
  });
  const planner = new ReActAgent({ name: 'planner', model, tools, use: [asked] });
  await planner.call('I meet Ann at noon'); // sends cal_add, the choice of the small model
  // #endregion

  expect(offered(model)).toEqual([['mail_send'], ['cal_add']]);
});

test('toolSearch() lets the model search for tools', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'retrieve_tools', input: { query: 'send mail' } }] },
    { toolCalls: [{ name: 'mail_send' }] },
    'Sent.',
  ]);
  const tools = [named('mail_send'), named('cal_add'), named('clock')];

  // #region tool-search
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools,
    use: [toolSearch({ alwaysOffer: ['clock'], limit: 5, maxTools: 20 })],
  });
  await agent.call('Mail Ann'); // sends clock and retrieve_tools({ query }), then also mail_send
  // #endregion

  expect(offered(model)).toEqual([
    ['retrieve_tools', 'clock'],
    ['retrieve_tools', 'clock', 'mail_send'],
    ['retrieve_tools', 'clock', 'mail_send'],
  ]);
});
