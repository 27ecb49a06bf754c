import type { AgentEvent } from '@isoloop/core';

/** A line of the output. `more` continues the last line of the same kind. */
export interface EventLine {
  readonly label: string;
  readonly text: string;
  readonly more?: boolean;
}

/** Returns what the output shows of an event; `undefined` for events that say nothing new. */
export function eventLine(event: AgentEvent): EventLine | undefined {
  const label =
    event.agentPath.length > 1 ? `${event.agentPath.at(-1)}: ${event.type}` : event.type;
  const text = textOfEvent(event);
  if (text === undefined) return undefined;
  return { label, text, ...(event.type.endsWith('-chunk') && { more: true }) };
}

function textOfEvent(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'run-start':
      return event.resumes ? 'continues a run' : 'begins';
    case 'pre-reasoning':
      return `${count(event.messages.length, 'message')}, ${count(event.tools.length, 'tool')}`;
    case 'reasoning-chunk':
    case 'summary-chunk':
      return event.delta;
    case 'pre-acting':
      return `${event.toolUse.name}(${JSON.stringify(event.toolUse.input)}) ${event.problem ?? ''}`;
    case 'acting-chunk':
      return ` ${JSON.stringify(event.chunk)}`;
    case 'post-acting':
      return [`${event.toolUse.name}: ${event.result.state}`, shortened(event.result.output)]
        .filter((part) => part !== '')
        .join(', ');
    case 'step-reset':
      return `${event.reason}: the text of this step is no longer valid`;
    case 'context-fitted':
      return `${event.removed} left out, ${event.before} to ${event.after} tokens`;
    case 'suspended':
      return `waits for ${event.pending.map(({ name, kind }) => `${name} (${kind})`).join(', ')}`;
    case 'error':
      return `${event.error.code}: ${event.error.message}`;
    case 'run-end': {
      const { reason, usage } = event.result;
      return `${reason}, ${usage.inputTokens} tokens in, ${usage.outputTokens} out`;
    }
    default:
      return undefined;
  }
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function shortened(output: unknown): string {
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
