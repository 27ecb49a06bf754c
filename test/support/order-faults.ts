import { type AgentEvent, textOf, toolUsesOf, type Msg } from '@isoloop/core';

/** State of the check, which `checkEvent` updates with each event. */
interface Course {
  phase: 'idle' | 'reasoning' | 'summary';
  /** Text that was streamed since the model request began or was reset. */
  text: string;
  /**
   * Whether the model request has produced output. If a hook cancels a request, the request ends
   * without output.
   */
  spoken: boolean;
  /** Replacement message of the last `step-reset`. */
  replacement: Msg | undefined;
  /** Whether the run continues an earlier run. */
  readonly resumed: boolean;
  /**
   * State of each tool call of this run, by tool call id. `asked`: the model made the tool call.
   * `begun`: after `pre-acting`. `over`: after `post-acting`.
   */
  readonly calls: Map<string, 'asked' | 'begun' | 'over'>;
  /** Arguments of each tool call that has begun, as JSON. */
  readonly inputs: Map<string, string>;
}

/** Reasons of a run's end with which the agent, not a model, may write the answer. */
const ownWords = /^(interrupted|rejected|return-direct|limit|stopped-by-hook)$/;

/**
 * Checks the order of all events of a run, and that the streamed text matches the messages. Returns
 * a description of each fault.
 */
export function orderFaults(events: readonly AgentEvent[]): readonly string[] {
  const [first] = events;
  const last = events.at(-1);
  if (first?.type !== 'run-start') return ['does not begin with run-start'];
  if (last?.type !== 'run-end') return ['does not end with run-end'];
  const { reason, message, pending, error } = last.result;
  const faults: string[] = [];
  const course: Course = {
    phase: 'idle',
    text: '',
    spoken: false,
    replacement: undefined,
    resumed: first.resumes !== undefined,
    calls: new Map(),
    inputs: new Map(),
  };
  const cut =
    reason === 'interrupted' ||
    reason === 'aborted' ||
    reason === 'error' ||
    reason === 'suspended';

  events.forEach((event, index) => {
    const fault = (why: string): number => faults.push(`${index} ${event.type}: ${why}`);
    const before = events[index - 1];
    if (event.runId !== first.runId || event.sessionId !== first.sessionId)
      fault('another run or session');
    if (before && event.seq <= before.seq) fault('seq does not grow');
    const step = event.iteration - (before?.iteration ?? 0);
    if (step !== 0 && (step !== 1 || !/^(pre-reasoning|context-fitted|error)$/.test(event.type)))
      fault('wrong iteration');
    if (index > 0 && event.type === 'run-start') fault('twice');
    if (index < events.length - 1 && event.type === 'run-end') fault('not last');
    checkEvent(event, before, course, fault);
    if (event.type === 'reasoning-chunk' || event.type === 'tool-input-chunk') {
      // An answer that no model wrote comes last, as one chunk with its own block. An answer that
      // an earlier run stored also comes as one chunk.
      const isStored = course.resumed && before?.type === 'step-reset';
      const isOwn =
        (ownWords.test(reason) || isStored) &&
        'blockId' in event &&
        event.blockId === `${message.id}:0`;
      const rest = events.slice(index + 1).map(({ type }) => type);
      const ends = /^(step-reset )?(post-call )?run-end$/.test(rest.join(' '));
      if (
        isOwn &&
        (course.phase === 'idle' || !course.spoken || reason === 'interrupted') &&
        ends
      ) {
        if (event.delta !== textOf(message) && rest[0] !== 'step-reset') fault('is not the answer');
        course.phase = reason === 'interrupted' ? course.phase : 'idle';
      } else {
        if (course.phase !== 'reasoning') fault('outside of its request');
        course.spoken = true;
        if (event.type === 'reasoning-chunk' && event.kind === 'text') course.text += event.delta;
      }
    }
  });

  const count = (type: AgentEvent['type']): number =>
    events.filter((event) => event.type === type).length;
  const position = (type: AgentEvent['type']): number =>
    events.findIndex((event) => event.type === type);
  const expectCount = (type: AgentEvent['type'], wanted: boolean): void => {
    if (count(type) !== Number(wanted))
      faults.push(`${type} comes ${count(type)} times in a run that ends as ${reason}`);
  };
  if (reason !== 'error' && !(reason === 'aborted' && count('pre-call') === 0))
    expectCount('pre-call', true);
  if (count('pre-call') && position('pre-call') !== 1)
    faults.push('pre-call is not the first of the loop');
  // If an abort comes after `post-call`, the result may have an empty message.
  const isLate = reason === 'aborted' && count('post-call') === 1 && !message.content.length;
  if (reason !== 'error')
    expectCount('post-call', isLate || (reason !== 'interrupted' && reason !== 'aborted'));
  if (reason !== 'error') expectCount('suspended', reason === 'suspended');
  expectCount('error', reason === 'error');
  const failure = events.find((event) => event.type === 'error');
  if (failure && (events.at(-2) !== failure || failure.error.code !== error?.code))
    faults.push('error does not precede its run-end');
  if (count('post-call') && reason !== 'error' && events.at(-2)?.type !== 'post-call')
    faults.push('post-call is not followed by run-end');
  if (course.phase !== 'idle') {
    if (!cut && (course.spoken || reason !== 'stopped-by-hook'))
      faults.push(`the last request is never closed, and the run ends as ${reason}`);
    const kept = message.metadata?.['partial'] ? plain(message) : '';
    if ((reason === 'aborted' || reason === 'suspended') && kept !== course.text)
      faults.push('the kept part is not what was streamed');
  }
  for (const [id, state] of course.calls) {
    if (
      state !== 'over' &&
      reason !== 'error' &&
      reason !== 'stopped-by-hook' &&
      !pending.some(({ toolUseId }) => toolUseId === id)
    )
      faults.push(`${id} has no post-acting`);
  }
  return faults;
}

function checkEvent(
  event: AgentEvent,
  before: AgentEvent | undefined,
  course: Course,
  fault: (why: string) => void,
): void {
  if (course.replacement && (!('message' in event) || event.message !== course.replacement))
    fault('is not what step-reset announced');
  if (before?.type === 'post-call' && event.type !== 'run-end' && event.type !== 'error')
    fault('comes after post-call');
  course.replacement = undefined;
  if (
    course.phase === 'reasoning' &&
    !course.spoken &&
    /^(pre-reasoning|pre-summary|pre-acting|post-acting|context-fitted)$/.test(event.type)
  ) {
    course.phase = 'idle';
  }
  switch (event.type) {
    case 'pre-reasoning':
    case 'pre-summary':
      if (course.phase !== 'idle') fault('within another request');
      if ([...course.calls.values()].some((state) => state !== 'over'))
        fault('before the end of all calls');
      course.phase = event.type === 'pre-summary' ? 'summary' : 'reasoning';
      course.text = '';
      course.spoken = false;
      break;
    case 'summary-chunk':
      if (course.phase !== 'summary') fault('outside of a summary');
      course.text += event.delta;
      break;
    case 'post-reasoning':
    case 'post-summary':
      if (course.phase !== event.type.slice(5)) fault('without its beginning');
      if (plain(event.message) !== course.text) fault('is not what was streamed');
      course.phase = 'idle';
      for (const { id } of toolUsesOf(event.message)) course.calls.set(id, 'asked');
      break;
    case 'step-reset':
      course.replacement = event.replacement;
      course.text = event.replacement ? plain(event.replacement) : '';
      break;
    case 'pre-acting': {
      const { id, input } = event.toolUse;
      const state = course.calls.get(id);
      // If an approver changes the arguments, the event comes again with the new arguments.
      const isEdit = state === 'begun' && course.inputs.get(id) !== JSON.stringify(input);
      if (course.phase !== 'idle' || state === 'over' || (state === 'begun' && !isEdit))
        fault('out of turn');
      course.calls.set(id, 'begun');
      course.inputs.set(id, JSON.stringify(input));
      break;
    }
    case 'acting-chunk':
      // A tool call that was open when this run started had begun in an earlier run.
      if (
        course.calls.get(event.toolUseId) !==
        (course.resumed && !course.calls.has(event.toolUseId) ? undefined : 'begun')
      )
        fault('of a call that does not run');
      break;
    case 'post-acting':
      if (course.phase !== 'idle' || course.calls.get(event.toolUse.id) === 'over')
        fault('out of turn');
      if (event.result.toolUseId !== event.toolUse.id) fault('has the result of another call');
      course.calls.set(event.toolUse.id, 'over');
      break;
    default:
  }
}

/** Returns the text of a message as its deltas contain it, without line breaks between blocks. */
function plain(message: Msg): string {
  return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
