import {
  textOf,
  toolResultsOf,
  toolUsesOf,
  type Msg,
  type ToolResult,
  type ToolUse,
  type Usage,
} from '@isoloop/core';
import { addUsage, incompleteReason, noUsage } from '@isoloop/core/model';
import { isQuestion, metadataOf } from '@isoloop/core/message';
import type { LogRecord } from '@isoloop/core/log';
import type { InspectedRun, InspectedStep } from './inspected-run.ts';
import { recordBytes } from './record-bytes.ts';

/** A user message of the log, and everything up to its answer. */
export interface LogTurn {
  /** Messages of earlier turns. */
  readonly earlierMessages: readonly Msg[];
  /** The user message and what follows. */
  readonly messages: readonly Msg[];
  /** Whether the log has no end of the last run: the run is at work, or was cut off. */
  readonly isOpen: boolean;
  /** Reason with which the last run ended, if the log shows it. */
  readonly reason: string | undefined;
}

/** How the runs in a log ended. */
interface LogEnds {
  /** Reasons of the ends, by the id of the last message before each. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Whether the log has no end of the last run. */
  readonly isOpen: boolean;
}

/** Messages of a log, and how its runs ended. */
interface LogContent extends LogEnds {
  readonly messages: readonly Msg[];
}

export function turnsInLog(records: readonly LogRecord[]): readonly LogTurn[] {
  const { messages, ...ends } = contentOfLog(records);
  return loggedTurns(messages, ends);
}

/** Returns the messages in the records of a log, in their order. */
export function messagesInLog(records: readonly LogRecord[]): readonly Msg[] {
  return contentOfLog(records).messages;
}

function contentOfLog(records: readonly LogRecord[]): LogContent {
  const messages: Map<string, Msg> = new Map();
  const reasons: Map<string, string> = new Map();
  let isOpen = false;
  let lastId = '';
  for (const record of records) {
    switch (record.kind) {
      case 'message':
        messages.set(record.message.id, record.message);
        lastId = record.message.id;
        break;
      case 'replace':
        if (messages.has(record.message.id)) messages.set(record.message.id, record.message);
        break;
      case 'truncate':
        for (const id of record.ids) messages.delete(id);
        // A run may end without a new message. Its end belongs to the last one that remains.
        lastId = [...messages.keys()].at(-1) ?? '';
        break;
      case 'run-begin':
        isOpen = true;
        break;
      case 'run-end':
        isOpen = false;
        reasons.set(lastId, record.reason);
        break;
      default:
    }
  }
  return { messages: [...messages.values()], reasons, isOpen };
}

/** Returns the turns of a conversation. Messages before the first user message are in no turn. */
export function loggedTurns(
  messages: readonly Msg[],
  { reasons, isOpen }: LogEnds = { reasons: new Map(), isOpen: false },
): readonly LogTurn[] {
  const starts = messages.flatMap((message, index) => {
    const earlier = messages[index - 1];
    // Several user messages in a row are the input of one agent call.
    return isUsers(message) && !(earlier && isUsers(earlier)) ? [index] : [];
  });
  return starts.map((start, index) => {
    const ownMessages = messages.slice(start, starts[index + 1]);
    const lastMessage = ownMessages.at(-1)!;
    const isOpenTurn = isOpen && index === starts.length - 1;
    return {
      // Made when needed: a long conversation has many turns, and few are opened.
      get earlierMessages() {
        return messages.slice(0, start);
      },
      messages: ownMessages,
      isOpen: isOpenTurn,
      reason: isOpenTurn ? undefined : (reasons.get(lastMessage.id) ?? reasonOf(lastMessage)),
    };
  });
}

function isUsers(message: Msg): boolean {
  return isQuestion(message) && metadataOf(message).origin !== 'program';
}

/** Returns a turn of the log as a run. Its prompts are recomputed from the messages. */
export function runOfTurn(turn: LogTurn): InspectedRun {
  const { messages, reason } = turn;
  const firstMessage = messages[0]!;
  const lastMessage = messages.at(-1)!;
  return {
    runId: `log:${firstMessage.id}`,
    origin: 'log',
    agentPath: [],
    continues: false,
    steps: [inputStep(messages), ...messages.flatMap((_, index) => stepsAt(turn, index))],
    startedAt: timeOf(firstMessage),
    endedAt: timeOf(lastMessage),
    reason,
    incomplete: incompleteReason(lastMessage),
    usage: messages.filter(isModelReply).map(usageOf).reduce(addUsage, noUsage),
  };
}

function inputStep(messages: readonly Msg[]): InspectedStep {
  const inputCount = messages.findIndex((message) => !isUsers(message));
  const input = inputCount < 0 ? messages : messages.slice(0, inputCount);
  const bytes = input.reduce((sum, message) => sum + recordBytes(message), 0);
  return { ...base(input[0]!, timeOf(input[0]!)), kind: 'input', messages: input, bytes };
}

/** Returns the steps of a message of the agent: a reply and its tool calls. */
function stepsAt({ earlierMessages, messages }: LogTurn, index: number): readonly InspectedStep[] {
  const message = messages[index]!;
  if (message.role !== 'assistant') return [];
  const fields = base(message, timeOf(messages[index - 1] ?? message));
  const { reason = '' } = metadataOf(message);
  if (!isModelReply(message)) return [{ ...fields, kind: 'custom', message, reason }];
  const calls = toolUsesOf(message);
  const turnSoFar = messages.slice(0, index);
  const reply: InspectedStep = {
    ...fields,
    kind: 'reason',
    iteration: turnSoFar.filter(isModelReply).length + 1,
    prompt: { messages: [...earlierMessages, ...turnSoFar], tools: [], options: {} },
    text: textOf(message),
    thinking: '',
    calls: calls.map(({ name }) => name),
    reply: message,
    usage: metadataOf(message).usage as Usage | undefined,
    incomplete: incompleteReason(message),
    resets: [],
    isSummary: reason !== '',
  };
  return [reply, ...calls.map((call) => callStep(call, message, messages))];
}

function callStep(call: ToolUse, reply: Msg, messages: readonly Msg[]): InspectedStep {
  const isResult = ({ toolUseId }: ToolResult): boolean => toolUseId === call.id;
  const resultMessage = messages.find((message) => toolResultsOf(message).some(isResult));
  return {
    key: `act:${call.id}`,
    kind: 'act',
    call,
    progress: [],
    changes: [],
    startedAt: timeOf(reply),
    bytes: resultMessage ? recordBytes(resultMessage) : 0,
    ...(resultMessage && {
      result: toolResultsOf(resultMessage).find(isResult)!,
      endedAt: timeOf(resultMessage),
    }),
  };
}

function usageOf(message: Msg): Usage {
  return (metadataOf(message).usage as Usage | undefined) ?? noUsage;
}

/**
 * Returns whether the model wrote the message. A message with another reason, such as the words
 * after an interrupt, was written by the library.
 */
export function isModelReply(message: Msg): boolean {
  const { reason } = metadataOf(message);
  const isLibrarys = reason !== undefined && !/^(max-iterations|limit)$/.test(reason);
  return message.role === 'assistant' && !isLibrarys;
}

/** The log of a long session no longer has the notes about the ends of its runs. */
function reasonOf(lastMessage: Msg): string | undefined {
  const { reason, partial } = metadataOf(lastMessage);
  if (reason ?? partial) return reason ?? partial;
  return lastMessage.role === 'assistant' && !toolUsesOf(lastMessage).length ? 'stop' : undefined;
}

function base(
  message: Msg,
  startedAt: number,
): Pick<InspectedStep, 'key' | 'startedAt' | 'endedAt' | 'bytes' | 'changes'> {
  return {
    key: message.id,
    startedAt,
    endedAt: timeOf(message),
    bytes: recordBytes(message),
    changes: [],
  };
}

function timeOf({ createdAt }: Msg): number {
  return Date.parse(createdAt);
}
