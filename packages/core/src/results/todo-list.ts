import { invalidInput, fieldOf } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import {
  createMessage,
  outputText,
  toolResultsOf,
  toolUseIn,
  toolUsesOf,
  type ToolResult,
  type Msg,
} from '../message/msg.ts';
import { fence } from '../message/text.ts';
import { isObjectOrArray, parseJson, type JsonObject } from '../message/json.ts';
import { markAsProgram } from '../message/metadata.ts';
import { newestRound } from '../message/conversation/turns.ts';
import { memoize } from '../model/formatter/formatter.ts';
import { objectInput } from '../schema/schema.ts';
import { tool } from '../tool/tool.ts';
import type { Middleware } from '../agent/middleware.ts';
import { isNext } from '../agent/next.ts';

/** One entry of a to-do list. */
export interface Todo {
  readonly content: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
}

/** The texts with which `todoList()` tells the model about its list. */
export interface TodoListOptions {
  /**
   * Text that is added to the system prompt. Empty: no text. Default: explains when and how to keep
   * a list.
   */
  readonly prompt?: string;
  /** Description of the tool `write_todos` for the model. */
  readonly description?: string;
}

/**
 * Gives the model a to-do list, which the model writes with the tool `write_todos`. The newest
 * result of that tool in the session log is the list, so `todosOf` can also read the list after a
 * resume. If a context policy has removed that tool call, the request gets the list in a message
 * before the conversation. A list of the wrong form, or two lists in one reply, is an error result
 * and does not change the list. Throws `CONFIGURATION` for an option of the wrong kind. Source:
 * Spring AI Alibaba, todo list interceptor.
 */
export function todoList(options: TodoListOptions = {}): Middleware {
  checkOptions('todoList()', options, todoListOptions);
  const { prompt = defaultPrompt, description = defaultDescription } = options;
  // The same object each time, so that the tokens of the list's message are counted once.
  const listOf = memoize(toList);
  return {
    name: 'todoList',
    tools: [
      tool({
        name: toolName,
        description,
        input: objectInput({ todos: { type: 'array', items: objectInput(todoFields) } }),
        replay: 'safe',
        execute(input, { messages }) {
          const { reply } = newestRound(messages);
          if (reply && toolUsesOf(reply).filter(({ name }) => name === toolName).length > 1)
            throw invalidInput(`${toolName} replaces the whole list: call it once at a time.`);
          const todos = readTodos(input);
          if (!todos) throw invalidInput(wrongTodos);
          return { todos };
        },
      }),
    ],
    wrapRun: (input, next, run) => {
      run.prompt.append(prompt);
      return next(input);
    },
    wrapRequest: async (draft, next, run) => {
      const result = newestIn(run.messages);
      const list = result && listOf(result);
      if (!list?.todos.some(({ status }) => status !== 'completed')) return next(draft);
      const request = await next({ ...draft, addedLater: [...draft.addedLater, list.message] });
      if (isNext(request) || isShown(list.toolUseId, request.messages)) return request;
      const { messages } = request;
      const conversationStart = messages.findIndex(({ role }) => role !== 'system');
      const at = conversationStart < 0 ? messages.length : conversationStart;
      return { ...request, messages: messages.toSpliced(at, 0, list.message) };
    },
  };
}

const todoListOptions: OptionTable<TodoListOptions> = {
  prompt: optional(string),
  description: optional(string),
};

/** Returns the newest list of a conversation, or an empty list. */
export function todosOf(messages: readonly Msg[]): readonly Todo[] {
  const result = newestIn(messages);
  return result ? toList(result).todos : [];
}

const toolName = 'write_todos';

/** Returns the newest result with a list. */
function newestIn(messages: readonly Msg[]): ToolResult | undefined {
  return messages.flatMap(toolResultsOf).findLast(todosIn);
}

function todosIn({ name, state, output }: ToolResult): readonly Todo[] | undefined {
  const isList = name === toolName && state === 'success';
  return isList ? readTodos(parseJson(outputText(output))) : undefined;
}

/** Returns the list of a result, with its message for the model. */
function toList(result: ToolResult) {
  const { toolUseId } = result;
  const todos = todosIn(result)!;
  const lines = todos.map(({ status, content }) => `- [${status}] ${content}`).join('\n');
  const text = `Your to-do list as it stands now.\n${fence('todo_list', lines)}`;
  const message = createMessage('user', text, { id: `todos-${toolUseId}`, now: () => 0 });
  return { todos, toolUseId, message: markAsProgram(message) };
}

/** Returns whether the messages have the tool call that wrote the list, with its arguments. */
function isShown(toolUseId: string, messages: readonly Msg[]): boolean {
  return messages.some((message) => readTodos(toolUseIn(message, toolUseId)?.input));
}

function readTodos(value: unknown): readonly Todo[] | undefined {
  const todos = fieldOf(value, 'todos');
  if (!Array.isArray(todos) || !todos.every(isTodo)) return undefined;
  return todos.map(({ content, status }) => ({ content, status }));
}

function isTodo(value: unknown): value is Todo {
  if (!isObjectOrArray(value)) return false;
  const { content, status } = value;
  const isKnown = /^(pending|in_progress|completed)$/.test(String(status));
  return isKnown && typeof content === 'string' && content.trim() !== '';
}

const wrongTodos =
  'todos: an array of { content, status }; status is pending, in_progress or completed';

const todoFields: JsonObject = {
  content: { type: 'string', description: 'The task.' },
  status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] },
};

const defaultDescription =
  'Writes your to-do list. Give the whole list each time: it replaces the previous one. ' +
  'Use it for tasks of three or more steps.';

const defaultPrompt = [
  `For a task of three steps or more, plan with ${toolName} before you begin.`,
  'Mark a step in_progress when you begin it and completed as soon as it is done,',
  'one step at a time. Add steps that turn up and drop steps that are no longer needed.',
  'Do not use a list for small tasks.',
].join(' ');
