import type { AgentEvent } from '../hook/agent-event.ts';

/** Appends an event to a log; a delta that goes on where the last event left off is joined to it, if that one is not before `from`. */
export function pushJoined(log: AgentEvent[], event: AgentEvent, from: number): void {
  const last = log.length > from ? log.at(-1) : undefined;
  if (last && 'delta' in last && 'delta' in event && last.type === event.type && targetOf(last) === targetOf(event)) {
    log[log.length - 1] = { ...event, delta: last.delta + event.delta };
  } else log.push(event);
}

function targetOf(event: Extract<AgentEvent, { readonly delta: string }>): string {
  return event.type === 'tool-input-chunk' ? event.toolUseId : event.blockId;
}
