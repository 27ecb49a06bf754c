import { ReActAgent, type AgentOptions, type Msg, type Tool } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { sessionSummaries } from '@isoloop/core/memory';
import { summarizeHistory } from '@isoloop/core/context';
import { isSameButInterrupted, type FaultScenario } from './inject-faults.ts';
import type { MortalProcess } from './mortal-process.ts';
import type { ScriptedReply } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';

/** Returns the conversations that must survive the death of a process on every store. */
export function faultScenarios(): readonly FaultScenario[] {
  return [
    plainAnswer,
    chainOfTen,
    eightAtOnce,
    safeTools,
    askedTools,
    approval,
    externalTool,
    subAgent,
    summary,
    interrupt,
    textProtocol,
  ];
}

/**
 * Returns a model's reply function. The function selects the reply by the number of assistant
 * messages since the last user message. A repeated request therefore gets the same reply.
 */
const script =
  (...replies: readonly ((turn: number) => ScriptedReply)[]) =>
  ({ messages }: { readonly messages: readonly Msg[] }): ScriptedReply => {
    const turn = messages.filter(({ role }) => role === 'user').length;
    const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'));
    const replied = since.filter(({ role }) => role === 'assistant').length;
    return replies[Math.min(replied, replies.length - 1)]!(turn);
  };

const calls =
  (step: string, ...names: readonly string[]) =>
  (turn: number): ScriptedReply => ({
    text: `Step ${step}.`,
    toolCalls: names.map((name, index) => ({
      name,
      id: `${turn}-${step}-${index}`,
      input: { n: index },
    })),
  });

const answer = (turn: number): ScriptedReply => `The answer to turn ${turn}.`;

function agent(
  process: MortalProcess,
  options: Omit<AgentOptions, 'name' | 'sessionId'>,
): ReActAgent {
  return new ReActAgent({
    name: 'a',
    sessionId: 's',
    memory: process.memory('s'),
    generateId: ids(process),
    ...options,
  });
}

/** Creates ids that are unique within one try and the same in every try. */
function ids({ generation }: MortalProcess): () => string {
  let count = 0;
  return () => `g${generation}-${(count += 1)}`;
}

const step = (process: MortalProcess, name = 'step', more: Partial<Tool> = {}): Tool => ({
  ...process.tool({
    name,
    description: '',
    input: {},
    execute: (input) => `${name} did ${JSON.stringify(input)}`,
  }),
  ...more,
});

const plainAnswer: FaultScenario = {
  name: 'plain answer',
  turns: ['One?', 'Two?'],
  open: (process) => agent(process, { model: process.model(script(answer)) }),
};

const chainOfTen: FaultScenario = {
  name: 'ten-step chain',
  turns: ['Go.'],
  open: (process) => {
    const steps = Array.from({ length: 10 }, (_, index) => calls(String(index), 'step'));
    return agent(process, {
      model: process.model(script(...steps, answer)),
      tools: [step(process)],
      limits: { iterations: 20 },
    });
  },
};

const eightAtOnce: FaultScenario = {
  name: 'eight parallel tools',
  turns: ['Go.', 'Again.'],
  open: (process) => {
    const model = process.model(
      script(calls('all', ...Array.from({ length: 8 }, () => 'step')), answer),
    );
    return agent(process, { model, tools: [step(process)] });
  },
};

const safeTools: FaultScenario = {
  name: 'tools that may run again',
  turns: ['Go.'],
  // Tools that may run again must have all results, so none may be `interrupted`.
  isFine: (lines, expected) => lines.toSorted().join() === expected.toSorted().join(),
  open: (process) => {
    const safe = process.tool({
      name: 'safe',
      description: '',
      input: {},
      replay: 'safe',
      execute: (input) => `did ${JSON.stringify(input)}`,
    });
    const model = process.model(
      script(calls('1', 'safe', 'safe', 'safe'), calls('2', 'safe'), answer),
    );
    return agent(process, { model, tools: [safe] });
  },
};

const askedTools: FaultScenario = {
  name: 'tools that ask before they run again',
  turns: ['Go.'],
  decide: ({ toolUseId, kind }) =>
    kind === 'replay'
      ? { toolUseId, type: 'result', output: 'looked after' }
      : { toolUseId, type: 'approve' },
  isFine: (lines, expected) =>
    lines.length === expected.length && !lines.some((line) => line.includes('interrupted')),
  open: (process) => {
    const asked = process.tool({
      name: 'asked',
      description: '',
      input: {},
      replay: 'ask',
      execute: () => 'done',
    });
    return agent(process, {
      model: process.model(script(calls('1', 'asked', 'asked'), answer)),
      tools: [asked],
    });
  },
};

const approval: FaultScenario = {
  name: 'approval',
  turns: ['Pay.'],
  decide: ({ toolUseId }) => {
    if (toolUseId.endsWith('2')) return { toolUseId, type: 'reject', reason: 'No.' };
    if (toolUseId.endsWith('3')) return { toolUseId, type: 'edit', input: { n: 30 } };
    return { toolUseId, type: 'approve' };
  },
  open: (process) => {
    const pay = step(process, 'pay', { needsApproval: true });
    const model = process.model(script(calls('pay', 'step', 'pay', 'pay', 'pay'), answer));
    return agent(process, { model, tools: [pay, step(process)] });
  },
};

const externalTool: FaultScenario = {
  name: 'external tool',
  turns: ['Ask them.'],
  decide: ({ toolUseId }) => ({ toolUseId, type: 'result', output: `told of ${toolUseId}` }),
  open: (process) => {
    const ask = process.tool({ name: 'ask', description: '', input: {} });
    return agent(process, {
      model: process.model(script(calls('ask', 'ask', 'step', 'ask'), answer)),
      tools: [ask, step(process)],
    });
  },
};

const subAgent: FaultScenario = {
  name: 'sub-agent',
  turns: ['Have it done.'],
  open: (process) => {
    const child = agentTool(
      ({ sessionId }) =>
        new ReActAgent({
          name: 'child',
          sessionId,
          memory: process.memory(sessionId),
          model: process.model(script(calls('child', 'step', 'step'), answer)),
          tools: [step(process)],
          generateId: ids(process),
        }),
      { name: 'child', description: '', replay: 'safe' },
    );
    const delegate = (): ScriptedReply => ({
      toolCalls: [{ name: 'call_child', id: 'delegate', input: { message: 'Do it.' } }],
    });
    return agent(process, { model: process.model(script(delegate, answer)), tools: [child] });
  },
};

const summary: FaultScenario = {
  name: 'summarised history',
  turns: ['One? '.repeat(60), 'Two? '.repeat(60), 'Three? '.repeat(60), 'Four? '.repeat(60)],
  open: (process) => {
    const model = process.model(script(calls('1', 'step'), answer));
    const summarizer = process.model(() => 'They talked.');
    const memory = process.memory('s');
    const history = summarizeHistory({
      model: summarizer,
      store: sessionSummaries(memory),
      window: 500,
      reserveOutput: 50,
      summaryTokens: 60,
      roundTo: 50,
    });
    return agent(process, { model, memory, use: [history], tools: [step(process)] });
  },
};

const interrupt: FaultScenario = {
  name: 'interrupt',
  turns: ['Go.', 'And now?'],
  // If the process dies before the interrupt is stored, nobody repeats the interrupt. The run may
  // then continue to its answer.
  isFine: (lines, expected) =>
    isSameButInterrupted(lines, expected) || lines.some((line) => line.includes('turn 1')),
  open: (process) => {
    const made: ReActAgent = agent(process, {
      model: process.model(script(calls('1', 'step', 'step'), calls('2', 'step'), answer)),
      tools: [step(process)],
      use: [
        {
          on: {
            'post-acting': ({ toolUse }) =>
              void (toolUse.id === '1-1-1' && process.generation === 0 && made.interrupt()),
          },
        },
      ],
    });
    return made;
  },
};

const textProtocol: FaultScenario = {
  name: 'text protocol',
  turns: ['Go.'],
  open: (process) => {
    const call = (n: number): string => JSON.stringify({ tool_name: 'step', arguments: { n } });
    const replies = [
      `<think>First.</think>${call(1)}`,
      'tool_name: step, arguments: {',
      `[${call(2)}, ${call(3)}]`,
      'All done.',
    ];
    // With the text protocol, results and corrections are user messages, so their number selects
    // the reply.
    const model = process.model(
      ({ messages }) => replies[messages.filter(({ role }) => role === 'user').length - 1]!,
      {
        features: { tools: false },
      },
    );
    return agent(process, { model, tools: [step(process)], use: [textToolCalls()] });
  },
};
