import type { AgentEvent } from '../../../event/agent-event.ts';
import type { ModelDelta, ModelRequest } from '../../../model/chat-model.ts';
import { addUsage, noUsage, type Usage } from '../../../model/usage.ts';
import { countRequest } from '../../../tokens/count-message.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';

type Asked = Pick<ModelRequest, 'messages' | 'tools'>;

/**
 * Estimates the usage of a reply whose usage the provider did not report. Either the reply was cut
 * off, or the provider never reports usage.
 */
export function estimateUsage(request: Asked, said: string, profile: TokenProfile): Usage {
  return { inputTokens: countRequest(request, profile), outputTokens: profile.countText(said) };
}

/**
 * Returns all text that the model wrote in these deltas: text, thinking and arguments of tool
 * calls.
 */
export function saidIn(batch: readonly ModelDelta[]): string {
  let said = '';
  for (const delta of batch) if ('delta' in delta) said += delta.delta;
  return said;
}

/**
 * Estimates the usage that the provider did not report, from the events of an agent call. A request
 * whose reply has no text costs nothing.
 */
export class UnreportedUsage {
  readonly #profile: TokenProfile;
  #open: { readonly request: Asked; readonly reported: Usage; said: string } | undefined;
  #total: Usage = noUsage;

  constructor(profile: TokenProfile) {
    this.#profile = profile;
  }

  /**
   * Processes an event. `reported` is the usage that the run's model requests have reported so far.
   * Each report creates a new object.
   */
  see(event: AgentEvent, reported: Usage): void {
    // An agent that runs as a tool has guards of its own, which count its replies.
    if (event.agentPath.length > 1) return;
    switch (event.type) {
      case 'pre-reasoning':
      case 'pre-summary': {
        this.total(reported);
        const tools = event.type === 'pre-summary' ? [] : event.tools;
        this.#open = { request: { messages: event.messages, tools }, reported, said: '' };
        return;
      }
      case 'reasoning-chunk':
      case 'summary-chunk':
      case 'tool-input-chunk':
        if (this.#open) this.#open.said += event.delta;
        return;
      case 'post-reasoning':
      case 'post-summary':
        this.total(reported);
    }
  }

  /** Returns the estimated usage so far. Treats the current model request as ended. */
  total(reported: Usage): Usage {
    const open = this.#open;
    this.#open = undefined;
    if (open?.said && open.reported === reported) {
      this.#total = addUsage(this.#total, estimateUsage(open.request, open.said, this.#profile));
    }
    return this.#total;
  }
}
