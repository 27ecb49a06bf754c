import { ReActAgent, type ChatModel, type Memory } from '@isoloop/core';
import { fitContext } from '@isoloop/core/context';
import { patchToolCalls, todoList } from '@isoloop/core/middleware';
import { contextWindow } from './context-window.ts';
import type { Pace } from './pace.ts';
import { aroundTool } from './tools/around-tool.ts';
import { calculator } from './tools/calculator.ts';
import { notesTool, type NotesStore } from './tools/notes.ts';
import { payTool, type AccountStore } from './tools/pay.ts';
import { setTheme } from './tools/set-theme.ts';
import { timeInCity } from './tools/time-in-city.ts';

export interface DemoAgentOptions {
  readonly model: ChatModel;
  readonly memory: Memory;
  readonly sessionId: string;
  readonly notes: NotesStore;
  readonly account: AccountStore;
  /** How fast the tools work. */
  readonly pace: Pace;
  /** Counts a finished tool call, by its id. */
  readonly onToolRun?: (toolUseId: string) => Promise<void>;
}

/** Builds the demo's agent. It is the same in the tab's worker and at the edge. */
export function demoAgent(options: DemoAgentOptions): ReActAgent {
  const { model, memory, sessionId, notes, account, pace, onToolRun } = options;
  const around = aroundTool({ pace, ...(onToolRun && { onRun: onToolRun }) });
  return new ReActAgent({
    name: 'assistant',
    systemPrompt:
      'You are a helpful assistant on a web page. Use the tools for arithmetic, times, notes, payments and the page’s theme; call several at once where a question has several parts. Answer briefly, in the language of the question.',
    model,
    memory,
    sessionId,
    use: [
      fitContext({ window: model.features.contextWindow ?? contextWindow }),
      // If a tab closes during a tool call, the call stays open. This middleware closes such calls;
      // without it, the agent would refuse the next question.
      patchToolCalls(),
      todoList(),
    ],
    tools: [
      calculator(around),
      timeInCity(around),
      notesTool(notes, around),
      payTool(account, around),
      setTheme,
    ],
  });
}
