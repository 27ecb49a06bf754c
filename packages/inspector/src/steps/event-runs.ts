import {
  type AgentEvent,
  type JsonValue,
  type Msg,
  type PendingCall,
  type Usage,
  textOf,
  toolUsesOf,
} from '@isoloop/core';
import { addUsage, incompleteReason, noUsage, type IncompleteReason } from '@isoloop/core/model';
import { metadataOf } from '@isoloop/core/message';
import type { EventChange } from '@isoloop/core/observe';
import type {
  InspectedRun,
  InspectedStep,
  Prompt,
  RunOrigin,
  ShownCall,
  ShownResult,
  StepOf,
} from './inspected-run.ts';
import { recordBytes } from './record-bytes.ts';

/**
 * Event of an agent, or an entry of a timeline: the events of an endpoint have no prompts, and
 * numbers in their place.
 */
export type InspectedEvent = Pick<AgentEvent, 'type' | 'runId' | 'seq' | 'iteration' | 'at'> & {
  readonly agentPath: readonly string[];
  readonly [field: string]: unknown;
};

/**
 * Returns the runs after more events. Runs and steps that do not change stay the same objects.
 * Ignores events that a run has already.
 */
export class EventRuns {
  readonly #origin: RunOrigin;
  readonly #runs: Map<string, InspectedRun> = new Map();
  /** The last `seq` of each run, because a stream that is read again begins at its start. */
  readonly #lastSeqs: Map<string, number> = new Map();

  constructor(origin: RunOrigin = 'live') {
    this.#origin = origin;
  }

  get runs(): readonly InspectedRun[] {
    return [...this.#runs.values()];
  }

  add(events: readonly InspectedEvent[]): void {
    for (const event of events) {
      const { runId, seq } = event;
      if (seq <= (this.#lastSeqs.get(runId) ?? 0)) continue;
      this.#lastSeqs.set(runId, seq);
      const run = this.#runs.get(runId) ?? newRun(event, this.#origin);
      this.#runs.set(runId, withEvent(run, event));
    }
  }
}

function newRun({ runId, agentPath, at }: InspectedEvent, origin: RunOrigin): InspectedRun {
  return {
    runId,
    origin,
    agentPath,
    continues: false,
    steps: [],
    startedAt: at,
    usage: noUsage,
  };
}

type Change = (run: InspectedRun, event: InspectedEvent) => InspectedRun;

function withEvent(run: InspectedRun, event: InspectedEvent): InspectedRun {
  return changes[event.type]?.(run, event) ?? run;
}

const changes: { readonly [K in AgentEvent['type']]?: Change } = {
  'run-start': (run, event) => ({
    ...run,
    continues: Boolean(event['resumes'] ?? event['continues']),
  }),
  'pre-call': withInput,
  'pre-reasoning': withRequest,
  'pre-summary': withRequest,
  'reasoning-chunk': (run, { kind, delta }) =>
    withReasonStep(run, (step) =>
      kind === 'thinking'
        ? { thinking: step.thinking + String(delta) }
        : { text: step.text + String(delta) },
    ),
  'summary-chunk': (run, { delta }) =>
    withReasonStep(run, ({ text }) => ({ text: text + String(delta) })),
  'step-reset': (run, { reason }) =>
    withReasonStep(run, ({ resets }) => ({
      text: '',
      thinking: '',
      resets: [...resets, String(reason)],
    })),
  'post-reasoning': withReply,
  'post-summary': withReply,
  'pre-acting': (run, event) =>
    withCall(run, event, { problem: event['problem'] as string | undefined }),
  'acting-chunk': (run, event) => withCall(run, event, undefined, event['chunk'] as JsonValue),
  'post-acting': withResult,
  'context-fitted': (run, event) => {
    const { removed, before, after } = event as unknown as StepOf<'fit'>;
    return withStep(run, event, { kind: 'fit', removed, before, after, endedAt: event.at });
  },
  suspended: (run, event) => {
    const pending = event['pending'] as readonly Partial<PendingCall>[];
    return withStep(run, event, { kind: 'wait', pending, endedAt: event.at });
  },
  error: (run, event) => {
    const { code, message } = (event['error'] ?? event) as StepOf<'error'>['error'];
    return withStep(run, event, { kind: 'error', error: { code, message }, endedAt: event.at });
  },
  'run-end': withEnd,
};

function withInput(run: InspectedRun, event: InspectedEvent): InspectedRun {
  const messages = (event['input'] ?? event['messages']) as readonly Msg[] | number;
  if (typeof messages !== 'number' && !messages.length) return run;
  const bytes = typeof messages === 'number' ? 0 : sum(messages.map(recordBytes));
  return withStep(run, event, { kind: 'input', messages, bytes, endedAt: event.at });
}

function withRequest(run: InspectedRun, event: InspectedEvent): InspectedRun {
  return withStep(run, event, {
    ...emptyReason,
    iteration: event.iteration,
    prompt: promptOf(event),
    isSummary: event.type === 'pre-summary',
  });
}

function withResult(run: InspectedRun, event: InspectedEvent): InspectedRun {
  const { state, output } = (event['result'] ?? event) as ShownResult;
  const result = { state, output };
  const { id: toolUseId, name } = callOf(event);
  const message = { role: 'tool', content: [{ type: 'tool_result', toolUseId, name, ...result }] };
  const bytes = output === undefined ? 0 : recordBytes(message);
  return withCall(run, event, { result, bytes, endedAt: event.at });
}

const emptyReason = {
  kind: 'reason',
  text: '',
  thinking: '',
  calls: [],
  resets: [],
} as const;

function promptOf(event: InspectedEvent): Prompt {
  return {
    messages: event['messages'] as Prompt['messages'],
    tools: (event['tools'] as Prompt['tools'] | undefined) ?? [],
    options: (event['options'] as object | undefined) ?? {},
  };
}

type NewStep = Partial<InspectedStep> & Pick<InspectedStep, 'kind'>;

function withStep(run: InspectedRun, event: InspectedEvent, fields: NewStep): InspectedRun {
  const step = {
    key: `${event.type}:${event.seq}`,
    startedAt: event.at,
    bytes: 0,
    changes: changesOf(event),
    ...fields,
  } as InspectedStep;
  return { ...run, steps: [...run.steps, step] };
}

function changesOf(event: InspectedEvent): readonly EventChange[] {
  return (event['changes'] as readonly EventChange[] | undefined) ?? [];
}

/** Changes the last model request. */
function withReasonStep(
  run: InspectedRun,
  change: (step: StepOf<'reason'>) => Partial<StepOf<'reason'>>,
): InspectedRun {
  const index = run.steps.findLastIndex(({ kind }) => kind === 'reason');
  const step = run.steps[index];
  if (step?.kind !== 'reason') return run;
  return { ...run, steps: run.steps.with(index, { ...step, ...change(step) }) };
}

function withReply(run: InspectedRun, event: InspectedEvent): InspectedRun {
  const reply = event['message'] as Msg | undefined;
  const usage = reply && (metadataOf(reply).usage as Usage | undefined);
  const changedRun = withReasonStep(run, (step) => ({
    endedAt: event.at,
    changes: [...step.changes, ...changesOf(event)],
    calls: reply
      ? toolUsesOf(reply).map(({ name }) => name)
      : ((event['toolCalls'] as readonly string[] | undefined) ?? []),
    ...(reply && { reply, text: textOf(reply), bytes: recordBytes(reply) }),
    incomplete: reply
      ? incompleteReason(reply)
      : (event['incomplete'] as IncompleteReason | undefined),
    usage,
  }));
  return usage ? { ...changedRun, usage: addUsage(run.usage, usage) } : changedRun;
}

function callOf(event: InspectedEvent): ShownCall {
  const { toolUseId, name, input } = event as { readonly [field: string]: unknown };
  return (event['toolUse'] ?? { id: toolUseId, name, input }) as ShownCall;
}

/** Changes the step of a tool call, or adds it. */
function withCall(
  run: InspectedRun,
  event: InspectedEvent,
  fields?: Partial<StepOf<'act'>>,
  progress?: JsonValue,
): InspectedRun {
  const call = callOf(event);
  const index = run.steps.findIndex((step) => step.kind === 'act' && step.call.id === call.id);
  const earlierStep = run.steps[index];
  if (earlierStep?.kind !== 'act') {
    const key = `act:${call.id}`;
    return withStep(run, event, { kind: 'act', call, progress: [], ...fields, key });
  }
  const step = {
    ...earlierStep,
    ...fields,
    changes: [...earlierStep.changes, ...changesOf(event)],
    call: { ...earlierStep.call, ...(call.input !== undefined && { input: call.input }) },
    ...(progress !== undefined && { progress: [...earlierStep.progress, progress] }),
  };
  return { ...run, steps: run.steps.with(index, step) };
}

function withEnd(run: InspectedRun, event: InspectedEvent): InspectedRun {
  const { reason, incomplete, usage } = (event['result'] ?? event) as Partial<InspectedRun>;
  // A step that an abort ended has no event of its own.
  const steps = run.steps.map((step) =>
    step.endedAt === undefined ? { ...step, endedAt: event.at } : step,
  );
  return { ...run, steps, reason, incomplete, endedAt: event.at, usage: usage ?? run.usage };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
