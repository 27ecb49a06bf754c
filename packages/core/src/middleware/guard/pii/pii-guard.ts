import type { Middleware } from '../../../agent/middleware.ts';
import { checkOptions } from '../../../error/check-fields.ts';
import type { EventOf } from '../../../event/agent-event.ts';
import type { ToolResult } from '../../../message/content-block.ts';
import { toolMessage } from '../../../message/create-message.ts';
import type { RunInfo } from '../../../model/chat-model.ts';
import { toolResultsOf } from '../../../message/message-text.ts';
import { checkStages } from '../input/check-stages.ts';
import { guardInput } from '../input/guard-input.ts';
import { piiFields, piiRule, type MaskPiiOptions } from './mask-pii.ts';
import { outputFields, outputGuards, type OutputGuardOptions } from '../output/output-guards.ts';

export interface PiiGuardOptions extends MaskPiiOptions, OutputGuardOptions {
  /** Whether to check the input of an agent call. Default true. */
  readonly input?: boolean;
  /**
   * Whether to check the model's replies, also while they stream. Tool results that are the answer
   * (`returnDirect`) are checked too. Default false.
   */
  readonly output?: boolean;
  /** Whether to check tool results before the model and the log get them. Default false. */
  readonly toolResults?: boolean;
}

/**
 * Applies `maskPii` to input, replies and tool results as one middleware. The defaults of `input`,
 * `output`, `toolResults` and `strategy` are those of Spring AI Alibaba's PII hook. The default of
 * `kinds` is that of `maskPii`.
 *
 * With strategy `block`, an agent call with personal data in its input or reply ends as `rejected`.
 * A tool result with personal data is withheld: the model gets an error result instead. If a check
 * fails, the data is rejected or withheld. Arguments of tool calls and the progress of tools are
 * not checked.
 *
 * Put this middleware before middleware that retries or changes models. Throws `CONFIGURATION` for
 * an option of the wrong kind.
 */
export function piiGuard(options: PiiGuardOptions = {}): Middleware {
  checkOptions(
    'CONFIGURATION',
    'piiGuard()',
    options,
    `input,output,toolResults:boolean|? ${piiFields} ${outputFields}`,
  );
  const { input = true, output = false, toolResults = false, ...others } = options;
  const { kinds: _kinds, strategy: _strategy, salt: _salt, ...rest } = others;
  const rule = piiRule('piiGuard()', others);
  const check = checkStages([rule], rest);

  const look = async (result: ToolResult, run: RunInfo): Promise<ToolResult> => {
    const messages = [toolMessage(result)];
    const { signal } = new AbortController();
    try {
      const [judged] = await check(messages, { ...run, signal });
      return judged === messages[0] ? result : toolResultsOf(judged!)[0]!;
    } catch {
      return { ...result, output: withheld, state: 'error' };
    }
  };
  const review = async (
    event: EventOf<'post-acting'>,
  ): Promise<EventOf<'post-acting'> | undefined> => {
    const { runId, sessionId, userId, agentPath } = event;
    const result = await look(event.result, { runId, sessionId, userId, agentPath });
    return result === event.result ? undefined : { ...event, result };
  };
  return {
    ...(output && outputGuards([rule], rest)),
    ...(input && guardInput('piiGuard', check)),
    name: 'piiGuard',
    onError: 'fail',
    // Runs before hooks that read results or store them elsewhere.
    ...(toolResults && { on: { 'post-acting': { handle: review, priority: -10_000 } } }),
  };
}

const withheld = 'Error: The result contains personal data and was withheld.';
