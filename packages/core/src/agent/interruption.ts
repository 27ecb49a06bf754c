import type { Msg } from '../message/msg.ts';
import { textOf } from '../message/message-text.ts';
import type { Step } from './move.ts';
import type { Run } from './run.ts';

const recoveryText = 'You interrupted me. What now?';

/**
 * Ends a call that was interrupted or aborted: what was released of the reply is kept, marked `metadata.partial`. An interrupt
 * answers with a recovery message of its own, or with the message it was given (AgentScope: `handleInterrupt`).
 */
export async function* recover(run: Run, partial?: Msg): Step {
  if (partial) await run.append([partial]);
  if (run.cut === 'aborted') {
    return { to: 'finish', reason: 'aborted', message: partial ?? run.message('assistant', []) };
  }
  const given = run.interruption?.message;
  const message = typeof given === 'object' ? given : run.message('assistant', given ?? recoveryText);
  yield await run.notify('reasoning-chunk', { blockId: `${message.id}:0`, kind: 'text', delta: textOf(message) });
  return { to: 'finish', reason: 'interrupted', message };
}
