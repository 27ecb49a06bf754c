import { expect, test } from 'vitest';
import { errorText } from '../error/agent-error.ts';
import { approvals } from '../approval/approvals.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import type { AgentOptions } from './agent-options.ts';
import { ReActAgent } from './react-agent.ts';

const make = (options: Partial<AgentOptions>, removed: string): ReActAgent =>
  new ReActAgent({
    name: 'a',
    model: new ScriptedModel(['Hi.']),
    ...options,
    use: [{ name: removed }],
  });

test.each<[options: Partial<AgentOptions>, part: string, what: string, entry: string]>([
  [{ whenBusy: 'inject' }, 'steering', "whenBusy: 'inject'", 'steering'],
  [{ interruptWhenIdle: () => false }, 'steering', 'The option `interruptWhenIdle`', 'steering'],
  [{ returnDirect: true }, 'directAnswers', 'The option `returnDirect`', 'answer'],
  [
    { onLimit: () => ({ type: 'incomplete' }) as never },
    'answerAtLimit',
    'The option `onLimit`',
    'answer',
  ],
  [{ limits: { tokens: 5 } }, 'runLimits', 'The option `tokens`', 'limits'],
  [{ limits: { toolCalls: 5 } }, 'runLimits', 'The option `toolCalls`', 'limits'],
])('ReActAgent refuses %o if its part was removed', (options, part, what, entry) => {
  const message =
    `${what} needs the middleware "${part}". Add it: ` +
    `import { ${part} } from '@isoloop/core/${entry}'; use: [${part}()].`;
  expect(() => make(options, part)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message }),
  );
  expect(() => make(options, 'other')).not.toThrow();
  expect(() => make({}, part)).not.toThrow();
});

test('ReActAgent refuses `deferRound` without approvals() in `use`', () => {
  const deferring = (use: AgentOptions['use'] = []): ReActAgent =>
    new ReActAgent({ name: 'a', model: new ScriptedModel(['Hi.']), deferRound: true, use });
  expect(() => deferring()).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message:
        'The option `deferRound` needs the middleware "approvals". Add it: ' +
        "import { approvals } from '@isoloop/core/approval'; use: [approvals()].",
    }),
  );
  expect(() => deferring([approvals()])).not.toThrow();
});

test('a call refuses `returnDirect` if direct answers were removed', async () => {
  const agent = make({}, 'directAnswers');
  const failure = await agent.call('Hi', { returnDirect: true }).catch(errorText);
  expect(failure).toContain('The option `returnDirect` needs the middleware "directAnswers".');
});
