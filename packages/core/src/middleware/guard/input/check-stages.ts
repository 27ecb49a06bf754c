import { AgentError } from '../../../error/agent-error.ts';
import { checkFields } from '../../../error/check-fields.ts';
import type { Msg } from '../../../message/msg.ts';
import { parseMessages } from '../../../message/validation/validate-message.ts';
import { abortable } from '../../../model/abortable.ts';
import { reporter, type GuardOptions, type Report } from '../guard-options.ts';
import { isRejection, rejectionError, type StageRejection } from '../rejection.ts';
import type { GuardContext, InputStage } from './input-stage.ts';

/**
 * Combines stages into one check, which throws the error of the first rejection. Throws
 * `CONFIGURATION` for an invalid stage.
 */
export function checkStages(
  stages: readonly InputStage[],
  options: GuardOptions = {},
): (input: readonly Msg[], context: GuardContext) => Promise<readonly Msg[]> {
  checkFields('CONFIGURATION', 'inputGuards()', { stages }, 'stages:array');
  for (const stage of stages)
    checkFields(
      'CONFIGURATION',
      'A stage of inputGuards()',
      stage,
      'name:string check:function after:function|?',
    );
  const report = reporter(options);
  return async (input, context) => {
    let messages = input;
    for (const stage of stages) {
      const verdict = await judge(stage, messages, context, report);
      context.signal.throwIfAborted();
      if (!isMessages(verdict)) throw rejectionError(stage.name, verdict, options);
      messages = verdict;
    }
    return messages;
  };
}

function isMessages(verdict: readonly Msg[] | StageRejection): verdict is readonly Msg[] {
  return Array.isArray(verdict);
}

async function judge(
  stage: InputStage,
  input: readonly Msg[],
  context: GuardContext,
  report: Report,
): Promise<readonly Msg[] | StageRejection> {
  try {
    const verdict: unknown = await abortable(
      (async () => stage.check(input, context))(),
      context.signal,
    );
    if (verdict === input || isRejection(verdict))
      return verdict as readonly Msg[] | StageRejection;
    const messages = parseMessages(verdict);
    // A stage must not remove all messages: an empty input means that the agent call resumes from
    // the session log.
    if (messages.length || !input.length) return messages;
    throw new AgentError('INVALID_MESSAGE', 'The stage removed the whole input.');
  } catch (error) {
    if (!context.signal.aborted) report(error, stage.name);
    return { category: 'SYSTEM_ERROR' };
  }
}
