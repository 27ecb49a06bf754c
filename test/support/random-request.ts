import type { ContextRequest } from '@isoloop/core/context';
import { createMessage, type ContentBlock, type ToolUse, type Msg, type Role } from '@isoloop/core';
import { randomOf } from '../random-of.ts';

export interface RandomRequest extends ContextRequest {
  /** Number of messages before the history: the system prompt and recalled messages. */
  readonly fixedCount: number;
  /** Id of the current question. */
  readonly questionId: string;
  /** Ids of the tool calls without a result. */
  readonly open: readonly string[];
}

/**
 * Returns a random request such as an agent makes. The request begins with the system prompt and
 * recalled messages. Turns of all kinds follow, with parallel tool calls, media, thinking and
 * system messages. A turn may have further user messages between its tool calls. The last turn has
 * the current question. Tool calls may be open at the end.
 */
export function randomRequest(seed: number): RandomRequest {
  const random = randomOf(seed);
  const chance = (odds: number): boolean => random() < odds;
  const below = (end: number): number => Math.floor(random() * end);
  const text = (): string => 'x'.repeat(1 + below(chance(0.1) ? 2000 : 200));
  const messages: Msg[] = [];
  let runId = '';

  const add = (role: Role, content: readonly ContentBlock[]): Msg => {
    const isMarked = role === 'user' && runId;
    const message = createMessage(role, content, {
      id: `${role}${messages.length}`,
      now: () => 0,
      ...(isMarked && { metadata: { runId } }),
    });
    messages.push(message);
    return message;
  };
  const blocks = (): readonly ContentBlock[] => [
    ...(chance(0.2) ? [{ type: 'thinking', thinking: text() } as const] : []),
    { type: 'text', text: text() },
    ...(chance(0.1)
      ? [
          {
            type: 'image',
            source: { type: 'base64', mediaType: 'image/png', data: 'A'.repeat(5000) },
          } as const,
        ]
      : []),
  ];
  const result = ({ id, name }: ToolUse): ContentBlock => {
    const output = chance(0.2) ? blocks() : text();
    return {
      type: 'tool_result',
      toolUseId: id,
      name,
      output,
      state: chance(0.8) ? 'success' : 'interrupted',
    };
  };
  const round = (): readonly ToolUse[] => {
    const calls = Array.from({ length: 1 + below(3) }, (_, index): ToolUse => {
      return {
        type: 'tool_use',
        id: `call${messages.length}.${index}`,
        name: chance(0.3) ? 'kept' : 'look',
        input: { text: text() },
      };
    });
    add('assistant', [...(chance(0.5) ? blocks() : []), ...calls]);
    return calls;
  };
  const rounds = (): void => {
    for (let left = below(4); left > 0; left -= 1) {
      const calls = round();
      // In an imported conversation, a user message may contain both tool results and text.
      if (chance(0.1)) add('user', [...calls.map(result), ...(chance(0.5) ? blocks() : [])]);
      else for (const call of calls) add('tool', [result(call)]);
      if (chance(0.1)) add('user', blocks());
    }
  };

  if (chance(0.7)) add('system', [{ type: 'text', text: text() }]);
  if (chance(0.3)) add('user', [{ type: 'text', text: text() }]);
  const fixedCount = messages.length;
  if (chance(0.2)) add('assistant', blocks());
  for (let turn = below(8); turn > 0; turn -= 1) {
    runId = chance(0.8) ? `run${messages.length}` : '';
    add('user', blocks());
    if (chance(0.2)) add('user', blocks());
    rounds();
    if (chance(0.8)) add('assistant', blocks());
    if (chance(0.1)) add('system', [{ type: 'text', text: text() }]);
  }
  runId = `run${messages.length}`;
  const question = add('user', blocks());
  rounds();
  const open = chance(0.2) ? round().map(({ id }) => id) : [];
  const tools = chance(0.5) ? [{ name: 'look', description: text(), parameters: {} }] : [];
  const addedLater = chance(0.2) ? [createMessage('system', text(), { id: 'beside' })] : [];
  return { messages, fixedCount, questionId: question.id, tools, addedLater, open };
}
