import {
  ReActAgent,
  textOf,
  tool,
  type AgentOptions,
  type AgentResult,
  type AgentStream,
  type JsonObject,
  type MediaBlock,
} from '@isoloop/core';
import { oxygent, type OxygentOptions } from '@isoloop/presets';
import {
  ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedReply,
} from '@isoloop/core/testing';
import * as z from 'zod';

// What OxyGent's document says about its ReAct agent, checked through the public API alone.

interface Setup extends Partial<Omit<AgentOptions, 'model' | 'use'>>, ScriptedModelOptions {
  readonly preset?: OxygentOptions;
}

interface Made {
  readonly model: ScriptedModel;
  readonly agent: ReActAgent;
}

interface Read {
  readonly text: string;
  readonly types: string[];
  readonly result: AgentResult;
}

export const echo = tool({
  name: 'echo',
  description: 'Repeats a text.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
});

const broken = tool({
  name: 'broken',
  description: 'Fails.',
  input: z.object({}),
  execute: () => {
    throw new Error('No paper.');
  },
});

export const chart = (name: string): MediaBlock => ({
  type: 'image',
  source: { type: 'url', url: `https://example.com/${name}.png` },
});

export function setUp(
  replies: readonly ScriptedReply[],
  { preset, features, ...options }: Setup = {},
): Made {
  const model = new ScriptedModel(replies, features ? { features } : {});
  const use = [oxygent(preset)];
  const agent = new ReActAgent({ name: 'oxy', model, tools: [echo, broken], use, ...options });
  return { model, agent };
}

export function calls(name: string, input: JsonObject = {}, fields: JsonObject = {}): string {
  return JSON.stringify({ tool_name: name, arguments: input, ...fields });
}

export function echoes(text: string, fields?: JsonObject): string {
  return calls('echo', { text }, fields);
}

export function list(...replies: readonly string[]): string {
  return `[${replies.join(', ')}]`;
}

/** Returns the roles and texts of a request after its system prompt. */
export function said(model: ScriptedModel, request: number): string[] {
  const messages = model.requests[request]?.messages ?? [];
  return messages
    .filter(({ role }) => role !== 'system')
    .map((msg) => `${msg.role}: ${textOf(msg)}`);
}

export function observed(name: string, text: string): string {
  return `Tool [${name}] execution result: ${text}`;
}

/** Returns the text that a reader sees at the end, and the types of all events. */
export async function read(stream: AgentStream): Promise<Read> {
  let text = '';
  const types: string[] = [];
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === 'reasoning-chunk' && event.kind === 'text') text += event.delta;
    if (event.type === 'summary-chunk') text += event.delta;
    if (event.type === 'step-reset') text = event.replacement ? textOf(event.replacement) : '';
  }
  return { text, types, result: await stream.result };
}
