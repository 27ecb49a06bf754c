import type { Decision, JsonValue } from '@isoloop/core';

/**
 * What the parts of an assistant's message say of its tool calls, as `useChat` keeps them there: approvals, and results of tools that
 * the client runs. Only claims: what they may say is for the log to tell.
 */
export function readDecisions(message: unknown): readonly Decision[] {
  const { role, parts } = Object(message) as { readonly role?: unknown; readonly parts?: unknown };
  if (role !== 'assistant' || !Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) => toDecision(Object(part) as ToolPart) ?? []);
}

type ToolPart = Readonly<Partial<Record<'type' | 'toolName' | 'toolCallId' | 'state' | 'approval' | 'output' | 'errorText', unknown>>>;

function toDecision({ type, toolName, toolCallId, state, approval, output, errorText }: ToolPart): Decision | undefined {
  if (typeof type !== 'string' || typeof toolCallId !== 'string') return undefined;
  const name = type === 'dynamic-tool' ? toolName : type.startsWith('tool-') ? type.slice('tool-'.length) : undefined;
  if (typeof name !== 'string') return undefined;
  const call = { toolUseId: toolCallId, name };
  if (state === 'approval-responded') {
    const { approved, reason } = Object(approval) as { readonly approved?: unknown; readonly reason?: unknown };
    if (approved === true) return { ...call, type: 'approve' };
    return approved === false ? { ...call, type: 'reject', ...(typeof reason === 'string' && { reason }) } : undefined;
  }
  if (state === 'output-available') return { ...call, type: 'result', output: toText(output as JsonValue) };
  if (state === 'output-error') return { ...call, type: 'result', output: String(errorText ?? ''), state: 'error' };
  return undefined;
}

function toText(output: JsonValue | undefined): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}
