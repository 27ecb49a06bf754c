import { ReActAgent, type ChatModel, type Memory, type ToolSet } from '@isoloop/core';
import { fitContext } from '@isoloop/core/context';
import { closeOpenCalls } from '@isoloop/core/approval';
import { todoList } from '@isoloop/core/results';
import { traceChanges } from '@isoloop/core/observe';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { joinTools } from '@isoloop/core/tool';
import { contextWindow } from './context-window.ts';
import type { Pace } from './pace.ts';
import { aroundTool } from './tools/around-tool.ts';
import { calculator } from './tools/calculator.ts';
import { notesTool, type NotesStore } from './tools/notes.ts';
import { payTool, type AccountStore } from './tools/pay.ts';
import { setTheme } from './tools/set-theme.ts';
import { timeInCity } from './tools/time-in-city.ts';

/** Tokens of the context window that stay free for the answer. */
const answerTokens = 2_000;

export interface DemoAgentOptions {
  readonly model: ChatModel;
  readonly memory: Memory;
  readonly sessionId: string;
  readonly notes: NotesStore;
  readonly account: AccountStore;
  /** How fast the tools work. */
  readonly pace: Pace;
  /** Tools of the page. Absent at the edge, which cannot reach the page. */
  readonly pageTools?: ToolSet;
  /** Counts a finished tool call, by its id. */
  readonly onToolRun?: (toolUseId: string) => Promise<void>;
}

/** Builds the demo's agent. It is the same in the tab's worker and at the edge. */
export function demoAgent(options: DemoAgentOptions): ReActAgent {
  const { model, memory, sessionId, notes, account, pace, pageTools, onToolRun } = options;
  const around = aroundTool({ pace, ...(onToolRun && { onRun: onToolRun }) });
  const tools = [
    calculator(around),
    timeInCity(around),
    notesTool(notes, around),
    payTool(account, around),
    setTheme,
  ];
  return new ReActAgent({
    name: 'assistant',
    systemPrompt:
      'You are a helpful assistant on a web page. Use the tools for arithmetic, times, notes, payments and the page’s theme; call several at once where a question has several parts. Answer briefly, in the language of the question.',
    model,
    memory,
    sessionId,
    // Names the middleware that changed a step, for the inspector.
    use: traceChanges([
      fitContext({
        window: model.features.contextWindow ?? contextWindow,
        reserveOutput: answerTokens,
      }),
      // If a tab closes during a tool call, the call stays open. This middleware closes such calls;
      // without it, the agent would refuse the next question.
      closeOpenCalls(),
      todoList(),
      // The browser's model calls no tools by itself, so it writes its calls as text.
      ...(model.features.tools ? [] : [textToolCalls()]),
    ]),
    tools: pageTools ? joinTools(tools, pageTools) : tools,
  });
}
