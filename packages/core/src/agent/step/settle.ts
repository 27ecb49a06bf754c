import { isQuestion } from '../../message/conversation/turns.ts';
import { AgentError } from '../../error/agent-error.ts';
import { checkNewIds, type ParsedInput, type SettleInput } from '../../event/agent-input.ts';
import type { EventOf } from '../../event/agent-event.ts';
import type { OpenCall } from '../../event/agent-status.ts';
import type { Jump } from '../../event/hook.ts';
import type { Decision } from '../../event/pending-call.ts';
import { resumptionOf, type Resumption } from '../../memory/log/resumption.ts';
import type { Msg } from '../../message/msg.ts';
import { wrappedResult } from '../../tool/tool-call.ts';
import { closeCall } from './close-calls.ts';
import { endStopped } from './finish.ts';
import { jump } from './jump.ts';
import type { KernelCallOptions } from '../kernel-options.ts';
import type { Ending, Next } from '../next.ts';
import type { JumpRequest, Outbox } from '../run/outbox.ts';
import type { RunSetup } from '../run/run-setup.ts';
import type { StepParts } from '../run/step-parts.ts';
import type { Wrappers } from '../run/wrappers.ts';
import type { BoundedWaits } from '../../wait/bounded/bounded-waits.ts';

/**
 * The input of a run, as it was sent. `admitted`: what `wrapInput` made of it, if that began before
 * its turn.
 */
export interface RunInput {
  readonly sent: ParsedInput;
  readonly admitted?: Promise<ParsedInput> | undefined;
}

/** The parts of a run that store its input. */
interface SettleParts extends StepParts {
  readonly callOptions: KernelCallOptions;
  readonly setup: RunSetup;
  readonly waits: BoundedWaits;
  readonly wrappers: Wrappers;
}

/** Admits the input, adds it to the log and says what comes first. */
export async function settle(live: SettleParts, { sent, admitted }: RunInput): Promise<Next> {
  if (live.halt.failure) return endStopped(live);
  const input = await (admitted ?? admitInput(live.wrappers, sent));
  await live.log.open();
  const { messages, requestedJump } = await preCall(live, input.messages);
  return live.wrappers.run('wrapSettle', { ...input, messages }, (value) =>
    innerSettle(live, value, requestedJump),
  );
}

/** Passes an input through the wrappers of input, before anything is stored. */
export function admitInput(wrappers: Wrappers, sent: ParsedInput): Promise<ParsedInput> {
  return wrappers.run('wrapInput', sent, async (input) => input);
}

/**
 * Adds the input to the log. Afterwards each tool call in the log has a result or runs next, so the
 * loop can ask the model.
 */
async function innerSettle(
  live: SettleParts,
  input: SettleInput,
  requestedJump?: Jump,
): Promise<Next> {
  const { messages, decisions, closes = [] } = input;
  checkNewIds(messages, live.log.messages);
  const closedIds = closes.map(({ toolUse }) => toolUse.id);
  const openCalls = live.calls.open.filter(({ toolUse }) => !closedIds.includes(toolUse.id));
  if (messages.length) checkOpenCalls(openCalls, decisions);
  const resumption = messages.length || decisions.length ? undefined : findResumption(live);
  if (resumption && !live.halt.stopped) await removeLeftovers(live, resumption);
  const notes = decisions.map((decision) => ({ kind: 'decision', decision }) as const);
  // New messages are written together with the notes. Without messages, nothing else would tell
  // another process that a run has begun.
  await live.log.begin(notes, { write: !messages.length });
  // The new message comes first, so that no failure can lose it. `interruptOpenCalls` later moves
  // the results of open calls before this message.
  await live.log.append(messages, { later: live.callOptions.inputStored === true });
  for (const { toolUse, result } of closes)
    await closeCall(live, toolUse, wrappedResult(toolUse, result));
  live.log.questionId = live.log.messages.findLast(isQuestion)?.id;
  if (requestedJump) return jump(live, requestedJump);
  if (resumption?.answer) return storedAnswer(live.outbox, resumption.answer);
  const isActing = decisions[0] || resumption?.type === 'open-calls';
  return { to: isActing ? 'tools' : 'model' };
}

/**
 * Passes the input through the `pre-call` hooks, then to the readers. Returns the input, and what
 * the hooks asked for.
 */
async function preCall(live: SettleParts, input: readonly Msg[]) {
  const request: JumpRequest = {};
  const { outbox, options } = live;
  const keepInput = async (event: EventOf<'pre-call'>) => ({ ...event, input });
  const renew = options.preCallHooks === 'notify' ? keepInput : undefined;
  const event = await outbox.askHooks('pre-call', { input }, request, renew);
  // After an abort, a hook that still runs has not judged the input.
  if (live.waits.abandoned) live.halt.signal.throwIfAborted();
  const { cause } = live.halt;
  if (cause.kind === 'rejected') throw cause.error;
  await outbox.tellReaders([event]);
  const added = event.input.filter((message) => !input.includes(message));
  checkNewIds(added, live.log.messages, 'A pre-call hook must create a new message each time.');
  return { messages: event.input, requestedJump: request.jump };
}

/**
 * Throws `PENDING_TOOL_CALLS` if a new message arrives while tool calls are open. If it comes with
 * decisions, the run first runs these calls. One that has not started then needs no decision,
 * unless it waits for one.
 */
function checkOpenCalls(openCalls: readonly OpenCall[], decisions: readonly Decision[]): void {
  const isInTheWay = ({ toolUse, state: { started, pending } }: OpenCall): boolean => {
    const mayRunFirst = decisions.length && !started && !pending;
    return !mayRunFirst && decisions.every(({ toolUseId }) => toolUseId !== toolUse.id);
  };
  if (!openCalls.some(isInTheWay)) return;
  const names = openCalls.map(({ toolUse: { id, name } }) => `"${name}" (${id})`);
  const message = `Tool calls wait: ${names.join(', ')}. Send decisions or results, or continue the run.`;
  const details = { ids: openCalls.map(({ toolUse }) => toolUse.id) };
  throw new AgentError('PENDING_TOOL_CALLS', message, { details });
}

/**
 * Returns how an agent call without input continues from the log. Throws `INVALID_INPUT` if there
 * is nothing to continue.
 */
function findResumption(live: SettleParts): Resumption {
  const { log, status } = live.setup;
  // Only a log stores whether the run of its last answer has ended.
  const openRunId = log ? status.openRunId : undefined;
  const resumption = resumptionOf({ messages: live.log.messages, openRunId }, live.options.name);
  if (resumption.type !== 'nothing') return resumption;
  throw new AgentError(
    'INVALID_INPUT',
    'The input is missing. A call without input continues a run, and there is none to continue.',
  );
}

/**
 * Removes partial replies and messages of an interrupt from the end of the log. The note of the new
 * run, which comes next, stores this change.
 */
async function removeLeftovers({ log, outbox }: StepParts, { removed }: Resumption): Promise<void> {
  if (!removed.length) return;
  await log.edit({ remove: removed.map(({ id }) => id) }, { later: true });
  await outbox.emit('step-reset', { reason: 'resume' });
}

/** Ends with an answer that an earlier run stored. Readers get it again. */
async function storedAnswer(outbox: Outbox, message: Msg): Promise<Ending> {
  await outbox.emit('step-reset', { reason: 'resume' });
  await outbox.sendText(message);
  return { kind: 'stored', reason: 'stop', message };
}
