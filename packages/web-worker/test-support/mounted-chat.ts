import {
  useAgentChat,
  useAgentEvents,
  type AgentChatHelpers,
  type AgentSource,
  type AgentTimelineEvent,
  type UseAgentChatOptions,
} from '@isoloop/web-worker/react';
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import { createElement, StrictMode, Suspense, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { onTestFinished } from 'vitest';

export interface MountedChat {
  /** Latest return value of the hook. */
  readonly chat: () => AgentChatHelpers;
  /** Latest events of the timeline. */
  readonly events: () => readonly AgentTimelineEvent[];
  /** All values of `status`, each time it changed. */
  readonly statuses: readonly string[];
  /** Renders the component again with other options. */
  render(options: UseAgentChatOptions): void;
  unmount(): void;
}

export interface MountOptions {
  /** Whether React mounts, unmounts and mounts again. Default: true. */
  readonly strict?: boolean;
  /** Rendered inside the component of the chat, for example to suspend. */
  readonly inside?: ReactNode;
}

/** Mounts a component that uses the hooks. */
export function mountChat(
  source: AgentSource,
  options: UseAgentChatOptions,
  { strict = true, inside = null }: MountOptions = {},
): MountedChat {
  const shown: { chat?: AgentChatHelpers; events?: readonly AgentTimelineEvent[] } = {};
  const statuses: string[] = [];
  function Timeline({ chat }: { readonly chat: AgentChatHelpers }): ReactNode {
    const events = useAgentEvents(chat);
    useEffect(() => void (shown.events = events));
    return null;
  }
  function View({ options: given }: { readonly options: UseAgentChatOptions }): ReactNode {
    const chat = useAgentChat(source, given);
    useEffect(() => {
      shown.chat = chat;
      if (statuses.at(-1) !== chat.status) statuses.push(chat.status);
    });
    return [createElement(Timeline, { key: 'timeline', chat }), inside];
  }
  const root = createRoot(document.createElement('div'));
  const render = (given: UseAgentChatOptions): void => {
    const view = createElement(Suspense, null, createElement(View, { options: given }));
    root.render(strict ? createElement(StrictMode, null, view) : view);
  };
  render(options);
  onTestFinished(() => root.unmount());
  return {
    chat: () => shown.chat!,
    events: () => shown.events!,
    statuses,
    render,
    unmount: () => root.unmount(),
  };
}

/** Returns what a chat shows, one line for each message. */
export function linesOf({ chat }: MountedChat): readonly string[] {
  return (chat()?.messages ?? []).map(
    ({ role, parts }) => `${role}: ${parts.map(textOfPart).filter(Boolean).join(' | ')}`,
  );
}

function textOfPart(part: UIMessage['parts'][number]): string {
  if (part.type === 'text') return part.text;
  if (!isToolUIPart(part)) return '';
  const output = part.state === 'output-available' ? ` ${String(part.output)}` : '';
  return `${getToolName(part)} ${part.state}${output}`;
}
