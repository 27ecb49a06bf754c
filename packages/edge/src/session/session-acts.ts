import type { Memory, Msg } from '@isoloop/core';
import { toUiMessages } from '@isoloop/core/ai-sdk';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import type { SessionSetup } from '../handler-options.ts';
import { waitingCalls } from '../turn/chat-turn.ts';
import { makeAgent } from '../turn/session.ts';
import { liveResponse, type LiveTurn } from './live-turn.ts';
import { noContent } from './session-answer.ts';
import type { SessionCommand } from './session-command.ts';
import type { SessionSettings } from './session-host.ts';
import type { TurnRunner } from './queue/turn-runner.ts';

export type Command<K extends SessionCommand['type']> = Extract<SessionCommand, { type: K }>;

/** The first turn of the queue. */
export interface RunningTurn {
  readonly opened: Promise<LiveTurn>;
}

/** A session in its Durable Object or in a process. */
export interface HostedSession {
  stream(command: Command<'stream'>): Promise<Response>;
  /**
   * Interrupts the running turn. Resolves with false if no turn is running. The user's reason goes
   * through the guards and comes after the agent's own words.
   */
  interrupt(command: Command<'interrupt'>): Promise<boolean>;
  rename(command: Command<'rename'>): Promise<void>;
  delete(): Promise<void>;
}

/** Carries out a command about one session that starts no turn. */
export async function answerCommand(
  session: HostedSession,
  command: Command<'stream' | 'interrupt' | 'rename' | 'delete'>,
): Promise<Response> {
  switch (command.type) {
    case 'stream':
      return session.stream(command);
    case 'interrupt':
      return Response.json({ interrupted: await session.interrupt(command) });
    case 'rename':
      await session.rename(command);
      return noContent();
    case 'delete':
      await session.delete();
      return noContent();
  }
}

/** Returns the events of the running turn from the client's place on, or 204 without a turn. */
export async function streamTurn(
  running: RunningTurn | undefined,
  { lastEventId, face }: Command<'stream'>,
  settings: SessionSettings,
): Promise<Response> {
  const live = await running?.opened.catch(() => undefined);
  if (!live) return noContent();
  return liveResponse(live, { face, settings, replay: { lastEventId } });
}

/** Interrupts the running turn. Resolves with false if no turn is running. */
export async function interruptTurn(
  running: RunningTurn | undefined,
  turns: TurnRunner,
  { mode, reason }: Command<'interrupt'>,
): Promise<boolean> {
  if (!running) return false;
  if (mode === 'abort') return turns.abort();
  const agent = (await running.opened.catch(() => undefined))?.agent;
  if (reason !== undefined) agent?.interrupt({ mode: 'inject', messages: reason });
  return agent?.interrupt() ?? false;
}

/** Returns messages as the page shows them. */
export async function shownMessages(
  messages: readonly Msg[],
  memory: Memory,
  { live }: TurnRunner,
): Promise<readonly UiMessage[]> {
  const shown = toUiMessages(messages, { pending: await waitingCalls(memory) });
  const last = shown.at(-1);
  // The stream continues the message with this id, so a page that resumes the stream must have a
  // message with the id.
  if (live && last?.role === 'assistant') last.id = live.turn.messageId;
  return shown;
}

/** Deletes the log of a session, and what its agent stores elsewhere. */
export async function forgetSession(
  settings: Pick<SessionSettings, 'agent' | 'models'>,
  setup: SessionSetup,
  memory: Memory,
): Promise<void> {
  const made = await makeAgent(settings, { ...setup, memory, model: settings.models[0]! });
  await made.settled?.();
  await made.forget?.(setup.sessionId);
  await made.agent.memory.clear();
}
