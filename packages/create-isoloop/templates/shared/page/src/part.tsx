import { getToolName, isToolUIPart, type AgentApproval, type AgentUIMessage } from '@isoloop/react';
import type { Assistant } from './worker.ts';

type AnyPart = AgentUIMessage<Assistant>['parts'][number];

interface PartProps {
  readonly part: AnyPart;
  /** Whether the agent still works on the answer with this part. */
  readonly isRunning: boolean;
  readonly approvals: readonly AgentApproval[];
}

/** Shows a text, or a tool call with its state. */
export function Part({ part, isRunning, approvals }: PartProps) {
  if (part.type === 'text') return <p dir="auto">{part.text}</p>;
  if (!isToolUIPart(part)) return null;
  const approval = approvals.find(({ id }) => id === part.toolCallId);
  // Long arguments change many times while they arrive.
  const input = part.state === 'input-streaming' ? '…' : JSON.stringify(part.input ?? {});
  return (
    <p className="tool">
      <code>{`${getToolName(part)} ${input}`}</code>{' '}
      {stateOf(part, isRunning || approval !== undefined)}
      {approval && (
        <>
          {' '}
          <button onClick={approval.approve}>Approve</button>{' '}
          <button onClick={() => approval.deny()}>Deny</button>
        </>
      )}
    </p>
  );
}

/** Describes the state of a tool call. `isOpen`: whether the call may still get a result. */
function stateOf(part: Extract<AnyPart, { toolCallId: string }>, isOpen: boolean): string {
  if (part.approval?.approved === false) return 'was denied.';
  switch (part.state) {
    case 'approval-requested':
      return isOpen ? 'waits for your approval.' : 'was not approved.';
    case 'output-error':
      return `failed. ${part.errorText}`;
    case 'output-available':
      // The types of a tool's input and output come from the agent.
      if (part.type === 'tool-time_in') return `${part.output.zone}: ${part.output.time}`;
      return JSON.stringify(part.output);
    default:
      return isOpen ? 'is running…' : 'was stopped.';
  }
}
