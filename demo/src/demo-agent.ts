import { ReActAgent, type ChatModel, type Memory } from '@isoloop/core';
import { fitContext } from '@isoloop/core/context';
import { patchToolCalls } from '@isoloop/core/middleware';
import { contextWindow } from './context-window.ts';
import { calculator } from './tools/calculator.ts';
import { notesTool, type NotesStore } from './tools/notes.ts';
import { setTheme } from './tools/set-theme.ts';
import { timeInCity } from './tools/time-in-city.ts';

export interface DemoAgentOptions {
  readonly model: ChatModel;
  readonly memory: Memory;
  readonly sessionId: string;
  readonly notes: NotesStore;
}

/** Builds the demo's agent. It is the same in the tab's worker and at the edge. */
export function demoAgent({ model, memory, sessionId, notes }: DemoAgentOptions): ReActAgent {
  return new ReActAgent({
    name: 'assistant',
    systemPrompt:
      'You are a helpful assistant on a web page. Use the tools for arithmetic, times, notes and the page’s theme; call several at once where a question has several parts. Answer briefly, in the language of the question.',
    model,
    memory,
    sessionId,
    use: [
      fitContext({ window: model.features.contextWindow ?? contextWindow }),
      // If a tab closes during a tool call, the call stays open. This middleware closes such calls;
      // without it, the agent would refuse the next question.
      patchToolCalls(),
    ],
    tools: [calculator, timeInCity(), notesTool(notes), setTheme],
  });
}
