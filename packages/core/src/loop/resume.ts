import { AgentError } from '../error/agent-error.ts';
import { resumptionOf, type Resumption } from '../memory/log/resumption.ts';
import { textOf } from '../message/message-text.ts';
import { finishWith, finishWithValue, type Finish } from './ending.ts';
import type { OutputAnswer } from './output-mode.ts';
import type { Run } from './run/run.ts';

/**
 * Returns how an agent call without input continues from the log. Throws `INVALID_INPUT` if there
 * is nothing to continue.
 */
export function resumption(run: Run): Resumption {
  const { memory, status } = run.setup;
  // A memory without `note` does not store whether the run of its last answer has ended.
  const openRun = memory.note && status.suspendedRun;
  const found = resumptionOf({ messages: run.view, openRun });
  if (found.type !== 'nothing') return found;
  const speaker = run.view.at(-1)?.name;
  // The agent observed a message of another agent and has not answered it (AgentScope: `observe`).
  if (speaker !== undefined && speaker !== run.setup.options.name)
    return { type: 'unanswered', cut: [] };
  throw new AgentError('INVALID_INPUT', 'The call needs an input.');
}

/**
 * Removes partial replies and messages of an interrupt from the end of the log. The note of the new
 * run, which comes next, stores this change.
 */
export async function cutLeftovers(run: Run, { cut }: Resumption): Promise<void> {
  if (!cut.length) return;
  const ids = cut.map(({ id }) => id);
  await run.writes.wait(run.setup.memory.delete(ids, { later: true }));
  run.view = run.view.filter((message) => !cut.includes(message));
  await run.tell('step-reset', { reason: 'resume' });
}

/** Returns the move that ends the agent call, if the log contains the answer. */
export async function storedAnswer(run: Run, found: Resumption): Promise<Finish | undefined> {
  const { output } = run;
  if (found.type === 'unanswered') {
    const settled = output && (await run.waits.steps(output.settled([])));
    return settled && finishWithValue(run, settled);
  }
  const { answer } = found;
  if (!answer) return undefined;
  await run.tell('step-reset', { reason: 'resume' });
  const piece = { blockId: `${answer.id}:0`, kind: 'text', delta: textOf(answer) } as const;
  await run.tell('reasoning-chunk', piece);
  run.storedAnswer = answer.id;
  const judge = async (): Promise<OutputAnswer | 'again' | undefined> =>
    (await output?.stored?.(answer)) ?? output?.judge(answer);
  const judged = output && (await run.waits.steps(judge()));
  if (judged === 'again') return undefined;
  if (!judged) return finishWith(run, 'stop', answer);
  if (judged.message !== answer) await run.steps.rewrite([answer.id], [judged.message]);
  return finishWithValue(run, judged);
}
