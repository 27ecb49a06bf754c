import { AgentError } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import { arc } from '../tokens/arc-profile.ts';
import { countMessage, countTools } from '../tokens/count-message.ts';
import type { TokenProfile } from '../tokens/token-profile.ts';
import type { ContextPolicy } from './context-policy.ts';
import { twoPhaseTrim } from './two-phase-trim.ts';

export interface FitContextOptions {
  /** Tokens the model can hold. */
  readonly window: number;
  /** Tokens kept free for the answer. Default 4096. */
  readonly reserveOutput?: number;
  /** How tokens are counted. Default `arc`. */
  readonly profile?: TokenProfile;
  /** Cuts come in multiples of this many tokens, so that the cut stays in place for many requests. Default: a tenth of the window. */
  readonly step?: number;
}

/**
 * Keeps requests within the model's window by leaving out old messages, in two phases (`twoPhaseTrim`). The system prompt, the
 * current prompt and the newest tool results always stay: when they alone are too long, the model's server has to refuse them.
 */
export function fitContext(options: FitContextOptions): ContextPolicy {
  const { window, reserveOutput = 4096, profile = arc, step = Math.floor(window / 10) } = options;
  if (!(window > reserveOutput)) {
    throw new AgentError(
      'CONFIGURATION',
      `A window of ${window} tokens leaves nothing beside the ${reserveOutput} reserved for the answer`,
    );
  }
  const count = (message: Msg): number => countMessage(message, profile);

  return ({ messages, tools, promptId }) => {
    const start = messages.findIndex((message) => message.role !== 'system');
    const head = start < 0 ? messages : messages.slice(0, start);
    const conversation = start < 0 ? [] : messages.slice(start);
    const fixed = head.reduce((sum, message) => sum + count(message), 0) + countTools(tools, profile);
    const prompt = promptId === undefined ? -1 : conversation.findIndex((message) => message.id === promptId);

    const trimmed = twoPhaseTrim(conversation, { budget: window - reserveOutput - fixed, count, prompt, step });
    const unchanged = trimmed.messages === conversation;
    return {
      messages: unchanged ? messages : [...head, ...trimmed.messages],
      removed: conversation.length - trimmed.messages.length,
      before: fixed + trimmed.before,
      after: fixed + trimmed.after,
    };
  };
}
